import numpy as np
import pytest

from pc2dae.flags import STALE
from pc2dae.flight.stream import Stream
from pc2dae.simulate import SimulatedFlight


def stream(flight: SimulatedFlight, key: str) -> Stream:
    return next(s for s in flight.streams if s.key == key)


def test_every_second_scd30_row_is_a_repeat(flown: SimulatedFlight) -> None:
    columns = stream(flown, "scd30").columns
    same = np.all([np.diff(columns[name][10:]) == 0 for name in columns], axis=0)
    assert np.mean(same) == pytest.approx(0.5, abs=0.03)
    stale = flown.truth["co2_scd30_fault"].values[20:] & STALE > 0
    assert np.mean(stale) == pytest.approx(0.5, abs=0.03)


def test_scd30_is_slow_and_li830_is_not(flown: SimulatedFlight) -> None:
    air = flown.truth["co2_li830_ambient"].values
    slow, quick = (np.ptp(flown.truth[f"{n}_response"].values) / np.ptp(air) for n in ("co2_scd30", "co2_li830"))
    assert slow < 0.6 * quick
    assert quick > 0.6


def test_particle_counters_give_whole_numbers(flown: SimulatedFlight) -> None:
    for unit in ("1", "2"):
        columns = stream(flown, f"pms5003/{unit}").columns
        assert all(np.all(v == np.rint(v)) and v.min() >= 0 and v.max() <= 1000 for v in columns.values())
        assert np.all(columns["pm25"][:6] == 0)


def test_gps_and_estimator_agree(flown: SimulatedFlight) -> None:
    columns = stream(flown, "ardupilot").columns
    assert columns["ekf_speed"].mean() == pytest.approx(columns["ground_speed"].mean(), rel=0.004)
    assert not np.array_equal(columns["ekf_speed"], columns["ground_speed"])


def test_instruments_share_the_pressure_of_a_climb(flown: SimulatedFlight) -> None:
    clocks = {}
    for key, column in (
        ("ma200", "internal_pressure"),
        ("li830", "cell_pressure"),
        ("bme280", "pressure"),
        ("ardupilot", "baro_pressure"),
    ):
        s = stream(flown, key)
        clocks[key] = np.interp(
            np.arange(30, 500), (s.time - flown.truth["time"].values[0]).astype(np.int64) / 1e9, s.columns[column]
        )
    for values in clocks.values():
        assert np.corrcoef(values, clocks["ardupilot"])[0, 1] > 0.98
        assert np.ptp(values) > 1.0  # a climb of tens of metres is several hPa


def test_clocks_are_wrong_but_for_gps(flown: SimulatedFlight) -> None:
    import json

    offsets = json.loads(flown.truth.attrs["clock_offset_s"])
    assert offsets.pop("ardupilot") == 0
    assert len(offsets) == 8
    assert all(0 < abs(offset) < 8 for offset in offsets.values())
    assert stream(flown, "ardupilot").clock == "gps"
