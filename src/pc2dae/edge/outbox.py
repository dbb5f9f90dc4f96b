"""The persistent state of a gateway in one SQLite file: accepted samples, flight states, undelivered estimates.

One transaction per tick: after a power cut the file contains complete ticks only. The state of a flight is stored as
occasional snapshots and a journal of the samples since, which wears a memory card far less than a snapshot per tick.
Records with a wrong checksum are logged, counted and not used.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pc2dae.edge.state_file import VERSION, StateFile, checksum
from pc2dae.errors import ModelError

_TABLES = """
CREATE TABLE IF NOT EXISTS flight (name TEXT PRIMARY KEY, topic TEXT NOT NULL, flight TEXT NOT NULL,
    about TEXT NOT NULL, about_crc INTEGER NOT NULL, snapshot_crc INTEGER) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS flight_source ON flight (topic, flight);
CREATE TABLE IF NOT EXISTS snapshot (name TEXT PRIMARY KEY, state BLOB NOT NULL);
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
_log = logging.getLogger(__name__)


@dataclass
class FlightProgress:
    """The progress of a flight."""

    seq: int = -1  # all messages up to this number were used or skipped
    skipped: list[int] = field(default_factory=list)  # numbers still accepted
    odd: int | None = None  # last number out of sequence; if the next one follows it, numbering continues there
    given: int = 0  # estimates posted
    stop: int = 0  # seconds of the grid so far …
    newest: int = 0  # … and the time of the last one, microseconds
    earliest: int | None = None  # times of all samples so far lie between these two, microseconds
    latest: int | None = None
    since: int = 0  # messages in the journal
    is_ended: bool = False


@dataclass
class Stored:
    """A flight as stored; progress and snapshot are None if absent or damaged."""

    progress: FlightProgress | None
    snapshot: bytes | None
    since: list[tuple[bytes, float | None]]  # messages after the snapshot, and when they arrived
    is_damaged: bool


@dataclass(frozen=True)
class Letter:
    """An undelivered estimate."""

    n: int
    flight: str
    seq: int
    payload: bytes
    is_damaged: bool = False


