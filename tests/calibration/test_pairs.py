"""Records beside a reference: clocks, lags, gaps and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from colocations import START, slow_noise
from pc2dae.arrays import Array
from pc2dae.calibration.pairs import pair_up
from pc2dae.errors import CalibrationError
from pc2dae.flight.schema import new_flight
from pc2dae.response.kernels import Kernel, respond
from suites import make_suite


def record_of(
    name: str, values: np.ndarray, *, rate_hz: float = 1.0, late_s: float = 0.0, **keys: object
) -> xr.Dataset:
    about = {"units": "ppb", "lower_bound": -1e9} | keys
    suite = make_suite({"gas": {name: about}}, rate_hz=rate_hz)
    time = START + (np.arange(len(values)) / rate_hz * 1e9 + late_s * 1e9).astype("timedelta64[ns]")
    return new_flight(time, {name: values}, suite)


def gas(count: int = 3600, memory: float = 0.99) -> Array:
    return 30 + 10 * slow_noise(np.random.default_rng(0), count, memory)


@pytest.mark.parametrize("count", [1800, 9000])
def test_a_clock_seven_minutes_ahead_is_found(count: int) -> None:
    air = gas(count)
    pairs = pair_up(record_of("o3", 2 * air, late_s=420), record_of("ref", air), {"o3": "ref"})
    assert abs(pairs.offset_s - 420) <= pairs.step_s
    both = np.isfinite(pairs.readings["o3"]) & np.isfinite(pairs.air["o3"])
    np.testing.assert_allclose(pairs.readings["o3"][both], 2 * pairs.air["o3"][both], atol=15)
    assert np.corrcoef(pairs.readings["o3"][both], pairs.air["o3"][both])[0, 1] > 0.99


def test_a_known_clock_is_not_searched() -> None:
    air = gas()
    assert pair_up(record_of("o3", air, late_s=420), record_of("ref", air), {"o3": "ref"}, offset_s=0).offset_s == 0


def test_a_slow_sensor_is_compared_with_an_equally_slow_reference() -> None:
    air = gas(memory=0.95)
    slow = respond(air, Kernel(60.0), 1.0)
    pairs = pair_up(record_of("o3", slow, t90_s=60.0, t90_uncertainty_s=1.0), record_of("ref", air), {"o3": "ref"})
    assert pairs.offset_s == 0  # the lag is not taken for a clock error
    np.testing.assert_allclose(pairs.readings["o3"], pairs.air["o3"], atol=1e-6)


def test_an_unstated_lag_is_found_with_the_clock() -> None:
    """A sensor of t90 60 s whose clock is five minutes ahead, and one of 20 s in a tube of 30 s on the same logger."""
    air, noise = gas(memory=0.95), np.random.default_rng(1).normal(0, 0.3, (2, 3600))
    slow = respond(air, Kernel(60.0), 1.0) + noise[0]
    late = np.roll(respond(air, Kernel(20.0), 1.0), 30) + noise[1]
    suite = make_suite({"gas": {name: {"units": "ppb", "lower_bound": -1e9} for name in ("slow", "late")}})
    record = new_flight(START + np.arange(300, 3900) * np.timedelta64(1, "s"), {"slow": slow, "late": late}, suite)
    pairs = pair_up(record, record_of("ref", air), dict.fromkeys(("slow", "late"), "ref"))
    assert abs(pairs.offset_s - 300) <= pairs.step_s
    for name, t90, delay in (("slow", 60.0, 0.0), ("late", 20.0, 30.0)):
        found = pairs.responses[name]
        assert found.t90_s == pytest.approx(t90, abs=2 * found.t90_uncertainty_s)
        assert found.t90_uncertainty_s < 0.15 * t90
        assert found.delay_s == pytest.approx(delay, abs=2 * pairs.step_s)
        both = np.isfinite(pairs.readings[name]) & np.isfinite(pairs.air[name])
        assert (pairs.readings[name] - pairs.air[name])[both].std() < 0.6  # 10 ppb of air
    again = pair_up(record, record_of("ref", air), dict.fromkeys(("slow", "late"), "ref"), like=pairs)
    assert again.responses is pairs.responses


def test_no_lag_is_found_where_there_is_none() -> None:
    """A fast sensor, stamps half a mean apart, a noisy sensor, and one plume alone, whose shape may be chance."""
    air, noise = gas(memory=0.95), np.random.default_rng(1).normal(0, 30, 3600)
    alone = 30 + 10.0 * (np.arange(3600) > 1800)
    for reading, truth in ((air, air), (np.roll(air, 1), air), (respond(air, Kernel(60.0), 1.0) + noise, air),
                           (respond(alone, Kernel(60.0), 1.0) + noise / 6, alone)):  # fmt: skip
        assert pair_up(record_of("o3", reading), record_of("ref", truth), {"o3": "ref"}).responses == {}


def test_units_are_those_of_the_channel() -> None:
    air = gas()
    pairs = pair_up(record_of("o3", air), record_of("ref", air / 1000, units="ppm"), {"o3": "ref"})
    assert pairs.units == {"o3": "ppb"}
    np.testing.assert_allclose(pairs.air["o3"], pairs.readings["o3"])


def test_gaps_are_left_out() -> None:
    air = gas()
    holed = np.where((np.arange(3600) // 300) % 2 == 0, air, np.nan)
    pairs = pair_up(record_of("o3", air), record_of("ref", holed), {"o3": "ref"})
    share = np.isfinite(pairs.air["o3"]).mean()
    assert 0.4 < share < 0.6
    ok = np.isfinite(pairs.air["o3"])
    np.testing.assert_allclose(pairs.air["o3"][ok], pairs.readings["o3"][ok], atol=5)


def test_interfering_gases_are_of_the_family_and_not_carbon() -> None:
    suite = make_suite({"gas": dict.fromkeys(("o3", "no2", "co"), "ppb"), "co2": {"co2": "ppm"}})
    values = {name: gas() for name in suite.names}
    record = new_flight(START + np.arange(3600) * np.timedelta64(1, "s"), values, suite)
    pairs = pair_up(record, record, {name: name for name in suite.names})
    assert pairs.rivals == {"o3": ("no2",), "no2": ("o3",), "co": ("o3", "no2"), "co2": ()}


def test_a_reference_of_another_day_is_refused() -> None:
    with pytest.raises(CalibrationError, match=r"do not overlap; check dates and time zones"):
        pair_up(record_of("o3", gas()), record_of("ref", gas(), late_s=86_400), {"o3": "ref"})


def test_constant_and_short_series_are_refused() -> None:
    with pytest.raises(CalibrationError, match=r"'ref' is constant, 7 ppb; .*--intervals"):
        pair_up(record_of("o3", gas()), record_of("ref", np.full(3600, 7.0)), {"o3": "ref"})
    with pytest.raises(CalibrationError, match="the reading of o3 is constant"):
        pair_up(record_of("o3", np.full(3600, 7.0)), record_of("ref", gas()), {"o3": "ref"})
    few = np.where(np.arange(3600) < 10, gas(), np.nan)
    with pytest.raises(CalibrationError, match="5 common means of 2 s, at least 20 are needed"):
        pair_up(record_of("o3", gas()), record_of("ref", few), {"o3": "ref"})
