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
    pairs = pair_up(record_of("o3", slow, t90_s=60.0), record_of("ref", air), {"o3": "ref"})
    assert pairs.offset_s == 0  # the lag is not taken for a clock error
    np.testing.assert_allclose(pairs.readings["o3"], pairs.air["o3"], atol=1e-6)


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
