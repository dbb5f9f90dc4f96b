"""`inspect` on a flight with known figures."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from pc2dae.flags import INTERPOLATED, STALE, STARTUP
from pc2dae.flight.schema import new_flight
from pc2dae.inspection import campaign, inspect_flight
from pc2dae.suite import load_suite

ROWS = 1000


def flight(seed: int = 0) -> xr.Dataset:
    suite, rng = load_suite("black-kite"), np.random.default_rng(seed)
    plume = 1.0 * (np.arange(ROWS) % 200 > 170)
    size = {"bc": 20_000.0, "gas": 300.0, "co2": 60.0, "pm": 200.0, "brc": 500.0}
    values = {
        c.name: c.lower_bound + size[f.name] * plume + rng.normal(0, c.noise_sigma or 1.0, ROWS)
        for f in suite.family
        for c in f.channel
    }
    values["co2_li830"] += 120.0
    for name in ("pm1_1", "pm25_1", "pm10_1", "pm1_2", "pm25_2", "pm10_2"):
        values[name] = np.maximum(values[name], 0.0)  # a counter knows no negative numbers
    values["co_a"][:100] = np.nan
    for name in suite.names:
        values[name][400:420] = np.nan  # nothing at all for 20 s
    speed = np.where(np.arange(ROWS) < 400, 0.05, 4.0)
    values |= {"ground_speed": speed, "ardupilot_ekf_speed": speed * 1.01, "air_temperature": np.linspace(15, 25, ROWS)}
    flags = {name: np.zeros(ROWS, np.int32) for name in suite.names}
    flags["co2_scd30"][1::2] = STALE
    flags["bc_uv_1"][:50] = STARTUP
    flags["no_a"][600:610] = INTERPOLATED
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(ROWS) * np.timedelta64(1, "s")
    return new_flight(time, values, suite, flags=flags, flight_id=f"f{seed}")


@pytest.fixture(scope="module")
def report() -> dict[str, object]:
    return inspect_flight(flight())


def test_how_long_and_where_the_gap_is(report: dict) -> None:
    assert (report["rows"], report["duration_s"], report["start"]) == (1000, 1000.0, "2025-10-05T14:00:00Z")
    assert report["gaps"] == [{"start": "2025-10-05T14:06:40Z", "duration_s": 20.0}]


def test_shares_per_channel(report: dict) -> None:
    channels = report["channels"]
    assert channels["co_a"]["missing"] == pytest.approx(0.12)
    assert channels["no_a"]["missing"] == pytest.approx(0.03)  # a bridged gap is a gap
    assert channels["bc_uv_1"]["missing"] == pytest.approx(20 / 950)  # starting up is not missing
    assert channels["co2_scd30"]["stale"] == pytest.approx(0.5)
    assert channels["no_a"]["negative"] == pytest.approx(0.425, abs=0.05)  # half of the samples outside plumes
    assert channels["co2_li830"]["negative"] == 0.0


def test_noise_and_response(report: dict) -> None:
    co = report["channels"]["co_b"]
    assert co["noise_sigma"] == pytest.approx(10.0, rel=0.1)
    assert co["noise_lag1"] == pytest.approx(0.0, abs=0.15)
    assert co["t90_reference"] == "co2_li830"
    assert co["blur_max_m"] == pytest.approx(4.0 * co["t90_s"])


def test_motion_and_air(report: dict) -> None:
    motion = report["motion"]
    assert motion["share_moving"] == pytest.approx(0.6)
    assert motion["speed_max_m_s"] == 4.0
    assert motion["gps_ekf_difference"] == pytest.approx(0.01)
    assert motion["edge_crossing_s"] == [pytest.approx(0.25), pytest.approx(10 / 2.42)]
    assert report["environment"]["air_temperature"] == [15.0, 25.0]


def test_verdicts_and_overruling(report: dict) -> None:
    kept = {f["family"]: f["kept"] for f in report["families"]}
    assert kept == {"bc": True, "gas": True, "co2": True, "pm": False, "brc": False}
    overruled = inspect_flight(flight(), keep=["pm"])
    assert {f["family"]: f["kept"] for f in overruled["families"]}["pm"]


def test_everything_is_json_without_nan(report: dict) -> None:
    assert "NaN" not in json.dumps(report, allow_nan=False)


def test_campaign_pools_flights() -> None:
    flights = [flight(0), flight(1)]
    together = campaign(flights, [inspect_flight(f) for f in flights])
    assert together["samples"] == 2000
    assert together["moving_pct"] == pytest.approx(60.0)
    assert together["negative_co2_pct"] == 0.0
    assert 35 < together["negative_bc_pct"] < 50
    assert together["below_detection_pm_pct"] == pytest.approx(85.0, abs=2.0)
    assert "negative_pm_pct" not in together  # an excluded family counts no more


def test_a_flight_that_stands_still_without_gps() -> None:
    bare = flight().drop_vars(["ground_speed", "ardupilot_ekf_speed", "air_temperature"])
    report = inspect_flight(bare)
    assert report["motion"] == {}
    assert report["environment"] == {}


def test_a_flight_in_which_nothing_was_measured_has_no_shares_of_negative_values() -> None:
    empty = flight()
    for name in load_suite("black-kite").names:
        empty[name].values[:] = np.nan
        empty[f"qc_{name}"].values[:] = 1
    together = campaign([empty], [inspect_flight(empty)])
    assert together["samples"] == ROWS
    assert np.isfinite(list(together.values())).all()
    assert "negative_pct" not in together
