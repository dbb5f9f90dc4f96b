"""Results for long series are kept, and only for the same series."""

from __future__ import annotations

import numpy as np

from pc2dae.array_cache import LONG, cached_by_content


def test_a_result_is_kept_for_the_same_values_alone() -> None:
    calls: list[int] = []

    @cached_by_content
    def total(x: np.ndarray, ok: np.ndarray) -> float:
        calls.append(len(x))
        return float(x[ok].sum())

    x, ok = np.ones(2 * LONG), np.ones(2 * LONG, bool)
    assert total(x, ok) == total(x.copy(), ok.copy()) == 2 * LONG
    assert len(calls) == 1
    x[7] = 3.0  # in place: the same array with other values
    assert total(x, ok) == 2 * LONG + 2
    assert total(x, x < 2) == 2 * LONG - 1
    assert total(x.astype(np.float32), ok) == 2 * LONG + 2
    assert len(calls) == 4


def test_short_series_are_not_kept() -> None:
    calls: list[int] = []
    count = cached_by_content(lambda x: calls.append(len(x)))
    count(np.ones(LONG))
    count(np.ones(LONG))
    assert calls == [LONG, LONG]
