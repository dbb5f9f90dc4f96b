"""Whether an estimate of the air can be believed: what a response must not do to a record (numpy only).

The reading that the estimate would have given must be the one that was measured, its area must be that of the reading,
clean air must stay where it was, and air must not go below clean air: with a response that is too slow, or with noise
that is taken for air, the inverse does so after every puff.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Array, Mask, near

_CLEAN = 0.05  # quantile of the reading that is taken as clean air
_IN_PLUME, _MOVING = 5.0, 3.0  # noise levels of a reading, and of its change within a time constant
_HIGH = 0.05  # of the reading's range, from which a fall counts
_FEW = 10  # samples, below which nothing can be said
_AREA = 0.005  # of the excess
_AROUND = 3.0  # time constants around a plume that belong to it
_SURE = 3.0  # standard errors that are allowed everywhere
_FALLS = 0.05  # of the excess, mean residual in falls
_NOISE, _MISFIT = 3.0, 0.2  # typical residual in noise levels, and relative to what the correction changed
_CLEAN_AIR = 0.5, 0.01  # how far clean air may move, in noise levels and in units of the reading's range
_UNDERSHOOT = 0.25  # of what was added above the reading: right responses reach 0.2, wrong ones 0.5 and more
_ROUGH = 1.25  # times the growth of noise that was announced, which is known from an estimated correlation
_DEEP, _DEEP_SHARE = 4.0, 0.005  # uncertainties below bound and clean air, and share of samples


@dataclass(frozen=True)
class CorrectedChannel:
    """A channel whose lag was undone, as arrays (time,) in its units; times are those of the air."""

    reading: Array  # measured
    seen: Mask  # where it was
    response: Array  # the noise-free reading that the estimate would have given
    air: Array  # estimate, before its bound
    sigma: Array  # its random standard uncertainty
    noise: float  # of the reading
    long_noise: float  # standard deviation of the sum of n samples of it over √n
    tau: float  # time constant [samples]
    gain: float  # growth of noise that was announced
    bound: float
    late: float = 0.5  # standard uncertainty of its delay [samples]


def rejection(channel: CorrectedChannel) -> str:
    """Why the estimate cannot be the air, in a few words; empty if it can."""
    c = channel
    known = c.seen & np.isfinite(c.response) & np.isfinite(c.air) & np.isfinite(c.sigma)
    if known.sum() < _FEW:
        return ""
    clean = float(np.quantile(c.response[known], _CLEAN))
    excess = np.where(known, c.response - clean, 0.0)
    residual = np.where(known, c.reading - c.response, 0.0)
    slope = np.gradient(np.interp(np.arange(len(known)), np.flatnonzero(known), c.response[known]))
    extent = float(np.quantile(excess[known], 0.99))
    added = np.where(known, c.air - c.response, 0.0)
    checks = (_misfit(c, known, residual, added), _falls(c, known, excess, residual, added, slope, extent),
              _area(c, known, excess, residual), _clean_air(c, known, excess, slope, extent),
              _undershoot(c, known, clean), _roughness(c, known))  # fmt: skip
    return next((reason for reason in checks if reason), "")


def _misfit(c: CorrectedChannel, known: Mask, residual: Array, added: Array) -> str:
    """Typical residuals, relative to the noise and to what the correction changed."""
    typical = float(np.median(np.abs(residual[known]))) / 0.6745
    if typical <= max(_NOISE * c.noise, _MISFIT * float(np.sqrt(np.mean(added[known] ** 2)))):
        return ""
    return f"the reading is not reproduced: it differs by {typical / c.noise:.1f} times its noise"


def _falls(
    c: CorrectedChannel, known: Mask, excess: Array, residual: Array, added: Array, slope: Array, extent: float
) -> str:
    """Residuals of one sign in falls, beyond what the uncertainty of the delay explains."""
    falls = known & (slope * c.tau < -_MOVING * c.noise) & (excess > max(_IN_PLUME * c.noise, _HIGH * extent))
    if falls.sum() < _FEW:
        return ""
    mean, usual = float(residual[falls].mean()), float(excess[falls].mean())
    explained = _SURE * c.long_noise / falls.sum() ** 0.5 + _SURE * c.late * float(np.abs(slope[falls]).mean())
    if abs(mean) <= max(explained, _FALLS * usual, _MISFIT * abs(float(added[falls].mean())), c.noise / 2):
        return ""
    return f"falls are not reproduced: the reading is {100 * mean / usual:+.1f} % off in them"


def _area(c: CorrectedChannel, known: Mask, excess: Array, residual: Array) -> str:
    """Residuals in plumes, as they are or against those in clean air: what is missing everywhere is no area."""
    around = int(np.ceil(_AROUND * c.tau))
    is_high = near(known & (excess > _MOVING * c.noise), around, around)
    high, calm = known & is_high, known & ~is_high
    if high.sum() < _FEW:
        return ""
    level = float(np.median(residual[calm])) if calm.sum() >= _FEW else 0.0
    total, missing = (float(x[high].sum()) for x in (excess, residual))
    missing = min(missing, missing - level * float(high.sum()), key=abs)
    noise = c.long_noise * max(1.0, float(np.std(residual[high])) / c.noise)  # that of some sensors grows in plumes
    if abs(missing) <= _AREA * total + _SURE * noise * high.sum() ** 0.5:
        return ""
    return f"area is not kept: {100 * missing / total:+.1f} %"


def _clean_air(c: CorrectedChannel, known: Mask, excess: Array, slope: Array, extent: float) -> str:
    calm = known & (excess < _MOVING * c.noise) & (np.abs(slope) * c.tau < c.noise)
    if calm.sum() < _FEW:
        return ""
    moved = float(np.median((c.air - c.response)[calm]))
    if abs(moved) <= max(_CLEAN_AIR[0] * c.noise, _CLEAN_AIR[1] * extent, float(np.median(c.sigma[calm]))):
        return ""
    return f"clean air moved by {moved / c.noise:+.1f} times its noise"


def _undershoot(c: CorrectedChannel, known: Mask, clean: float) -> str:
    """Air below clean air, beyond its uncertainty: how much, and how deep for how long."""
    floor = np.minimum(c.response, clean)
    added = float(np.maximum(c.air - c.response - 2 * c.sigma, 0.0)[known].sum())
    below = float(np.maximum(floor - 2 * c.sigma - c.air, 0.0)[known].sum())
    if below > _UNDERSHOOT * added and below > 0:
        return f"air goes below clean air: by {100 * below / max(added, below):.0f} % of what was added to plumes"
    three = np.convolve(np.where(known, c.air, clean), np.ones(3) / 3, "same")
    deep = known & (three < np.minimum(floor, c.bound) - _DEEP * c.sigma)
    if np.mean(deep[known]) > _DEEP_SHARE:
        return f"air is below its bound by more than {_DEEP:g} sigma in {100 * np.mean(deep[known]):.1f} % of samples"
    return ""


def _roughness(c: CorrectedChannel, known: Mask) -> str:
    before, after = (float(np.abs(np.diff(x[known])).sum()) for x in (c.reading, c.air))
    if after <= _ROUGH * max(c.gain, 1.0) * before:
        return ""
    return f"rougher than announced: {after / before:.1f} times the reading instead of {c.gain:.1f}"
