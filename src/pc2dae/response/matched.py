"""Matching of response times: slow down fast channels before comparing channels sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.response.kernels import Kernel, memory, respond

Values = NDArray[np.floating[Any]]


def match_response(values: Values, t90_s: float, target_t90_s: float, *, rate_hz: float = 1.0) -> Array:
    """Reading of a first-order channel if it had a longer response time.

    A channel x = a₁x₋₁ + (1 − a₁)u, a = 10^(−1/(t90·rate)), is deconvolved and low-pass filtered with a₂ in one step:
    y = a₂y₋₁ + (1 − a₂)/(1 − a₁)·(x − a₁x₋₁). For a₂ > a₁ the combined filter always smooths.

    Args:
        values: The channel (time,), in any units, without gaps.
        t90_s: Its response time [s].
        target_t90_s: The longer response time [s].
        rate_hz: Samples per second [Hz].

    >>> match_response(np.array([0.0, 1.0, 1.0]), 0.0, 1.0).round(2).tolist()
    [0.0, 0.9, 0.99]
    """
    x = np.asarray(values, np.float64)
    fast, slow = (memory(t90, rate_hz) for t90 in (t90_s, target_t90_s))
    if slow <= fast or len(x) == 0:
        return x
    air = np.append(x[0], (x[1:] - fast * x[:-1]) / (1 - fast))
    return respond(air, Kernel(target_t90_s), rate_hz)
