"""A flight's arrays on disk: written by the worker as plain numbers, read by the server one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from pc2dae.atomic import replacing
from pc2dae.view.series import Column


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    """Write arrays by name, uncompressed; no pickle."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **columns)


class ColumnFile(Mapping[str, Column]):
    """Arrays by name, each read on first access."""

    def __init__(self, path: Path) -> None:
        self._file = np.load(path, allow_pickle=False)

    def __getitem__(self, name: str) -> Column:
        return np.asarray(self._file[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.files)

    def __len__(self) -> int:
        return len(self._file.files)
