r"""The limit of falls: no sensor falls faster than its own response, whatever the air does.

Air never goes below background, so after any puff the excess e of a first-order reading decays at best as
:math:`e^{-t/\tau}`, and every observed fall bounds its response from above:

.. math:: t_{90} \le \frac{w \ln 10}{\ln(e_t / e_{t+w})}

One channel is enough, and no assumption about the air but its floor. Falls that pile up at the limit are the sensor's
own; a foot that spreads out is that of the air, and only a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Array, Index, Mask
from pc2dae.response.kernels import LN10

_SPANS = (3, 4, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160)  # samples over which a fall is measured
_FLOOR = 0.05  # quantile of the record that is taken as clean air: too low only makes the limit longer
_ABOVE = 5.0  # noise levels that the foot of a fall lies above the floor
_DEPTH = 0.5  # least ln(e_t / e_{t+w})
_ACCURATE = 0.12  # largest relative error of a fall
_SURE = 2.0  # standard errors between a fall and the limit that it sets
_NEEDED = 3  # falls that must agree on a limit: single ones are glitches
_LEAST = 60  # samples of a record
_REGULAR = 0.7  # share of equal intervals between changes from which a sensor is slower than its grid
_QUARTILE = 0.3186  # of the absolute value of a standard normal variable
_PILE = (0.85, 1.2)  # falls within these factors of the typical fast one pile up …
_FAST = 0.25  # quantile of a pile that is taken as the sensor: the air slows most falls a little
_PILED_SHARE, _PILED = 0.25, 30  # … if they are this share of all, and this many
_MODEL = 0.08  # relative uncertainty of a pile: how far puffs are from steps, and the floor from clean air


@dataclass(frozen=True)
class Falls:
    """The fastest fall of each decline of one or more records: the t90 that it allows, and its relative error."""

    t90_s: Array
    relative_error: Array
    step_s: float  # between samples

    @property
    def limit_s(self) -> float:
        """The largest t90 [s] that the falls allow, with two standard errors; NaN if there are too few."""
        sure = np.sort(self.t90_s / (1 - _SURE * self.relative_error))
        return float(sure[_NEEDED - 1]) if len(sure) >= _NEEDED else np.nan

    @property
    def limit_uncertainty_s(self) -> float:
        """Standard uncertainty of the limit: that of the fall that sets it [s]."""
        if len(self.t90_s) < _NEEDED:
            return np.nan
        sure = self.t90_s / (1 - _SURE * self.relative_error)
        at = np.argsort(sure)[_NEEDED - 1]
        return float(self.t90_s[at] * self.relative_error[at])

    def pile(self) -> tuple[float, float, int]:
        """t90 at which falls pile up, its standard uncertainty [s], and how many do; NaN if they spread out."""
        nothing = np.nan, np.nan, 0
        if len(self.t90_s) < _PILED:
            return nothing
        typical = float(np.quantile(self.t90_s, 0.1))
        for _ in range(3):
            piled = self.t90_s[(self.t90_s > _PILE[0] * typical) & (self.t90_s < _PILE[1] * typical)]
            typical = float(np.quantile(piled, _FAST))
        is_sampled = typical > _NEEDED * self.step_s
        if not is_sampled or len(piled) < max(_PILED, _PILED_SHARE * len(self.t90_s)):
            return *nothing[:2], len(piled)
        return typical, float(np.hypot(_MODEL * typical, np.std(piled) / len(piled) ** 0.5)), len(piled)


NO_FALLS = Falls(np.empty(0), np.empty(0), np.nan)


def pooled(records: Sequence[Falls]) -> Falls:
    """The falls of several records of one sensor."""
    t90, error = (np.concatenate([getattr(r, key) for r in records] or [np.empty(0)])
                  for key in ("t90_s", "relative_error"))  # fmt: skip
    return Falls(t90, error, float(np.median([r.step_s for r in records])) if records else np.nan)


def falls_of(values: Array, valid: Mask, *, sigma: float, rate_hz: float = 1.0) -> Falls:
    """The falls of a channel.

    Args:
        values: The channel (time,), in its own units.
        valid: Mask of observed samples.
        sigma: Noise level, in the channel's units.
        rate_hz: Samples per second [Hz].

    >>> fall = 1000.0 * 10.0 ** (-np.arange(40) / 8.0)  # a tenth every 8 s
    >>> record = np.tile(np.concatenate([np.zeros(60), fall]), 3)
    >>> round(falls_of(record, np.ones(300, dtype=bool), sigma=0.1).limit_s, 1)
    8.0
    """
    at = np.flatnonzero(valid)
    x = np.asarray(values, np.float64)[at]
    new = np.flatnonzero(np.append(True, np.diff(x) != 0)) if len(x) else at
    if len(new) > 1 and np.median(np.diff(new)) > 1 and np.mean(np.diff(new) == np.median(np.diff(new))) > _REGULAR:
        at, x = at[new], x[new]  # stale; values that repeat now and then are coarse
    if len(x) < _LEAST:
        return NO_FALLS
    time = at / rate_hz
    step = float(np.median(np.diff(time)))
    x = _median3(x)
    excess, is_low = x - np.quantile(x, _FLOOR), x <= np.median(x)
    found = [_over(span, excess, time, is_low, sigma, step) for span in _SPANS if span + 2 < len(x)]
    t90, error, first, last = (np.concatenate(column) for column in zip(*found, strict=True))
    apart = _independent(t90 / (1 - _SURE * error), first, last, len(x))
    return Falls(t90[apart], error[apart], step)


def _over(
    span: int, excess: Array, time: Array, is_low: Mask, sigma: float, step_s: float
) -> tuple[Array, Array, Index, Index]:
    """t90, its relative error, first and last sample of the falls over `span` samples.

    Noise is what clean air shows over this span, with what is correlated in it.
    """
    high, low, lasted = excess[:-span], excess[span:], time[span:] - time[:-span]
    calm = np.abs(high - low)[is_low[:-span] & is_low[span:]]
    noise = max(sigma, float(np.quantile(calm, 0.25)) / _QUARTILE / 2**0.5 if len(calm) > 10 else 0.0)
    falling = (low > _ABOVE * noise) & (high > low) & (lasted < 1.01 * span * step_s)
    at = np.flatnonzero(falling).astype(np.int64)
    depth = np.log(high[at] / low[at])
    error = noise * np.hypot(1 / high[at], 1 / low[at]) / np.maximum(depth, 1e-9)
    sure = (error < _ACCURATE) & (depth * (1 - _SURE * error) > _DEPTH)
    at, depth, error = at[sure], depth[sure], error[sure]
    return LN10 * lasted[at] / depth, error, at, at + span


def _independent(limit: Array, first: Index, last: Index, length: int) -> list[int]:
    """The fastest falls that do not overlap."""
    is_taken, kept = np.zeros(length, bool), []
    for k in np.argsort(limit, kind="stable").tolist():
        part = slice(int(first[k]), int(last[k]))
        if not is_taken[part].any():
            is_taken[part] = True
            kept.append(k)
    return kept


def _median3(x: Array) -> Array:
    """Medians of three, which single glitches do not reach."""
    before, after = np.append(x[0], x[:-1]), np.append(x[1:], x[-1])
    return np.asarray(np.maximum(np.minimum(x, np.maximum(before, after)), np.minimum(before, after)))
