import numpy as np

from pc2dae.flight.schema import MISSING
from pc2dae.simulate.clocks import Clock, Sampling, lost_seconds, on_seconds, sampling

START = np.datetime64("2025-10-06T18:00:00", "ns")


def test_a_clock_shows_offset_and_drift() -> None:
    shown = Clock(offset_s=2.5, drift_ppm=100.0).shows(START, np.array([0.0, 1000.0]))
    assert (shown - START).astype("timedelta64[ms]").astype(int).tolist() == [2500, 1_002_600]


def test_rows_on_seconds_are_averaged_and_gaps_bridged() -> None:
    times, values = np.array([0.2, 0.7, 3.1, 3.2]), np.array([1.0, 3.0, 8.0, np.nan])
    assert on_seconds(times, values, 4).tolist() == [2.0, 4.0, 6.0, 8.0]
    assert lost_seconds(Sampling(times, []), 4).tolist() == [0, MISSING, MISSING, 0]


def test_a_logger_keeps_time_and_loses_rows() -> None:
    rows = sampling(np.random.default_rng(1), 1000, gaps_per_hour=40.0, repeats_per_hour=40.0)
    t = rows.times_s
    assert np.all(np.diff(t) >= 0)
    assert t[0] >= 0
    assert t[-1] < 1000
    assert np.sum(np.diff(t) == 0) > 0  # rows written twice
    for begin, end in rows.lost:
        assert not np.any((t >= begin) & (t < end))
