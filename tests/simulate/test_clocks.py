import numpy as np

from pc2dae.flags import MISSING
from pc2dae.simulate.clocks import Clock, Sampling, lost_seconds, on_seconds, response_on_seconds, sampling

START = np.datetime64("2025-10-06T18:00:00", "ns")


def test_a_clock_shows_offset_and_drift() -> None:
    shown = Clock(offset_s=2.5, drift_ppm=100.0).shows(START, np.array([0.0, 1000.0]))
    assert (shown - START).astype("timedelta64[ms]").astype(int).tolist() == [2500, 1_002_600]


def test_rows_on_seconds_are_averaged_and_gaps_bridged() -> None:
    times, values = np.array([0.2, 0.7, 3.1, 3.2]), np.array([1.0, 3.0, 8.0, np.nan])
    assert on_seconds(times, values, 4).tolist() == [2.0, 4.0, 6.0, 8.0]
    assert lost_seconds(Sampling(times, []), 4).tolist() == [0, MISSING, MISSING, 0]


def test_a_sensor_reads_on_where_its_logger_drops_out() -> None:
    rows = Sampling(np.array([0.5, 1.5, 2.5, 3.5, 3.7, 5.5]), [(1.2, 3.6)])
    assert rows.times_s.tolist() == [0.5, 3.7, 5.5]
    assert lost_seconds(rows, 6).tolist() == [0, MISSING, MISSING, 0, MISSING, 0]
    values = np.array([1.0, 7.0, 9.0, 100.0, 4.0, 2.0])  # second 3 is in the log, with one of its two rows
    assert response_on_seconds(rows, values, 6).tolist() == [1.0, 7.0, 9.0, 4.0, 3.0, 2.0]


def test_a_logger_keeps_time_and_loses_rows() -> None:
    rows = sampling(np.random.default_rng(1), 1000, gaps_per_hour=40.0, repeats_per_hour=40.0)
    t = rows.times_s
    assert np.all(np.diff(t) >= 0)
    assert t[0] >= 0
    assert t[-1] < 1000
    assert np.sum(np.diff(t) == 0) > 0  # rows written twice
    for begin, end in rows.lost:
        assert not np.any((t >= begin) & (t < end))
    assert np.unique(np.round(rows.every_s - rows.every_s[0])).tolist() == list(range(999))  # as if none were lost
