"""Damaged and oversized files: a one-line error instead of a crash, an endless loop or a library's traceback."""

from __future__ import annotations

import math
import mmap
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import xarray as xr

from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.flight.cells import MAX_NUMBERS

_HEAP = b"GCOL\x01\0\0\0"  # signature of an HDF5 global heap
_MAX_NUMBERS = 4 * MAX_NUMBERS  # a denoised flight is larger than the records it was aligned from


def unwanted_variables(shapes: Mapping[str, tuple[int, ...]], path: Path, wanted: Collection[str] | None) -> list[str]:
    """The variables that are not `wanted`; an error if the others, by their shapes, are too large for memory."""
    unwanted = [name for name in shapes if wanted is not None and name != "time" and name not in wanted]
    numbers = sum(math.prod(shape) for name, shape in shapes.items() if name not in unwanted)
    if numbers > _MAX_NUMBERS:
        raise FlightError(f"{path.name} holds {numbers:,} values: too many for one flight", hint="split it")
    return unwanted


@contextmanager
def reading(path: Path, form: str) -> Iterator[None]:
    """Convert any exception of a library on a damaged file to a one-line error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # variables that xarray cannot decode are refused by later checks
            yield
    except Pc2daeError:
        raise
    except Exception as error:  # noqa: BLE001 - the libraries raise whatever the damage leads to
        raise FlightError(
            f"{path.name} cannot be read as {form} ({_line(error)})", hint="is the file complete?"
        ) from None


def load(opened: xr.Dataset, path: Path) -> xr.Dataset:
    """An opened dataset in memory; an error names the variable that cannot be read."""
    for name, variable in opened.variables.items():
        try:
            variable.load()
        except Exception as error:  # noqa: BLE001 - the libraries raise whatever the damage leads to
            raise FlightError(
                f"{path.name}: variable '{name}' cannot be read ({_line(error)})", hint="is the file complete?"
            ) from None
    return opened


def check_heaps(path: Path) -> None:
    """Refuse a file whose HDF5 global heaps hold an object without a size: the library would loop forever.

    A heap is b"GCOL", version and reserved bytes, its size; then objects of index (2 bytes), 6 other bytes and size,
    followed by that many bytes rounded up to 8. Free space has index 0, and a size that counts its header as well.
    """
    with path.open("rb") as file:
        if not file.read(1):
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(_HEAP)
            while at >= 0:
                end = min(at + int.from_bytes(data[at + 8 : at + 16], "little"), len(data))
                place = at + 16
                while place + 16 <= end:
                    size = int.from_bytes(data[place + 8 : place + 16], "little")
                    length = 16 + (size + 7) // 8 * 8 if any(data[place : place + 2]) else size
                    if length < 16:
                        raise FlightError(f"{path.name} is damaged at byte {place:,}", hint="is the file complete?")
                    place += length
                at = data.find(_HEAP, at + 1)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:150] or type(error).__name__
