"""Which files a command may overwrite: never its inputs, and without --force only those pc2dae wrote."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import typer

from pc2dae.errors import Pc2daeError

FORCE = typer.Option(False, "--force", help="Overwrite files that pc2dae did not write; never an input.")
_MARK = b"pc2dae"  # present in every file written here except CSV, which has no metadata


def check_output(path: Path, *, inputs: Iterable[Path | None] = (), force: bool = False) -> None:
    """Refuse to overwrite an input or a log beside it and, without `force`, any file that pc2dae did not write."""
    if not path.exists():
        return
    is_own = _is_own(path)
    for source in inputs:
        if source is not None and source.exists():
            is_beside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(source)) and not is_own
            if path.samefile(source) or is_beside:
                raise Pc2daeError(f"{path} is the input and would be overwritten",
                                  hint="give -o another name")  # fmt: skip
    if not force and not is_own:
        raise Pc2daeError(f"{path} exists and was not written by pc2dae", hint="give -o another name, or add --force")


def check_folder(folder: Path, *marks: str, force: bool = False) -> None:
    """Refuse, without `force`, a non-empty folder without any of the files that the command writes."""
    there = [path.name for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []
    if there and not force and not set(there) & set(marks):
        raise Pc2daeError(f"{folder} is not empty and was not made by this command",
                          hint="name another folder, or add --force")  # fmt: skip


def _is_own(path: Path) -> bool:
    """Whether pc2dae wrote a file or Zarr store; an empty one may be overwritten as well."""
    if path.is_dir():
        return any((path / name).is_file() and _MARK in (path / name).read_bytes() for name in (".zattrs", "zarr.json"))
    if not path.is_file() or path.stat().st_size == 0:
        return path.is_file()
    if path.suffix.lower() == ".csv":
        from pc2dae.flight.csv import is_flight_table
        from pc2dae.logs.csv import header_of
        from pc2dae.logs.files import LogFile, head_lines
        from pc2dae.logs.reader import Head
        from pc2dae.plumes.files import is_plume_table

        file = LogFile(path, salvage=True)
        header = header_of(Head(file.head(), head_lines(file)))
        return is_flight_table(header) or is_plume_table(header)
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(_MARK) >= 0