class Outbox(StateFile):
    """Flights, their samples and their estimates on disk, or in memory without a path."""

    def __init__(self, path: Path | None, *, identity: str, wait_s: float = 5.0) -> None:
        super().__init__(path, _TABLES, wait_s=wait_s)
        self._count: int | None = None  # letters, if known: SQLite counts them one by one
        try:
            with self.tick():
                self._check(identity)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def tick(self) -> Iterator[None]:
        """One transaction."""
        try:
            with super().tick():
                yield
        except BaseException:
            self._count = None
            raise

    def _check(self, identity: str) -> None:
        """Refuse a file whose unfinished flights belong to another model or suite."""
        kept = dict(self.base.execute("SELECT key, value FROM about"))
        if kept.get("identity", identity) != identity:
            for name, about in self.base.execute("SELECT name, about FROM flight"):
                progress = _progress(about)
                if progress is not None and not progress.is_ended:
                    raise ModelError(f"flight '{name}' in {self.path} was started with another model or suite",
                                     hint="finish it with that model, or name another --state")  # fmt: skip
        self.base.execute("INSERT OR REPLACE INTO about VALUES ('version', ?), ('identity', ?)", (VERSION, identity))

    # ── flights ──

    def name(self, topic: str, flight: str) -> str:
        """The name of a topic's flight here and in its estimates: the sender's, unless another topic has used it."""
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
        self.set_progress(name, FlightProgress())
        return name

    def source(self, name: str) -> tuple[str, str]:
        """Topic and flight as the sender names them."""
        rows = self.rows("SELECT topic, flight FROM flight WHERE name = ?", name)
        return (str(rows[0][0]), str(rows[0][1])) if rows else ("", name)

    def set_progress(self, name: str, progress: FlightProgress) -> None:
        """Store the progress of a flight."""
        about = json.dumps(vars(progress))
        crc = checksum(name, *self.source(name), about)
        self.base.execute("UPDATE flight SET about = ?, about_crc = ? WHERE name = ?", (about, crc, name))

    def load(self, name: str) -> Stored:
        """Everything stored about a flight, without damaged records."""
        found = self.rows(
            "SELECT topic, flight, about, about_crc, state, snapshot_crc FROM flight LEFT JOIN snapshot USING (name) "
            "WHERE name = ?", name,
        )  # fmt: skip
        if not found:
            return Stored(None, None, [], is_damaged=False)
        topic, flight, about, about_crc, snapshot, snapshot_crc = found[0]
        before = self.damaged
        progress = _progress(about) if about_crc == checksum(name, topic, flight, about) else None
        if progress is None:
            self.report_damage(f"the progress of flight '{name}'")
        if snapshot_crc != (None if snapshot is None else checksum(name, snapshot)):
            self.report_damage(f"the snapshot of flight '{name}'")
            snapshot = None
        since = []
        for n, arrived, payload, crc in self.rows(
            "SELECT n, arrived, payload, crc FROM journal WHERE name = ? ORDER BY n", name
        ):
            if crc == checksum(name, arrived, payload):
                since.append((payload, arrived))
            else:
                self.report_damage(f"journal record {n} of flight '{name}'")
        if self.damaged == before and progress is not None and len(since) != progress.since:
            self.report_damage(f"the journal of flight '{name}'")
        return Stored(progress, snapshot, since, self.damaged > before)

    def set_snapshot(self, name: str, state: bytes | None) -> None:
        """Replace the journal of a flight by a snapshot."""
        crc = None if state is None else checksum(name, state)
        self.base.execute("UPDATE flight SET snapshot_crc = ? WHERE name = ?", (crc, name))
        self.base.execute("DELETE FROM snapshot WHERE name = ?", (name,))
        if state is not None:
            self.base.execute("INSERT INTO snapshot VALUES (?, ?)", (name, state))
        self.base.execute("DELETE FROM journal WHERE name = ?", (name,))

    def write_journal(self, name: str, payload: bytes, arrived: float | None) -> None:
        """Append an accepted message to the journal."""
        self.base.execute("INSERT INTO journal (name, arrived, payload, crc) VALUES (?, ?, ?, ?)",
                          (name, arrived, payload, checksum(name, arrived, payload)))  # fmt: skip

    # ── messages that wait for an earlier one ──

    def hold(self, name: str, seq: int, payload: bytes) -> bool:
        """Hold a message until the earlier ones have arrived; False if another one with this number is held."""
        crc = checksum(name, seq, payload)
        self.base.execute("INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?)", (name, seq, payload, crc))
        kept = self.base.execute("SELECT payload FROM held WHERE name = ? AND seq = ?", (name, seq)).fetchone()
        return bool(kept[0] == payload)

    def held(self, name: str) -> list[tuple[int, bytes]]:
        """The held messages, lowest number first."""
        found = []
        for seq, payload, crc in self.rows("SELECT seq, payload, crc FROM held WHERE name = ? ORDER BY seq", name):
            if crc == checksum(name, seq, payload):
                found.append((seq, payload))
            else:
                self.report_damage(f"held message {seq} of flight '{name}'")
                self.release(name, seq)
        return found

    def release(self, name: str, seq: int) -> None:
        """Drop a held message."""
        self.rows("DELETE FROM held WHERE name = ? AND seq = ?", name, seq)

    def waiting(self) -> dict[str, int]:
        """Number of held messages, by flight."""
        return {str(name): int(count) for name, count in self.rows("SELECT name, count(*) FROM held GROUP BY name")}

    # ── estimates ──

    def post(self, flight: str, letters: Sequence[tuple[int, bytes]]) -> None:
        """Put estimates (seq, payload) in the outbox."""
        self.base.executemany(
            "INSERT INTO outbox (flight, seq, payload, crc) VALUES (?, ?, ?, ?)",
            [(flight, seq, text, checksum(flight, seq, text)) for seq, text in letters],
        )
        self._add(len(letters))

    def letters(self, after: int, limit: int) -> list[Letter]:
        """The oldest letters with a number above `after`."""
        rows = self.rows("SELECT n, flight, seq, payload, crc FROM outbox WHERE n > ? ORDER BY n LIMIT ?", after, limit)
        return [Letter(n, flight, seq, payload, crc != checksum(flight, seq, payload))
                for n, flight, seq, payload, crc in rows]  # fmt: skip

    def replace(self, letter: Letter, payload: bytes) -> None:
        """Replace a damaged estimate."""
        self.report_damage(f"estimate {letter.seq} of flight '{letter.flight}'")
        crc = checksum(letter.flight, letter.seq, payload)
        self.base.execute("UPDATE outbox SET payload = ?, crc = ? WHERE n = ?", (payload, crc, letter.n))

    def delivered(self, numbers: Sequence[int]) -> None:
        """Drop letters by number."""
        self._add(-self.base.executemany("DELETE FROM outbox WHERE n = ?", [(n,) for n in numbers]).rowcount)

    def confirmed(self, flight: str, seq: int) -> None:
        """Drop a flight's letters up to `seq`, which the consumer has confirmed."""
        self._add(-self.base.execute("DELETE FROM outbox WHERE flight = ? AND seq <= ?", (flight, seq)).rowcount)

    def count(self) -> int:
        """Number of letters."""
        if self._count is None:
            self._count = int(self.rows("SELECT count(*) FROM outbox")[0][0])
        return self._count

    def _add(self, letters: int) -> None:
        self._count = None if self._count is None else self._count + letters


def _progress(about: str) -> FlightProgress | None:
    try:
        return FlightProgress(**json.loads(about))
    except (ValueError, TypeError):
        return None
