"""A whole flight through all checks."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from pc2dae.flags import (
    BELOW_DETECTION,
    FLAT_LINE,
    MISSING,
    NOT_MEASURED,
    SATURATED,
    SPIKE,
    STALE,
    STARTUP,
    TAPE_ADVANCE,
    THERMAL_TRANSIENT,
)
from pc2dae.flight.schema import new_flight
from pc2dae.qc import screen
from pc2dae.suite import Suite, load_suite
from suites import make_suite

KOLIBRI = make_suite(
    {"gas": {"co": {"units": "ppm", "valid_max": 500.0}, "co2": "ppm"}}, name="kolibri", missing=[-9999]
)


def flight_of(values: dict[str, np.ndarray], suite: Suite, **how: object) -> xr.Dataset:
    rows = len(next(iter(values.values())))
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(rows) * np.timedelta64(1, "s")
    return new_flight(time, values, suite, **how)  # type: ignore[arg-type]


def test_a_plain_table_loses_nothing_but_what_its_suite_names() -> None:
    rng = np.random.default_rng(0)
    co = np.round(np.abs(rng.normal(1.0, 0.3, 600)), 1)  # quantised: many repeats
    co[100:110] = 400.0 * np.exp(-((np.arange(10) - 5) ** 2) / 4)  # a plume
    co[200] = -9999.0
    co[300] = 501.0
    co[301] = 500.0
    flight = flight_of({"co": co, "co2": 420 + rng.normal(0, 1, 600)}, KOLIBRI)
    screened = screen(flight)
    bits = screened["qc_co"].values
    assert {int(i): int(bits[i]) for i in np.flatnonzero(bits)} == {200: MISSING, 300: SATURATED, 301: SATURATED}
    assert not screened["qc_co2"].values.any()
    assert np.isnan(screened["co"].values[200])  # a sentinel is no value
    assert screened["co"].values[300] == 501.0  # a bad value is flagged, not dropped
    assert screened.attrs["level"] == "screened"
    assert flight.attrs["level"] == "raw"
    assert not flight["qc_co"].values.any()


def test_a_sentinel_in_the_air_is_no_temperature() -> None:
    air = {"air_temperature": np.array([20.0, -9999.0, 21.0] * 20), "co": np.ones(60), "co2": np.full(60, 420.0)}
    screened = screen(flight_of(air, KOLIBRI))
    np.testing.assert_array_equal(np.isnan(screened["air_temperature"].values[:3]), [False, True, False])


def test_screening_twice_is_screening_once() -> None:
    rng = np.random.default_rng(1)
    once = screen(flight_of({"co": rng.normal(1, 0.3, 300), "co2": 420 + rng.normal(0, 1, 300)}, KOLIBRI))
    twice = screen(once)
    for name in ("qc_co", "qc_co2"):
        np.testing.assert_array_equal(once[name].values, twice[name].values)


def black_kite(rows: int = 400) -> dict[str, np.ndarray]:
    suite, rng = load_suite("black-kite"), np.random.default_rng(4)
    values = {c.name: c.lower_bound + 120.0 + rng.normal(0, c.noise_sigma or 1.0, rows) for c in suite.channels}
    held = np.repeat(420 + rng.normal(0, 3, rows // 2), 2)
    values |= {"co2_scd30": held, "scd30_temperature": np.repeat(20 + rng.normal(0, 0.1, rows // 2), 2)}
    attenuation = np.linspace(5, 6, rows)
    attenuation[200:] -= 5.5
    status = np.full(rows, 131136.0)
    status[:20] = 131138.0
    values |= {"ma200_uv_atn1": attenuation, "ma200_status": status}
    values["afe_a_temperature"] = np.where(np.arange(rows) < 300, 20.0, 27.0)
    values["li830_cell_temperature"] = np.where(np.arange(rows) < 30, 45.0, 51.5)
    values["pm1_1"] = np.where(np.arange(rows) < 8, 0.0, 20.0)
    return values


def test_instruments_speak_through_their_other_columns() -> None:
    screened = screen(flight_of(black_kite(), load_suite("black-kite")))
    where = {
        name: [int(i) for i in np.flatnonzero(screened[f"qc_{channel}"].values & flag)]
        for name, channel, flag in (
            ("stale", "co2_scd30", STALE),
            ("advance", "bc_uv_1", TAPE_ADVANCE),
            ("startup", "bc_uv_1", STARTUP),
            ("other lamp", "bc_ir_1", TAPE_ADVANCE),
            ("thermal", "co_a", THERMAL_TRANSIENT),
            ("cold cell", "co2_li830", STARTUP),
            ("fan", "pm1_1", STARTUP),
            ("derived", "brc_1", TAPE_ADVANCE),
        )
    }
    assert where["stale"] == list(range(1, 400, 2))
    assert where["advance"] == [200]
    assert where["startup"] == list(range(20))
    assert where["other lamp"] == []  # its own attenuation is not in the flight
    assert where["thermal"] == list(range(300, 400))
    assert where["cold cell"] == list(range(30))
    assert where["fan"] == list(range(8))
    assert where["derived"] == [200]


def test_missing_values_are_neither_low_nor_stale() -> None:
    values = black_kite()
    values["no_a"][50:60] = np.nan
    bits = screen(flight_of(values, load_suite("black-kite")))["qc_no_a"].values[50:60]
    assert (bits & (BELOW_DETECTION | STALE) == 0).all()
    assert (bits & MISSING != 0).all()


def test_a_plume_seen_by_all_channels_is_no_spike() -> None:
    rng = np.random.default_rng(9)
    co, co2 = rng.normal(1, 0.1, 300), 420 + rng.normal(0, 1, 300)
    co[150], co2[150] = 80.0, 520.0
    screened = screen(flight_of({"co": co, "co2": co2}, KOLIBRI))
    assert not (screened["qc_co"].values & SPIKE).any()


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_very_short_flights(rows: int) -> None:
    screened = screen(flight_of({"co": np.ones(rows), "co2": np.full(rows, 420.0)}, KOLIBRI))
    assert screened.sizes["time"] == rows


def test_sentinels_nobody_named_are_missing_and_the_history_counts_them() -> None:
    rng = np.random.default_rng(0)
    co, co2 = rng.normal(1, 0.3, 300), np.round(420 + rng.normal(0, 3, 300))
    co[10:22], co[60], co[::50] = -999.0, -9999.0, 1e38
    co2[40:44] = [65493, 65521, 65530, 65535]
    screened = screen(flight_of({"co": co, "co2": co2}, KOLIBRI))
    gone = {*range(10, 22), 60, *range(0, 300, 50)}
    assert set(np.flatnonzero(screened["qc_co"].values & MISSING).tolist()) == gone
    assert not screened["qc_co"].values[sorted(set(range(300)) - gone)].any()
    assert np.isnan(screened["co"].values[sorted(gone)]).all()
    assert np.flatnonzero(screened["qc_co2"].values).tolist() == [40, 41, 42, 43]
    for line in (
        "co: 19 samples of -9999, -999, 1e+38 taken as missing (sentinel)",
        "co2: 1 sample of 65535 taken as missing (sentinel)",
        "co2: 3 samples of 65493, 65521, 65530 taken as missing (wrapped integer)",
    ):
        assert line in screened.attrs["history"]
    assert screen(screened).attrs["history"].count("taken as missing") == 3


def test_a_sentinel_beyond_the_range_is_missing_not_out_of_range() -> None:
    co = np.random.default_rng(0).normal(1, 0.3, 100)
    co[[5, 7]] = [65535.0, 600.0]
    bits = screen(flight_of({"co": co, "co2": np.full(100, 400.0)}, KOLIBRI))["qc_co"].values
    assert bits[[5, 7]].tolist() == [MISSING, SATURATED | SPIKE]  # nothing beside it


def test_a_stuck_channel_is_flagged_whether_or_not_it_is_slow() -> None:
    slow = KOLIBRI.model_dump()
    slow["family"][0]["channel"][1]["native_rate_hz"] = 0.5
    for suite in (KOLIBRI, Suite.model_validate(slow)):
        rng = np.random.default_rng(0)
        screened = screen(flight_of({"co": rng.normal(1, 0.3, 300), "co2": np.full(300, 150.0)}, suite))
        assert (screened["qc_co2"].values & FLAT_LINE).all()
        assert not screened["qc_co"].values.any()


def test_a_sensor_that_holds_its_value_for_ten_samples_is_not_stuck() -> None:
    slow = KOLIBRI.model_dump()
    slow["family"][0]["channel"][1]["native_rate_hz"] = 0.1
    rng = np.random.default_rng(0)
    held = np.repeat(420 + rng.normal(0, 3, 60), 10)
    screened = screen(flight_of({"co": rng.normal(1, 0.3, 600), "co2": held}, Suite.model_validate(slow)))
    assert not (screened["qc_co2"].values & FLAT_LINE).any()


def test_impossible_values_do_not_hide_the_quantisation_of_the_others() -> None:
    """Many different numbers look like a channel of fine resolution, which may not rest."""
    co = np.repeat([3.0, 4.0, 3.0, 5.0, 4.0], 60)
    for junk in (np.full(60, 600.0), np.linspace(600.0, 900.0, 60)):
        co[:60] = junk
        bits = screen(flight_of({"co": co, "co2": np.linspace(400.0, 401.0, 300)}, KOLIBRI))["qc_co"].values
        assert (bits[:60] == SATURATED).all()
        assert not bits[60:].any()


JUNK = st.one_of(
    st.just(np.nan), st.just(np.inf), st.just(-9999.0), st.just(1e38), st.floats(5001.0, 1e19), st.floats(-1e19, -6.0)
)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["noisy", "quantised", "held", "stuck"]),
    places=st.lists(st.integers(0, 239), min_size=1, max_size=60, unique=True),
    junk=st.lists(JUNK, min_size=2, max_size=12),
)
def test_what_lies_under_a_flag_changes_no_other_flag(kind: str, places: list[int], junk: list[float]) -> None:
    """Missing and impossible values are exchanged for others; every other sample keeps its flags."""
    table = KOLIBRI.model_dump()
    table["family"][0]["channel"][0]["valid_min"] = -5.0
    suite = Suite.model_validate(table)
    rng = np.random.default_rng(1)
    noisy = 40 + rng.normal(0, 2, 240) + 300 * np.exp(-0.5 * ((np.arange(240) - 120) / 5) ** 2)
    noisy[200] = 250.0  # a spike
    co = {
        "noisy": noisy,
        "quantised": np.round(noisy),
        "held": np.repeat(noisy[::4], 4),
        "stuck": np.full(240, 150.0),
    }[kind]
    co2 = 420 + rng.normal(0, 1, 240)
    others = np.setdiff1d(np.arange(240), places)
    flags = []
    for values in (junk[0], junk):
        dirty = co.copy()
        dirty[places] = np.resize(values, len(places))
        screened = screen(flight_of({"co": dirty, "co2": co2}, suite))
        assert (screened["qc_co"].values[places] & NOT_MEASURED != 0).all()
        flags.append((screened["qc_co"].values[others], screened["qc_co2"].values))
    for one, other in zip(*flags, strict=True):
        np.testing.assert_array_equal(one, other)
