"""What a gateway must not forget, in one SQLite file: samples taken, flights' states, estimates not yet delivered.

One transaction per tick (WAL, synchronous=FULL): after a power cut the file holds whole ticks only. A flight's state is
a snapshot now and then, and a journal of the samples taken since: far less wear of a memory card than a state per tick.
Every record has a checksum (CRC-32): one that does not fit is logged, counted and not used.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pc2dae.errors import ModelError, Pc2daeError

VERSION = 2
_TABLES = """
CREATE TABLE IF NOT EXISTS flight (name TEXT PRIMARY KEY, topic TEXT NOT NULL, flight TEXT NOT NULL,
    about TEXT NOT NULL, about_crc INTEGER NOT NULL, snapshot BLOB, snapshot_crc INTEGER) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS flight_source ON flight (topic, flight);
CREATE TABLE IF NOT EXISTS journal (n INTEGER PRIMARY KEY, name TEXT NOT NULL, arrived REAL, payload BLOB NOT NULL,
                                    crc INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS journal_name ON journal (name, n);
CREATE TABLE IF NOT EXISTS held (name TEXT, seq INTEGER, payload BLOB NOT NULL, crc INTEGER NOT NULL,
                                 PRIMARY KEY (name, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (n INTEGER PRIMARY KEY AUTOINCREMENT, flight TEXT NOT NULL, seq INTEGER NOT NULL,
                                   payload BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS outbox_flight ON outbox (flight, seq);
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_MOVE = "move it away and start again, or name another --state"
_BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)  # the latter where SQLite quotes a damaged name
_log = logging.getLogger(__name__)


class FullError(Pc2daeError):
    """The disk cannot take more; nothing of the tick was written."""


@dataclass
class Progress:
    """How far a flight has come."""

    seq: int = -1  # all messages up to here were taken or given up
    skipped: list[int] = field(default_factory=list)  # given up, and still welcome
    odd: int | None = (
        None  # the last number that did not follow; where the next one follows it, numbering goes on there
    )
    given: int = 0  # estimates given out
    stop: int = 0  # seconds of the grid so far …
    newest: int = 0  # … and the time of the last one, microseconds
    earliest: int | None = None  # stamps of all samples so far lie between these two, microseconds
    latest: int | None = None
    since: int = 0  # messages in the journal
    is_ended: bool = False


@dataclass
class Stored:
    """A flight as the file has it; None where there is nothing, or nothing that can be trusted."""

    progress: Progress | None
    snapshot: bytes | None
    since: list[tuple[bytes, float | None]]  # messages after the snapshot, and when they arrived
    is_damaged: bool


@dataclass(frozen=True)
class Letter:
    """One estimate on its way to the consumer."""

    n: int
    flight: str
    seq: int
    payload: bytes
    is_damaged: bool = False


class Outbox:
    """The file; `None` keeps everything in memory."""

    def __init__(self, path: Path | None, *, identity: str, wait_s: float = 5.0) -> None:
        self.path = path
        self.damaged = 0  # records whose checksum is wrong
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            # One thread at a time, but not always the one that opened it.
            self.base = sqlite3.connect(
                path or ":memory:", isolation_level=None, timeout=wait_s, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            reason = "it is a folder" if path is not None and path.is_dir() else error
            raise Pc2daeError(f"the state file {path} cannot be opened ({reason})",
                              hint="name a file with --state") from None  # fmt: skip
        self.base.text_factory = lambda text: text.decode(errors="replace")
        try:
            self._prepare(identity)
        except _BROKEN as error:
            self.base.close()
            busy = "locked" in str(error)
            said = "is in use" if busy else f"is not a state of pc2dae stream, or is damaged ({error})"
            hint = "stop the other `pc2dae stream`, or name another --state" if busy else _MOVE
            raise Pc2daeError(f"{path} {said}", hint=hint) from None
        except Pc2daeError:
            self.base.close()
            raise

    def _prepare(self, identity: str) -> None:
        self.base.execute("PRAGMA locking_mode=EXCLUSIVE")  # two gateways on one file would both give out
        self.base.execute("PRAGMA journal_mode=WAL")
        self.base.execute("PRAGMA synchronous=FULL")
        self.base.execute("PRAGMA journal_size_limit=4000000")
        with self.tick():
            verdict = self.base.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict.splitlines()[-1])
            self._check_version()
            for statement in _TABLES.split(";"):
                self.base.execute(statement)
            self._check(identity)

    def close(self) -> None:
        """Leave the file."""
        self.base.close()

    @contextmanager
    def tick(self) -> Iterator[None]:
        """One transaction: all that is written inside is on the disk afterwards, or none of it."""
        try:
            self.base.execute("BEGIN IMMEDIATE")
            yield
            self.base.execute("COMMIT")
        except BaseException as error:
            if self.base.in_transaction:
                self.base.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
                raise FullError("the disk is full", hint="make room; nothing that was taken is lost") from None
            if isinstance(error, _BROKEN) and "locked" not in str(error):
                raise Pc2daeError(f"the state file {self.path} is damaged ({error})", hint=_MOVE) from None
            raise

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement; a file that cannot be read is one line."""
        try:
            return self.base.execute(statement, values).fetchall()
        except _BROKEN as error:
            if "full" in str(error):
                raise  # `tick` says so
            raise Pc2daeError(f"the state file {self.path} is damaged ({error})", hint=_MOVE) from None

    # ── flights ──

    def name(self, topic: str, flight: str) -> str:
        """What a topic's flight is called here and in its estimates: as its sender does, unless another topic did."""
        row = self.base.execute("SELECT name FROM flight WHERE topic = ? AND flight = ?", (topic, flight)).fetchone()
        if row is not None:
            return str(row[0])
        name, number = flight, 1
        while self.base.execute("SELECT 1 FROM flight WHERE name = ?", (name,)).fetchone():
            tail = "." + re.sub(r"[^A-Za-z0-9._-]", "-", topic)[-40:] + (f"-{number}" if number > 1 else "")
            name, number = flight[: 64 - len(tail)] + tail, number + 1
        if name != flight:
            _log.warning("flight '%s' of topic %s is named '%s': another topic has a flight of that name", flight,
                         topic or "(none)", name)  # fmt: skip
        self.base.execute("INSERT INTO flight (name, topic, flight, about, about_crc) VALUES (?, ?, ?, '', 0)",
                          (name, topic, flight))  # fmt: skip
        self.set_progress(name, Progress())
        return name

    def source(self, name: str) -> tuple[str, str]:
        """Topic and flight as the sender names them."""
        rows = self._rows("SELECT topic, flight FROM flight WHERE name = ?", name)
        return (str(rows[0][0]), str(rows[0][1])) if rows else ("", name)

    def set_progress(self, name: str, progress: Progress) -> None:
        """Remember how far a flight has come."""
        about = json.dumps(vars(progress))
        crc = _crc(name, *self.source(name), about)
        self.base.execute("UPDATE flight SET about = ?, about_crc = ? WHERE name = ?", (about, crc, name))

    def load(self, name: str) -> Stored:
        """All that is known of a flight; records that are damaged are logged, counted and left out."""
        found = self._rows(
            "SELECT topic, flight, about, about_crc, snapshot, snapshot_crc FROM flight WHERE name = ?", name
        )
        if not found:
            return Stored(None, None, [], is_damaged=False)
        topic, flight, about, about_crc, snapshot, snapshot_crc = found[0]
        before = self.damaged
        progress = _progress(about) if about_crc == _crc(name, topic, flight, about) else None
        if progress is None:
            self._damage(f"the progress of flight '{name}'")
        if snapshot_crc != (None if snapshot is None else _crc(name, snapshot)):
            self._damage(f"the snapshot of flight '{name}'")
            snapshot = None
        since = []
        for n, arrived, payload, crc in self._rows(
            "SELECT n, arrived, payload, crc FROM journal WHERE name = ? ORDER BY n", name
        ):
            if crc == _crc(name, arrived, payload):
                since.append((payload, arrived))
            else:
                self._damage(f"journal record {n} of flight '{name}'")
        if self.damaged == before and progress is not None and len(since) != progress.since:
            self._damage(f"the journal of flight '{name}'")
        return Stored(progress, snapshot, since, self.damaged > before)

    def set_snapshot(self, name: str, state: bytes | None) -> None:
        """Put a snapshot in place of the messages that led to it."""
        crc = None if state is None else _crc(name, state)
        self.base.execute("UPDATE flight SET snapshot = ?, snapshot_crc = ? WHERE name = ?", (state, crc, name))
        self.base.execute("DELETE FROM journal WHERE name = ?", (name,))

    def write_journal(self, name: str, payload: bytes, arrived: float | None) -> None:
        """Remember a message that was taken."""
        self.base.execute("INSERT INTO journal (name, arrived, payload, crc) VALUES (?, ?, ?, ?)",
                          (name, arrived, payload, _crc(name, arrived, payload)))  # fmt: skip

    # ── messages that wait for one before them ──

    def hold(self, name: str, seq: int, payload: bytes) -> bool:
        """Keep a message until those before it have come; False: another one with this number waits."""
        crc = _crc(name, seq, payload)
        self.base.execute("INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?)", (name, seq, payload, crc))
        kept = self.base.execute("SELECT payload FROM held WHERE name = ? AND seq = ?", (name, seq)).fetchone()
        return bool(kept[0] == payload)

    def held(self, name: str) -> list[tuple[int, bytes]]:
        """The messages that wait, lowest first."""
        found = []
        for seq, payload, crc in self._rows("SELECT seq, payload, crc FROM held WHERE name = ? ORDER BY seq", name):
            if crc == _crc(name, seq, payload):
                found.append((seq, payload))
            else:
                self._damage(f"message {seq} of flight '{name}' that waits")
                self.release(name, seq)
        return found

    def release(self, name: str, seq: int) -> None:
        """A message waits no more."""
        self._rows("DELETE FROM held WHERE name = ? AND seq = ?", name, seq)

    def waiting(self) -> dict[str, int]:
        """How many messages wait, by flight."""
        return {str(name): int(count) for name, count in self._rows("SELECT name, count(*) FROM held GROUP BY name")}

    # ── estimates ──

    def post(self, flight: str, letters: Sequence[tuple[int, bytes]]) -> None:
        """Put estimates (seq, payload) in the outbox."""
        self.base.executemany(
            "INSERT INTO outbox (flight, seq, payload, crc) VALUES (?, ?, ?, ?)",
            [(flight, seq, text, _crc(flight, seq, text)) for seq, text in letters],
        )

    def letters(self, after: int, limit: int) -> list[Letter]:
        """The oldest letters with a number above `after`."""
        rows = self._rows(
            "SELECT n, flight, seq, payload, crc FROM outbox WHERE n > ? ORDER BY n LIMIT ?", after, limit
        )
        return [Letter(n, flight, seq, payload, crc != _crc(flight, seq, payload))
                for n, flight, seq, payload, crc in rows]  # fmt: skip

    def replace(self, letter: Letter, payload: bytes) -> None:
        """Put an estimate in the place of a damaged one."""
        self._damage(f"estimate {letter.seq} of flight '{letter.flight}'")
        crc = _crc(letter.flight, letter.seq, payload)
        self.base.execute("UPDATE outbox SET payload = ?, crc = ? WHERE n = ?", (payload, crc, letter.n))

    def delivered(self, numbers: Sequence[int]) -> None:
        """Throw away letters by number."""
        self.base.executemany("DELETE FROM outbox WHERE n = ?", [(n,) for n in numbers])

    def confirmed(self, flight: str, seq: int) -> None:
        """Throw away a flight's letters up to `seq`, which the consumer holds."""
        self.base.execute("DELETE FROM outbox WHERE flight = ? AND seq <= ?", (flight, seq))

    def count(self) -> int:
        """How many letters wait."""
        return int(self._rows("SELECT count(*) FROM outbox")[0][0])

    def _damage(self, what: str) -> None:
        self.damaged += 1
        _log.warning("%s: %s is damaged (checksum) and not used", self.path, what)

    def _check_version(self) -> None:
        """Refuse a file of another layout."""
        if not self.base.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
            if self.base.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise Pc2daeError(f"{self.path} is a database, but not a state of pc2dae stream",
                                  hint="name another --state")  # fmt: skip
            return
        version = self.base.execute("SELECT value FROM about WHERE key = 'version'").fetchone()
        if version is None or str(version[0]) != str(VERSION):
            raise Pc2daeError(f"{self.path} was written by another version of pc2dae",
                              hint="let its flights end with that version, or name another --state")  # fmt: skip

    def _check(self, identity: str) -> None:
        """Refuse a file whose unfinished flights belong to another model or suite."""
        kept = dict(self.base.execute("SELECT key, value FROM about"))
        if kept.get("identity", identity) != identity:
            for name, about in self.base.execute("SELECT name, about FROM flight"):
                progress = _progress(about)
                if progress is not None and not progress.is_ended:
                    raise ModelError(f"flight '{name}' in {self.path} was started with another model or suite",
                                     hint="let it end with that model, or name another --state")  # fmt: skip
        self.base.execute("INSERT OR REPLACE INTO about VALUES ('version', ?), ('identity', ?)", (VERSION, identity))


def _progress(about: str) -> Progress | None:
    try:
        return Progress(**json.loads(about))
    except (ValueError, TypeError):
        return None


def _crc(*fields: object) -> int:
    """Checksum of a record's fields."""
    crc = 0
    for each in fields:
        crc = zlib.crc32(each if isinstance(each, bytes) else str(each).encode(errors="replace"), crc)
        crc = zlib.crc32(b"\0", crc)
    return crc
