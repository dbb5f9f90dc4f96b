from __future__ import annotations

import numpy as np
import pytest

from pc2dae.flags import BELOW_DETECTION, INTERPOLATED, MISSING, SPIKE, STALE
from pc2dae.view.flags import flag_counts, flag_spans, kinds, runs_of


def test_the_most_severe_kind_of_flag_wins() -> None:
    bits = np.array(
        [0, MISSING | SPIKE, SPIKE | STALE, STALE | BELOW_DETECTION, BELOW_DETECTION, INTERPOLATED], np.int32
    )
    assert kinds(bits).tolist() == [0, 1, 2, 3, 4, 1]
    assert flag_counts(bits) == {"missing": 1, "stale": 2, "spike": 2, "below detection": 2, "interpolated": 1}


def test_flags_are_stretches_and_never_too_many() -> None:
    time = np.arange(10_000, dtype=np.int64) * 1000
    bits = np.zeros(10_000, np.int32)
    bits[10:12], bits[20] = 1, 4
    assert flag_spans(bits, time) == [(10_000, 12_000, 1, "missing", 1.0), (20_000, 21_000, 2, "out of range", 1.0)]
    bits[::2] |= 2  # stale
    bits[1::4] |= 1024  # interpolated
    spans = flag_spans(bits, time)
    assert len(spans) <= 300
    assert {span[2] for span in spans} >= {1, 3}
    shares = {span[2]: span[4] for span in spans}  # joined ones say how much of them is flagged
    assert shares[3] == pytest.approx(0.5, abs=0.01)


def test_runs_of_equal_numbers() -> None:
    assert runs_of(np.array([0, 2, 2, 0, 1, 3, 3])).tolist() == [[1, 3, 2], [4, 5, 1], [5, 7, 3]]
    assert runs_of(np.zeros(4, int)).tolist() == []
