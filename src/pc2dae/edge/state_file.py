"""A SQLite file that survives power cuts: atomic transactions, and a checksum for every record."""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pc2dae.errors import Pc2daeError

VERSION = 4
_MOVE = "move it away and start again, or name another --state"
_BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)  # the latter if an SQLite message contains a damaged name
_log = logging.getLogger(__name__)


class FullError(Pc2daeError):
    """The disk is full; nothing of the tick was written."""


class StateFile:
    """A database of `tables` (WAL, synchronous=FULL), for one process at a time; `None` keeps it in memory."""

    def __init__(self, path: Path | None, tables: str, *, wait_s: float = 5.0) -> None:
        self.path = path
        self.damaged = 0  # records whose checksum is wrong
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            # Used by one thread at a time, but not always the one that opened it.
            self.base = sqlite3.connect(
                path or ":memory:", isolation_level=None, timeout=wait_s, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            reason = "it is a folder" if path is not None and path.is_dir() else error
            raise Pc2daeError(f"the state file {path} cannot be opened ({reason})",
                              hint="name a file with --state") from None  # fmt: skip
        self.base.text_factory = lambda text: text.decode(errors="replace")
        try:
            self._prepare(tables)
        except _BROKEN as error:
            self.base.close()
            if "locked" in str(error):
                hint = "stop the other `pc2dae stream`, or name another --state"
                raise Pc2daeError(f"{path} is in use", hint=hint) from None
            raise Pc2daeError(f"{path} is not a state of pc2dae stream, or is damaged ({error})", hint=_MOVE) from None
        except Pc2daeError:
            self.base.close()
            raise

    def _prepare(self, tables: str) -> None:
        self.base.execute("PRAGMA locking_mode=EXCLUSIVE")  # two gateways on one file would both send its estimates
        self.base.execute("PRAGMA journal_mode=WAL")
        self.base.execute("PRAGMA synchronous=FULL")
        self.base.execute("PRAGMA journal_size_limit=4000000")
        with self.tick():
            verdict = self.base.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict.splitlines()[-1])
            self._check_version()
            for statement in tables.split(";"):
                self.base.execute(statement)

    def close(self) -> None:
        """Close the file."""
        self.base.close()

    @contextmanager
    def tick(self) -> Iterator[None]:
        """One transaction: on success all writes are on disk, otherwise none."""
        try:
            self.base.execute("BEGIN IMMEDIATE")
            yield
            self.base.execute("COMMIT")
        except BaseException as error:
            if self.base.in_transaction:
                self.base.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
                raise FullError("the disk is full", hint="free some space; no accepted message is lost") from None
            if isinstance(error, _BROKEN) and "locked" not in str(error):
                raise Pc2daeError(f"the state file {self.path} is damaged ({error})", hint=_MOVE) from None
            raise

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement; an unreadable file raises a one-line error."""
        try:
            return self.base.execute(statement, values).fetchall()
        except _BROKEN as error:
            if "full" in str(error):
                raise  # reported by `tick`
            raise Pc2daeError(f"the state file {self.path} is damaged ({error})", hint=_MOVE) from None

    def report_damage(self, record: str) -> None:
        """Count and log a record whose checksum is wrong."""
        self.damaged += 1
        _log.warning("%s: %s is damaged (checksum) and not used", self.path, record)

    def _check_version(self) -> None:
        """Refuse a file with another schema or version."""
        if not self.base.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
            if self.base.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise Pc2daeError(f"{self.path} is a database, but not a state of pc2dae stream",
                                  hint="name another --state")  # fmt: skip
            return
        version = self.base.execute("SELECT value FROM about WHERE key = 'version'").fetchone()
        if version is None or str(version[0]) != str(VERSION):
            raise Pc2daeError(f"{self.path} was written by another version of pc2dae",
                              hint="finish its flights with that version, or name another --state")  # fmt: skip


def checksum(*fields: object) -> int:
    """CRC-32 of a record's fields."""
    crc = 0
    for each in fields:
        crc = zlib.crc32(each if isinstance(each, bytes) else str(each).encode(errors="replace"), crc)
        crc = zlib.crc32(b"\0", crc)
    return crc
