"""What a gateway must not forget, in one SQLite file: samples taken, flights' states, estimates not yet delivered.

One transaction per tick (WAL, synchronous=FULL): after a power cut the file holds whole ticks only. A flight's state is
a snapshot now and then, and a journal of the samples taken since: far less wear of a memory card than a state per tick.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pc2dae.errors import ModelError, Pc2daeError

VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS flight (name TEXT PRIMARY KEY, about TEXT NOT NULL, snapshot BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS journal (n INTEGER PRIMARY KEY, flight TEXT NOT NULL, payload BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS journal_flight ON journal (flight, n);
CREATE TABLE IF NOT EXISTS held (flight TEXT, seq INTEGER, payload BLOB NOT NULL,
                                 PRIMARY KEY (flight, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (n INTEGER PRIMARY KEY AUTOINCREMENT, flight TEXT NOT NULL, seq INTEGER NOT NULL,
                                   payload BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS outbox_flight ON outbox (flight, seq);
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class FullError(Pc2daeError):
    """The disk cannot take more; nothing of the tick was written."""


@dataclass
class Progress:
    """How far a flight has come."""

    seq: int = -1  # all messages up to here were taken or given up
    skipped: list[int] = field(default_factory=list)  # given up, and still welcome
    given: int = 0  # estimates given out
    is_ended: bool = False


@dataclass(frozen=True)
class Letter:
    """One estimate on its way to the consumer."""

    n: int
    flight: str
    seq: int
    payload: bytes


class Outbox:
    """The file; `None` keeps everything in memory."""

    def __init__(self, path: Path | None, *, identity: str, wait_s: float = 5.0) -> None:
        self.path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # One thread at a time, but not always the one that opened it.
        self.base = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=wait_s, check_same_thread=False)
        try:
            self._prepare(identity)
        except sqlite3.DatabaseError as error:
            self.base.close()
            busy = "locked" in str(error)
            said = "is in use" if busy else f"is no state of a gateway: {error}"
            hint = "stop the other `pc2dae stream`, or name another --state" if busy else "name another --state"
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
            raise

    # ── flights ──

    def progress(self, flight: str) -> Progress:
        """How far a flight has come; one never heard of has not begun."""
        row = self.base.execute("SELECT about FROM flight WHERE name = ?", (flight,)).fetchone()
        return Progress() if row is None else Progress(**json.loads(row[0]))

    def set_progress(self, flight: str, progress: Progress) -> None:
        """Remember how far a flight has come."""
        self.base.execute(
            "INSERT INTO flight (name, about) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET about = excluded.about",
            (flight, json.dumps(vars(progress))),
        )

    def snapshot(self, flight: str) -> tuple[bytes | None, list[bytes]]:
        """A flight's last snapshot and the messages taken since, in their order."""
        row = self.base.execute("SELECT snapshot FROM flight WHERE name = ?", (flight,)).fetchone()
        since = self.base.execute("SELECT payload FROM journal WHERE flight = ? ORDER BY n", (flight,))
        return (row[0] if row is not None else None), [payload for (payload,) in since]

    def set_snapshot(self, flight: str, state: bytes | None) -> None:
        """Put a snapshot in place of the messages that led to it."""
        self.base.execute("UPDATE flight SET snapshot = ? WHERE name = ?", (state, flight))
        self.base.execute("DELETE FROM journal WHERE flight = ?", (flight,))

    def write_journal(self, flight: str, payload: bytes) -> None:
        """Remember a message that was taken."""
        self.base.execute("INSERT INTO journal (flight, payload) VALUES (?, ?)", (flight, payload))

    # ── messages that wait for one before them ──

    def hold(self, flight: str, seq: int, payload: bytes) -> None:
        """Keep a message until those before it have come."""
        self.base.execute("INSERT OR IGNORE INTO held VALUES (?, ?, ?)", (flight, seq, payload))

    def held(self, flight: str) -> list[tuple[int, bytes]]:
        """The messages that wait, lowest first."""
        return list(self.base.execute("SELECT seq, payload FROM held WHERE flight = ? ORDER BY seq", (flight,)))

    def release(self, flight: str, seq: int) -> None:
        """A message waits no more."""
        self.base.execute("DELETE FROM held WHERE flight = ? AND seq = ?", (flight, seq))

    def waiting(self) -> dict[str, int]:
        """How many messages wait, by flight."""
        return dict(self.base.execute("SELECT flight, count(*) FROM held GROUP BY flight"))

    # ── estimates ──

    def post(self, flight: str, letters: Sequence[tuple[int, bytes]]) -> None:
        """Put estimates (seq, payload) in the outbox."""
        self.base.executemany(
            "INSERT INTO outbox (flight, seq, payload) VALUES (?, ?, ?)", [(flight, seq, text) for seq, text in letters]
        )

    def letters(self, after: int, limit: int) -> list[Letter]:
        """The oldest letters with a number above `after`."""
        rows = self.base.execute(
            "SELECT n, flight, seq, payload FROM outbox WHERE n > ? ORDER BY n LIMIT ?", (after, limit)
        )
        return [Letter(*row) for row in rows]

    def delivered(self, numbers: Sequence[int]) -> None:
        """Throw away letters by number."""
        self.base.executemany("DELETE FROM outbox WHERE n = ?", [(n,) for n in numbers])

    def confirmed(self, flight: str, seq: int) -> None:
        """Throw away a flight's letters up to `seq`, which the consumer holds."""
        self.base.execute("DELETE FROM outbox WHERE flight = ? AND seq <= ?", (flight, seq))

    def count(self) -> int:
        """How many letters wait."""
        return int(self.base.execute("SELECT count(*) FROM outbox").fetchone()[0])

    def _check(self, identity: str) -> None:
        """Refuse a file of another layout, or one whose unfinished flights belong to another model or suite."""
        kept = dict(self.base.execute("SELECT key, value FROM about"))
        if int(kept.get("version", VERSION)) != VERSION:
            raise Pc2daeError(f"{self.path} was written by another version of pc2dae", hint="name another --state")
        open_flights = [name for name, text in self.base.execute("SELECT name, about FROM flight")
                        if not json.loads(text)["is_ended"]]  # fmt: skip
        if kept.get("identity", identity) != identity and open_flights:
            raise ModelError(f"flight '{open_flights[0]}' in {self.path} was begun with another model or suite",
                             hint="let it end with that model, or name another --state")  # fmt: skip
        self.base.execute("INSERT OR REPLACE INTO about VALUES ('version', ?), ('identity', ?)", (VERSION, identity))
