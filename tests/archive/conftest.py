"""A small tree of flights: two channels, four minutes, a plume each; quick enough for real processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.flags import SATURATED
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Channel, Family, Suite

CO = Channel(name="co", units="ppb", noise_sigma=5.0)
CO2 = Channel(name="co2", units="ppm", lower_bound=300.0, noise_sigma=2.0)
SUITE = Suite(name="pair", family=(Family(name="gas", channel=(CO,)), Family(name="carbon", channel=(CO2,))))


def make_flight(seed: int, rows: int = 240) -> xr.Dataset:
    rng = np.random.default_rng(seed)
    start = np.datetime64("2025-10-05T12:00:00", "ns") + np.timedelta64(seed, "h")
    plume = np.exp(-0.5 * ((np.arange(rows) - rows / 2) / 6) ** 2)
    values = {"co": 100 + 800 * plume + rng.normal(0, 5, rows), "co2": 420 + 60 * plume + rng.normal(0, 2, rows)}
    flags = {"co": np.where(np.arange(rows) < 3, SATURATED, 0)}
    time = start + np.arange(rows) * np.timedelta64(1, "s")
    return new_flight(time, values, SUITE, flags=flags, flight_id=f"f{seed}")


def make_tree(root: Path, count: int, rows: int = 240) -> Path:
    for seed in range(count):
        write_flight(make_flight(seed, rows), root / f"day_{seed % 2}" / f"flight_{seed:03d}.nc")
    return root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three flights on two days."""
    return make_tree(tmp_path / "source", 3)


@pytest.fixture
def long_tree(tmp_path: Path) -> Path:
    """Three flights long enough to train on."""
    return make_tree(tmp_path / "source", 3, rows=500)


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve flights, for real clusters."""
    return make_tree(tmp_path_factory.mktemp("many") / "source", 12)


@pytest.fixture
def flight() -> xr.Dataset:
    """One flight at level raw."""
    return make_flight(1)


@pytest.fixture(autouse=True)
def _dated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
