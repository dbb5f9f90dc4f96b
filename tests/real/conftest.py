"""Every record is opened once per process, in a temporary folder; a server for the uploads is started when needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from ground import Ground, grounded
from real_data import ABSENT, DATA, RECORDS, RealRecord
from real_doors import denoised

import pc2dae


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): tests that one worker runs with --dist loadgroup")


def by_record(records: tuple[RealRecord, ...]) -> list[Any]:
    """Parameters of a test for each record, grouped by folder."""
    return [pytest.param(r, id=r.id, marks=pytest.mark.xdist_group(r.folder)) for r in records]


IN_TESTS = tuple(record for record in RECORDS if record.in_tests)


@dataclass(frozen=True)
class Opened:
    """A record that has been read."""

    record: RealRecord
    path: Path  # as it was given to the product
    flight: xr.Dataset

    def clean(self, model: str, profile: str) -> xr.Dataset:
        """The record denoised, once."""
        return _clean(self.record.id, model, profile)


_OPENED: dict[str, Opened] = {}


@cache
def _clean(record: str, model: str, profile: str) -> xr.Dataset:
    return denoised(_OPENED[record].flight, model, profile)


@pytest.fixture(scope="module", params=by_record(IN_TESTS))
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Each record in turn."""
    return open_record(request.param, tmp_path_factory)


def open_record(record: RealRecord, folders: pytest.TempPathFactory) -> Opened:
    """A record, read on the first call."""
    if not DATA.is_dir():
        pytest.skip(ABSENT)
    if not record.source.is_file():
        pytest.skip(f"{record.id} is not in {DATA}")
    if record.id not in _OPENED:
        path = record.write(folders.mktemp("real"))
        flight = pc2dae.open_flight(path, suite=record.suite_path, zone=record.zone)
        _OPENED[record.id] = Opened(record, path, flight)
    return _OPENED[record.id]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A server in this process."""
    with grounded(tmp_path_factory.mktemp("ground")) as running:
        yield running
