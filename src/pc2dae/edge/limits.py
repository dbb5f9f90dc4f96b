"""Saturated samples: lower limits that an estimate may not fall below (numpy only)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import Estimate
from pc2dae.edge.engine import range_end
from pc2dae.edge.lag import shifted
from pc2dae.suite import Suite

SHARE = 0.2  # least standard uncertainty of a lower limit, as a share of its height above the bound


@dataclass(frozen=True)
class LowerLimits:
    """Samples (channel, time) at or beyond the end of their sensor's range: the noise-free reading is not below them.

    The air may lie far above: its standard uncertainty is at least u = max(x − valid_max, 0.2 (x − bound), the amount
    by which the estimate was raised to x).
    """

    is_limit: Mask
    readings: Floats
    doubt: Floats

    @classmethod
    def of(cls, suite: Suite, readings: Floats, is_limit: Mask) -> LowerLimits:
        """Of readings in the units of `suite`."""
        bound = np.array([c.lower_bound for c in suite.channels])[:, None]
        high = range_end(suite)[:, None]
        x = np.where(is_limit, readings, 0.0)
        return cls(is_limit, x, np.maximum(x - high, SHARE * np.abs(x - bound)))

    def early(self, by: NDArray[np.intp]) -> LowerLimits:
        """The limits at the time of the air, which a channel reads `by` samples later."""
        return LowerLimits(*(shifted(x, by, x.dtype.type(0)) for x in (self.is_limit, self.readings, self.doubt)))

    def lift(self, noise_free: Floats) -> Floats:
        """How far noise-free readings lie below the limits."""
        return np.where(self.is_limit, np.fmax(self.readings - noise_free, 0.0), 0.0)

    def raised(self, estimate: Estimate, noise_free: Floats) -> Estimate:
        """The estimate raised by the lift of its `noise_free` readings, with the uncertainty of lower limits."""
        lift = self.lift(noise_free)
        unbounded = estimate.unbounded + lift
        doubt = np.where(self.is_limit, np.maximum(self.doubt, lift), 0.0)
        sigma, systematic = (None if x is None else np.hypot(x, doubt) for x in (estimate.sigma, estimate.systematic))
        value = np.where(self.is_limit, np.maximum(estimate.value, unbounded), estimate.value)
        return Estimate(value, unbounded, sigma, systematic, estimate.response)


def raise_to_limits(
    estimate: Estimate, suite: Suite, values: Floats, is_limit: Mask, delay: NDArray[np.intp]
) -> Estimate:
    """The estimate of a whole record at or above its lower limits; `delay` of each channel in whole samples."""
    if not is_limit.any():
        return estimate
    limits = LowerLimits.of(suite, values, is_limit)
    if estimate.response is None:
        return limits.raised(estimate, estimate.unbounded)
    in_step = shifted(estimate.response, delay, np.nan)
    raised = limits.early(delay).raised(estimate, np.where(np.isfinite(in_step), in_step, estimate.unbounded))
    return replace(raised, response=estimate.response + limits.lift(estimate.response))
