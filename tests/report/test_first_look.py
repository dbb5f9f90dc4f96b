"""The first-look picture is there, whole, for any flight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.flags import SPIKE, STALE
from pc2dae.flight.schema import new_flight
from pc2dae.report.first_look import _limits, first_look
from pc2dae.simulate import simulate_flight, true_grid
from pc2dae.suite import load_suite


def flight(rows: int = 120, *, track: bool = True) -> xr.Dataset:
    suite, rng = load_suite("black-kite").only(["gas", "co2"]), np.random.default_rng(0)
    values = {c.name: c.lower_bound + rng.normal(0, 1, rows) for c in suite.channels}
    values["so2_a"][:] = np.nan
    if track:
        values |= {"latitude": 52 + np.arange(rows) * 1e-6, "longitude": np.full(rows, -105.0)}
    flags = {"co2_scd30": np.where(np.arange(rows) % 2, STALE, 0), "co_a": np.where(np.arange(rows) == 7, SPIKE, 0)}
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(rows) * np.timedelta64(1, "s")
    return new_flight(time, values, suite, flags=flags)


@pytest.mark.parametrize(("rows", "track"), [(120, True), (120, False), (1, False)])
def test_a_picture_of_any_flight(tmp_path: Path, rows: int, track: bool) -> None:
    first_look(flight(rows, track=track), tmp_path / "look.png")
    assert (tmp_path / "look.png").stat().st_size > 10_000


def test_the_same_flight_gives_the_same_picture(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        first_look(flight(), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_doubted_sample_does_not_stretch_the_axis() -> None:
    values, believed = np.array([1.0, 2.0, 500.0]), np.array([True, True, False])
    low, high = _limits(values, believed)
    assert 0.9 < low < 1.0
    assert 2.0 < high < 2.1


def test_a_simulated_flight_is_drawn_with_its_truth(tmp_path: Path) -> None:
    flown = simulate_flight(2, 3)
    others = [name for name in flown.truth if str(name).endswith("_response") and not str(name).startswith("co")]
    truth = flown.truth.drop_vars(others)  # a picture of all channels is drawn in tests/cli/test_simulate.py
    for name, known in (("with.png", truth), ("without.png", None)):
        first_look(true_grid(flown.streams, flown.truth), tmp_path / name, truth=known)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "with.png").stat().st_size > (tmp_path / "without.png").stat().st_size
