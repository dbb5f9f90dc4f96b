import numpy as np
import pytest

from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.plumes.baselines import Background, chosen_level, clean_periods, parse_background
from pc2dae.suite import Channel

T = np.arange(1500.0)
X = 100 + 0.01 * T + 50 * np.exp(-0.5 * ((T - 700) / 20) ** 2)
SEEN = np.ones(1500, bool)
CO = Channel(name="co", units="ppb", background=90.0)


@pytest.mark.parametrize(("text", "words"), [
    ("runing", "unknown background 'runing'; known: running,"),
    ("clean air", "unknown background 'clean air'; known: clean-air,"),
    ("percentile:200", "invalid percentile '200'; give a number from 0 to 100"),
    ("arpls", "unknown background 'arpls'; known:"),
    ("running:5", "unknown background 'running:5'"),
])  # fmt: skip
def test_an_unknown_background_lists_the_known_ones_nearest_first(text: str, words: str) -> None:
    with pytest.raises(Pc2daeError, match="^" + words):
        parse_background(text)


def test_constant_backgrounds() -> None:
    low = chosen_level(parse_background("percentile:0"), X, SEEN, CO, periods=[])
    assert low == pytest.approx(np.full(1500, 100.0))
    assert chosen_level(parse_background("stated"), X, SEEN, CO, periods=[]) == pytest.approx(np.full(1500, 90.0))
    with pytest.raises(FlightError, match="states no background for no"):
        chosen_level(Background("stated"), X, SEEN, Channel(name="no", units="ppb"), periods=[])


def test_a_line_through_clean_air() -> None:
    level = chosen_level(Background("clean-air"), X, SEEN, CO, periods=[(0, 301), (1200, 1500)])
    assert level[700] == pytest.approx(107.0, abs=0.01)


def test_clean_air_is_stated_or_found_at_both_ends() -> None:
    time = np.datetime64("2026-01-01T00:00:00", "ns") + T.astype(int) * np.timedelta64(1, "s")
    clean = (T > 20) & (np.abs(T - 700) > 100) & (T < 1490)
    assert clean_periods(time, clean, [], rate_hz=1.0) == [(21, 321), (1190, 1490)]
    assert clean_periods(time, clean, [(time[5], time[50])], rate_hz=1.0) == [(5, 50)]
    with pytest.raises(FlightError, match="no samples of clean air from"):
        clean_periods(time, clean, [(time[5], time[5])], rate_hz=1.0)
    with pytest.raises(FlightError, match="no clean air of a minute"):
        clean_periods(time, clean & (T < 60), [], rate_hz=1.0)
