from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from pc2dae.align.clocks import compare, find_clocks
from pc2dae.align.delays import response_delays
from pc2dae.errors import LogError
from pc2dae.flight.schema import new_flight
from pc2dae.flight.stream import Stream
from suites import make_suite

T0 = np.datetime64("2024-04-09T20:00:00", "ns")


def walk(rng: np.random.Generator, count: int, step: float = 0.2) -> np.ndarray:
    """Climbs and descents at 20 Hz: a smoothed random walk that stays near its middle."""
    return lfilter([0.02], [1, -0.98], lfilter([step], [1, -0.999], rng.normal(0, 1, count)))


def stream(instrument: str, seconds: np.ndarray, clock: str = "rtc", **columns: np.ndarray) -> Stream:
    time = T0 + np.rint(seconds * 1e9).astype(np.int64).astype("timedelta64[ns]")
    return Stream(instrument, "", time, columns, dict.fromkeys(columns, "1"), clock=clock)


def pair(
    seed: int, offset_s: float, *, drift_ppm: float = 0.0, minutes: float = 20, lag_s: float = 0.0
) -> tuple[Stream, Stream]:
    rng = np.random.default_rng(seed)
    fine = np.arange(0, minutes * 60, 0.05)
    pressure = 970 + walk(rng, len(fine))
    t = np.arange(0.3, minutes * 60 - 1, 1.0)
    a = np.exp(-0.05 / lag_s) if lag_s else 0.0
    felt = lfilter([1 - a], [1, -a], pressure - pressure[0]) + pressure[0]
    mine = np.interp(t, fine, pressure) + rng.normal(0, 0.02, len(t))
    theirs = np.interp(t, fine, felt) - 1.7 + rng.normal(0, 0.02, len(t))
    gps = stream("ardupilot", t, "gps", baro_pressure=mine, temperature=mine)
    return gps, stream("bme280", t * (1 + drift_ppm * 1e-6) + offset_s, pressure=theirs, temperature=theirs)


@pytest.mark.parametrize("offset", [-37.4, -3.2, 0.0, 0.6, 5.9])
def test_an_offset_is_found_from_pressure(offset):
    gps, other = pair(1, offset)
    fit = compare(gps, other, "pressure")
    assert fit is not None
    assert fit.found
    assert fit.offset_s == pytest.approx(offset, abs=0.1)
    assert np.abs(fit.corrected(other).time - gps.time).max() < np.timedelta64(150, "ms")


@pytest.mark.parametrize("offset", [-560.0, 95.3, 240.0])
def test_minutes_are_found_from_pressure(offset):
    gps, other = pair(6, offset, minutes=30)
    fit = compare(gps, other, "pressure")
    assert fit is not None
    assert fit.offset_s == pytest.approx(offset, abs=0.1)
    assert not compare(gps, pair(1006, offset, minutes=30)[1], "pressure").found
    halved = Stream(other.instrument, "", other.time, {"pressure": other.columns["pressure"] / 2}, other.units)
    assert not compare(gps, halved, "pressure").found  # not the same pressure


def test_a_stated_offset_is_applied_and_used_as_reference():
    gps, other = pair(7, 700.0)  # more than is searched
    lone = stream("pms5003", (gps.time - T0).astype(np.int64) / 1e9 + 700.0, temperature=other.columns["temperature"])
    assert [fit.found for fit in find_clocks([gps, other, lone])] == [True, False, False]
    fits = find_clocks([gps, other, lone], {"bme280": 700.0, "pms5003": 0.0})
    assert [(fit.offset_s, fit.by) for fit in fits[1:]] == [(700.0, "stated offset"), (0.0, "stated offset")]
    assert np.abs(fits[1].corrected(other).time - gps.time).max() < np.timedelta64(1, "ms")
    fits = find_clocks([gps, other, lone], {"bme280": 700.0, "ardupilot": -1.0})
    assert fits[0].offset_s == -1.0
    with pytest.raises(LogError, match=r"clock offset of 'bme': no such instrument; known: bme280, "):
        find_clocks([gps, other], {"bme": 5.0})
    with pytest.raises(LogError, match=r"'bme280': nan is not a number of seconds; .* negative if behind"):
        find_clocks([gps, other], {"bme280": float("nan")})


