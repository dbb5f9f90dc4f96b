"""Runs, sensors and flights compared through the API."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ground import Ground, plain_csv

from pc2dae.web.compare import difference, fact_of


@pytest.fixture(scope="module")
def smoothed(ground: Ground, dropped: dict[str, Any]) -> str:
    """A second run of the dropped flight."""
    run = ground.denoise(dropped["id"], method="savgol")
    assert run["state"] == "ready", run
    return str(run["id"])


def test_the_difference_of_two_runs(ground: Ground, dropped: dict[str, Any], smoothed: str) -> None:
    home = f"/api/flights/{dropped['id']}"
    both = {"run": dropped["default_run"], "other": smoothed}
    found = ground.get(f"{home}/difference", **both, channels="co_a")
    one, two = (
        np.array(ground.get(f"{home}/series", run=run, channels="co_a")["channels"]["co_a"]["estimate"], float)
        for run in both.values()
    )
    mine = found["channels"]["co_a"]
    np.testing.assert_allclose(np.array(mine["difference"], float), two - one, atol=0.01)
    assert mine["bias"] == pytest.approx(np.nanmean(two - one), abs=0.01)
    assert mine["rms"] == pytest.approx(np.sqrt(np.nanmean((two - one) ** 2)), rel=1e-3)
    assert mine["n"] == 120
    assert min(mine["sigma"]) > 0  # of the one run that states it
    answer = ground.client.get(f"{home}/difference", params=both | {"channels": "co_z"})
    assert (answer.status_code, answer.json()["error"]) == (422, "the flight has no channel 'co_z'")


def test_a_thinned_difference_keeps_its_peaks_and_the_figures_of_all_samples() -> None:
    time, zero = np.arange(10_000) * 1000, np.zeros(10_000)
    spike = zero.copy()
    spike[4321] = 100.0
    run = {"co": zero, "co random": np.full(10_000, 3.0)}
    other = {"co": spike, "co random": np.full(10_000, 4.0), "co response": zero}
    found = difference(time, run, other, ["co", "no"], start=None, stop=None, points=100)
    (mine,) = found.channels.values()
    assert len(mine.difference) == len(found.time) <= 100
    assert max(v for v in mine.difference if v is not None) == 100
    assert (mine.n, mine.bias, mine.rms) == (10_000, 0.01, 1.0)
    assert mine.sigma is not None
    assert set(mine.sigma) == {5.0}  # √(3² + 4²)
    assert mine.targets == ["response", "ambient"]


def test_sensors_of_one_species(ground: Ground, dropped: dict[str, Any]) -> None:
    pairs = ground.get(f"/api/flights/{dropped['id']}/sensors", run=dropped["default_run"])
    assert [(p["species"], p["x"], p["y"]) for p in pairs][-1] == ("co", "co_a", "co_b")
    co = pairs[-1]
    assert co["slope"] == pytest.approx(1, abs=0.2)
    assert set(map(len, co["points"].values())) == {len(co["points"]["time"])}


def test_two_flights_side_by_side(ground: Ground, dropped: dict[str, Any]) -> None:
    other = ground.drop(("later.csv", plain_csv(100).replace(b"2025-10-01T12", b"2025-10-01T15")))
    found = ground.get(f"/api/flights/{dropped['id']}/beside", other=other["id"])
    assert [f["name"] for f in found["flights"]] == ["kite", "later"]
    assert found["is_overlapping"] is False
    assert len(found["channels"]) == 9
    length = next(f for f in found["facts"] if f["name"] == "duration")
    assert (length["values"], length["difference"], length["sigma"]) == ([120, 100], -20, None)
    answer = ground.client.get(f"/api/flights/{dropped['id']}/beside", params={"other": dropped["id"]})
    assert answer.status_code == 422


def test_a_ratio_of_two_flights_has_a_combined_uncertainty() -> None:
    row = {"value": 0.03, "sigma": 0.003, "random_sigma": 0.0003, "units": "1"}
    fact = fact_of(("ratio", "co/co2"), row, row | {"value": 0.05, "sigma": 0.004, "random_sigma": 0.0004})
    assert fact.difference == pytest.approx(0.02)
    assert fact.sigma == pytest.approx(0.005)
    assert fact.random_sigma == pytest.approx(0.0005)
    unlike = fact_of(("ratio", "bc/co"), row, row | {"units": "ng m-3 per ppb"})
    assert (unlike.difference, unlike.sigma) == (None, None)
