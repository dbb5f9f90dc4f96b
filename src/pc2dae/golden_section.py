"""The minimum of a function of one variable (numpy alone: importing scipy.optimize takes longer than the search)."""

from __future__ import annotations

from collections.abc import Callable

_SHARE = (5**0.5 - 1) / 2


def least(function: Callable[[float], float], low: float, high: float, *, tolerance: float) -> float:
    """Where a function with one minimum between `low` and `high` is least, by golden-section search.

    >>> round(least(lambda x: (x - 0.3) ** 2, 0.0, 1.0, tolerance=1e-6), 4)
    0.3
    """
    left, right = high - _SHARE * (high - low), low + _SHARE * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > tolerance:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _SHARE * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _SHARE * (high - low)
            at_right = function(right)
    return (low + high) / 2