def test_stamps_cut_to_whole_seconds_count_as_their_middle():
    gps, other = pair(2, 3.2)
    cut = Stream("bme280", "", other.time.astype("datetime64[s]").astype("datetime64[ns]"), other.columns, other.units)
    fit = compare(gps, cut, "pressure")
    assert fit is not None
    assert abs(fit.offset_s - 3.2) <= 0.55  # cutting at one phase loses between 0 and 1 s
    assert np.abs(fit.corrected(cut).time - gps.time).max() < np.timedelta64(150, "ms")


def test_independent_records_are_never_corrected():
    found = []
    for seed in range(40):
        gps, _ = pair(seed, 0.0)
        _, other = pair(seed + 1000, 0.0)
        fit = compare(gps, other, "pressure")
        assert fit is not None
        found.append(fit.found)
    assert not any(found)


@pytest.mark.parametrize("minutes", [10, 20, 60])
def test_climbs_of_two_aircraft_are_never_taken_for_one(minutes):
    """Random walks, smooth enough that two of them often look alike."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        t = np.arange(0.0, minutes * 60.0)
        steps = rng.normal(0, 1, (2, len(t)))
        one, other = lfilter([0.05], [1, -0.95], np.cumsum(steps, axis=1)) + rng.normal(0, 0.02, steps.shape)
        assert not compare(stream("a", t, pressure=950 + one), stream("b", t, pressure=950 + other), "pressure").found


def test_a_slow_thermometer_is_not_a_wrong_clock():
    gps, other = pair(3, 0.0, lag_s=15.0)
    fit = compare(gps, other, "temperature")
    assert fit is not None
    assert not fit.found
    assert fit.offset_s == 0.0


def test_drift_is_found_on_a_long_record():
    gps, other = pair(4, 2.0, drift_ppm=60.0, minutes=400)
    fit = compare(gps, other, "pressure")
    assert fit is not None
    assert fit.drift_ppm == pytest.approx(60.0, abs=6.0)
    assert fit.offset_s == pytest.approx(2.0, abs=0.3)


def test_a_chain_reaches_instruments_that_do_not_share_with_gps():
    gps, _ = pair(5, 0.0)
    hub_time = (gps.time - T0).astype(np.int64) / 1e9
    rng = np.random.default_rng(9)
    humidity = 40 + walk(rng, len(hub_time) * 20)[::20]
    hub = stream("bme280", hub_time + 4.0, pressure=gps.columns["baro_pressure"], humidity=humidity)
    leaf = stream("scd30", hub_time - 2.5, humidity=humidity + rng.normal(0, 0.01, len(humidity)))
    alone = stream("pms5003", hub_time, pm1=np.ones(len(hub_time)))
    fits = {
        fit.key: fit
        for fit in find_clocks(
            [
                alone,
                leaf,
                hub,
                Stream("ardupilot", "", gps.time, {"baro_pressure": gps.columns["baro_pressure"]}, {}, clock="gps"),
            ]
        )
    }
    assert fits["bme280"].offset_s == pytest.approx(4.0, abs=0.2)
    assert fits["scd30"].offset_s == pytest.approx(-2.5, abs=0.3)
    assert not fits["pms5003"].found
    assert fits["ardupilot"].by == "GPS time"


def test_response_delay_is_reported():
    suite = make_suite(
        {"g": {"quick": {"units": "ppb", "t90_s": 1}, "slow": {"units": "ppb", "t90_s": 9}, "other": "ppb"}}, name="s"
    )
    rng = np.random.default_rng(0)
    smoke = np.convolve(rng.random(900) > 0.98, np.ones(9), "same") * 50.0
    values = {
        "quick": smoke + rng.normal(0, 1, 900),
        "slow": np.roll(smoke, 7) + rng.normal(0, 1, 900),
        "other": rng.normal(0, 1, 900),
    }
    flight = new_flight(T0 + np.arange(900) * np.timedelta64(1, "s"), values, suite)
    assert response_delays(flight) == {"quick": 0.0, "slow": 7.0}
