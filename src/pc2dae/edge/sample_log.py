"""Accepted samples as JSON lines, one folder per flight, so that a flight can be read again after landing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from pc2dae.edge.messages import Sample
from pc2dae.edge.state_file import FullError

FILE = "gateway.jsonl"
Line = TypeVar("Line", bound=BaseModel)


class SampleLog:
    """The samples that a gateway accepts, on disk before they are acknowledged; after a crash some are there twice.

    A file is opened at every tick, because its folder is moved away when the flight has ended.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, samples: Mapping[str, Iterable[Sample]]) -> None:
        """Append the samples of each flight."""
        try:
            for flight, new in samples.items():
                if lines := b"".join(line_of(sample) for sample in new):
                    folder = flight_folder(self.folder, flight)
                    folder.mkdir(parents=True, exist_ok=True)
                    with open_lines(folder / FILE) as file:
                        file.write(lines)
                        os.fsync(file.fileno())
        except OSError as error:
            raise FullError(f"the recording cannot be written ({error.strerror})") from None


def line_of(sample: Sample) -> bytes:
    """A sample as one line of JSON."""
    return sample.model_dump_json(exclude_unset=True).encode() + b"\n"


def flight_folder(parent: Path, flight: str) -> Path:
    """The folder of a flight; its name is safe even if the flight is called `..`."""
    return parent / f"flight-{flight}"


def open_lines(path: Path) -> BinaryIO:
    """A file to append to, unbuffered; the incomplete last line of a crashed process is removed."""
    file = path.open("ab+", buffering=0)
    end = file.seek(0, os.SEEK_END)
    at = end
    while at:
        start = max(at - 65_536, 0)
        file.seek(start)
        found = file.read(at - start).rfind(b"\n")
        if found >= 0:
            at = start + found + 1
            break
        at = start
    if at < end:
        file.truncate(at)
    return file


def lines_of(path: Path, model: type[Line]) -> Iterator[Line]:
    """The messages in a file; the last line may be incomplete after a crash."""
    if path.is_file():
        with path.open("rb") as file:
            for line in file:
                with suppress(ValidationError):
                    yield model.model_validate_json(line)
