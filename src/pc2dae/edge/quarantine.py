"""A file for unusable messages: one JSON line each, synced to disk before the message is acknowledged."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pc2dae.edge.state_file import FullError
from pc2dae.errors import Pc2daeError

LIMIT = 100_000_000  # bytes of the file


@dataclass(frozen=True)
class RefusedMessage:
    """A refused message and the reason; flight and seq if they could be read."""

    reason: str
    payload: bytes
    topic: str
    flight: str | None
    seq: int | None

    def line(self, arrived: float) -> bytes:
        """As JSON; a payload that is not text is in base64."""
        record = {"reason": self.reason, "topic": self.topic, "flight": self.flight, "seq": self.seq,
                 "arrived": datetime.fromtimestamp(arrived, UTC).isoformat(timespec="milliseconds")}  # fmt: skip
        try:
            payload = {"payload": self.payload.decode()}
        except UnicodeDecodeError:
            payload = {"payload_base64": base64.b64encode(self.payload).decode()}
        return json.dumps(record | payload, ensure_ascii=False).encode(errors="replace") + b"\n"


def quarantine_path(state: Path) -> Path:
    """The default quarantine file for a gateway's state file."""
    return state.with_name(f"{state.stem}.quarantine.jsonl")


class Quarantine:
    """Appends refused messages to a file of at most `limit` bytes; those beyond it are counted as lost."""

    def __init__(self, path: Path, *, limit: int = LIMIT) -> None:
        self.path, self.limit = path, limit
        self.count = self.lost = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file = path.open("ab+", buffering=0)
            self.size = self.file.seek(0, os.SEEK_END)
            if self.size:
                self.file.seek(-1, os.SEEK_END)
                if self.file.read(1) != b"\n":  # incomplete after a crash: its message is sent again
                    self.size += self.file.write(b"\n")
        except OSError as error:
            raise Pc2daeError(f"the quarantine file {path} cannot be written ({error.strerror})",
                              hint="name another --quarantine FILE") from None  # fmt: skip
        self.before = self.size, self.count, self.lost

    def write(self, refused: list[RefusedMessage], arrived: float) -> None:
        """Append messages and sync the file."""
        self.before = self.size, self.count, self.lost
        text = b""
        for each in refused:
            line = each.line(arrived)
            if self.size + len(text) + len(line) > self.limit:
                self.lost += 1
            else:
                text += line
                self.count += 1
        try:
            while text:
                written = self.file.write(text)
                self.size += written
                text = text[written:]
            os.fsync(self.file.fileno())
        except OSError as error:
            self.undo()
            raise FullError(f"the quarantine file {self.path} cannot be written ({error.strerror})",
                            hint="free some space; no accepted message is lost") from None  # fmt: skip

    def undo(self) -> None:
        """Undo the last `write`: its messages are not acknowledged and will be sent again."""
        self.size, self.count, self.lost = self.before
        self.file.truncate(self.size)

    def close(self) -> None:
        """Close the file."""
        self.file.close()
