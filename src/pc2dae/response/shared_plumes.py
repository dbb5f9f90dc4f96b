"""Response of a channel relative to a faster one in the same air, from the plumes that both observed.

With the kernel F of the fast channel f and the kernel K of the slow channel y, F∗y = ratio · K∗f(t − delay), which
requires no deconvolution. Emission ratios and backgrounds differ between plumes: both are fitted in each block of the
record, and blocks count by how well they fit (each has its own variance: Σ n·log(residual sum of squares)). The
covariance of t90 and delay is estimated with a bootstrap over blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pc2dae.arrays import Array, Mask
from pc2dae.response.delays import delay_table
from pc2dae.response.kernels import Kernel, respond

_COARSE_S = np.geomspace(1.0, 64.0, 7)
_REACH_S = 8.0  # clocks that could not be aligned are off by a few seconds
_RANGE, _STEPS = 2.8, 15  # the finer grid of t90: a factor to both sides
_FINE_S = np.linspace(-1.5, 1.5, 11)
_BLOCK_S, _SLOW_BLOCK_S = 60.0, 300.0
_SLOW_S = 20.0  # above this a short block's trend would remove part of the response
_LEAST_BLOCK = 20  # samples
_SEEN = 0.05  # least share of the variance that the faster channel explains
_CLEAR = 0.5  # share above which kernels are compared
_BETTER = 0.8  # residual of another kernel relative to that of the stated one, below which the latter does not fit
_DRAWS = 200
_AT_ONCE = 1 << 16  # samples
_FLOOR = np.diag([0.06, 0.1]) ** 2  # of the covariance: a bootstrap over few plumes can be too confident


@dataclass(frozen=True)
class PlumeFit:
    """Response of a channel behind a faster one; NaN if the two are not correlated."""

    log_t90: float
    delay_s: float
    covariance: Array  # of log t90 and delay
    note: str = ""  # why the kernel does not fit

    def with_delay(self, delay_s: float, sigma_s: float) -> PlumeFit:
        """Combined with an independent estimate of the delay, unless the two differ by more than two sigma."""
        off, variance = delay_s - self.delay_s, self.covariance[1, 1] + sigma_s**2
        if not off**2 < 4 * variance:
            return self
        gain = self.covariance[:, 1] / variance
        t90, delay = np.array([self.log_t90, self.delay_s]) + gain * off
        return replace(self, log_t90=t90, delay_s=delay, covariance=self.covariance - variance * np.outer(gain, gain))


def fit_shared_plumes(
    values: Array, valid: Mask, fast: Array, fast_kernel: Kernel, *, sigma: float,
    kernel: Kernel | None = None, delay_s: float = 0.0, rate_hz: float = 1.0,
) -> PlumeFit:  # fmt: skip
    """t90 and delay of a channel from a faster channel in the same air.

    Args:
        values: The channel, in its own units, without gaps.
        valid: Mask of observed samples.
        fast: The faster channel, in its own units, without gaps.
        fast_kernel: Response of the faster channel.
        sigma: Noise level of the channel, in its own units.
        kernel: Response of the channel; its t90 is what is fitted. Default: first order.
        delay_s: Delay behind the faster channel around which is searched [s].
        rate_hz: Samples per second [Hz].

    >>> air = np.random.default_rng(0).lognormal(size=40).repeat(30)
    >>> fast, slow = (respond(air, Kernel(t90)) for t90 in (1.0, 12.0))
    >>> found = fit_shared_plumes(slow, np.ones(1200, dtype=bool), fast, Kernel(1.0), sigma=0.01)
    >>> round(float(np.exp(found.log_t90)))
    12
    """
    kernel = kernel or Kernel(0.0)
    target = respond(values, fast_kernel, rate_hz)
    pair = _Pair.of(target, valid, fast, sigma, _BLOCK_S, rate_hz)
    t90s, delays = pair.around_minimum(kernel, delay_s)
    if t90s[_STEPS // 2] > _SLOW_S:
        pair = _Pair.of(target, valid, fast, sigma, _SLOW_BLOCK_S, rate_hz)
    misfit = pair.misfit(kernel, t90s, delays)
    explained = 1.0 - pair.residual(misfit)
    if not explained > _SEEN:
        return PlumeFit(np.nan, np.nan, np.full((2, 2), np.nan))
    blocks = misfit.shape[2]
    draws = np.random.default_rng(0).multinomial(blocks, np.full(blocks, 1 / blocks), _DRAWS).T.astype(np.float64)
    grid = np.log(t90s), delays
    best, spread = _lowest(misfit.sum(axis=2)[..., None], *grid), _lowest(_summed(misfit, draws), *grid)
    note = _other_kernel(pair, kernel, delay_s, misfit, draws) if explained > _CLEAR else ""
    return PlumeFit(float(best[0, 0]), float(best[1, 0]), np.cov(spread) + _FLOOR, note)


@dataclass(frozen=True)
class _Pair:
    """A channel, filtered with the response of its reference, in blocks without their trends; and the reference."""

    target: Array  # (block, sample)
    weight: Array
    fast: Array
    sigma: float
    rate_hz: float

    @classmethod
    def of(cls, target: Array, valid: Mask, fast: Array, sigma: float, block_s: float, rate_hz: float) -> _Pair:
        length = min(max(round(block_s * rate_hz), _LEAST_BLOCK), len(target))
        weight = _blocks(valid.astype(np.float64), length)
        return cls(_detrended(_blocks(target, length), weight), weight, fast, sigma, rate_hz)

    def around_minimum(self, kernel: Kernel, delay_s: float) -> tuple[Array, Array]:
        """t90 and delays [s] of a finer grid around the best coarse ones."""
        delays = delay_s + np.arange(-_REACH_S, _REACH_S + 1)
        coarse = self.misfit(kernel, _COARSE_S, delays).sum(axis=2)
        row, column = np.unravel_index(np.argmin(coarse), coarse.shape)
        return np.geomspace(_COARSE_S[row] / _RANGE, _COARSE_S[row] * _RANGE, _STEPS), delays[column] + _FINE_S

    def misfit(self, kernel: Kernel, t90s_s: Array, delays_s: Array) -> Array:
        """n·log(1 − share of the block's variance explained), (t90, delay, block), at the best ratio of each block."""
        count = self.weight.sum(axis=1)
        total = (self.weight * self.target**2).sum(axis=1)
        noise = count * self.sigma**2 + 1e-300
        at = _centred(self.weight)
        weights = np.stack([self.weight, self.weight * at, self.weight * self.target], axis=1)
        spread = np.maximum((self.weight * at**2).sum(axis=1), 1e-9)
        out = np.empty((len(t90s_s), len(delays_s), len(count)))
        first, table = delay_table(delays_s * self.rate_hz)
        reach = abs(first) + len(table)
        air = np.pad(self.fast - self.fast.mean(), reach, mode="edge")
        step = max(_AT_ONCE // self.weight.shape[1], 1)
        parts = [slice(start, start + step) for start in range(0, len(count), step)]
        for i, t90_s in enumerate(t90s_s):
            read = respond(air, replace(kernel, t90_s=float(t90_s)), self.rate_hz)
            around = sliding_window_view(read, len(table))[reach + first : reach + first + len(self.fast)]
            for blocks in parts:
                models = self._blocks(around, blocks) @ table  # (block, sample, delay)
                n, whole = count[blocks, None], total[blocks, None]
                level, slope, product = np.moveaxis(weights[blocks] @ models, 1, 0)  # (block, delay)
                square = (self.weight[blocks, None] @ models**2)[:, 0]
                power = square - level**2 / np.maximum(n, 1e-9) - slope**2 / spread[blocks, None]
                power = np.maximum(power, 1e-9 * square + 1e-300)  # the rounding of a constant explains nothing
                left = np.maximum(whole - product**2 / power, 0.0) + noise[blocks, None]
                out[i, :, blocks] = (n * np.log(left / (whole + noise[blocks, None]))).T
        return out

    def _blocks(self, around: Array, blocks: slice) -> Array:
        """Some blocks of the samples around each, (block, sample, tap)."""
        count, length = self.weight.shape
        start, stop, _ = blocks.indices(count)
        return around[start * length : stop * length].reshape(stop - start, length, -1)

    def residual(self, misfit: Array) -> float:
        """Share of the variance in all blocks that the best fit leaves."""
        count, total = self._sizes()
        return float((np.exp(_at_minimum(misfit) / count) * total).sum() / max(total.sum(), 1e-300))

    def least_residual(self) -> float:
        """The share that is noise, which no fit can explain."""
        count, total = self._sizes()
        return float((count * self.sigma**2).sum() / max(total.sum(), 1e-300))

    def _sizes(self) -> tuple[Array, Array]:
        """Samples of each block, and their sum of squares with noise."""
        count = np.maximum(self.weight.sum(axis=1), 1.0)
        return count, (self.weight * self.target**2).sum(axis=1) + count * self.sigma**2


def _summed(misfit: Array, draws: Array) -> Array:
    """Misfit of each draw of blocks, (t90, delay, draw)."""
    return (misfit.reshape(-1, misfit.shape[2]) @ draws).reshape(*misfit.shape[:2], -1)  # one product: 20 times as fast


def _other_kernel(pair: _Pair, kernel: Kernel, delay_s: float, misfit: Array, draws: Array) -> str:
    """A note if a kernel of another kind fits clearly better, in nearly all bootstrap draws."""
    left = pair.residual(misfit)
    if pair.least_residual() > _BETTER**2 * left:
        return ""
    other = Kernel(0.0, "gaussian" if kernel.kind == "first_order" else "first_order")
    fits = misfit, pair.misfit(other, *pair.around_minimum(other, delay_s))
    rest = pair.residual(fits[1])
    stated, better = (_at_minimum(fit) @ draws for fit in fits)
    if rest > _BETTER**2 * left or np.mean(better < stated) < 0.95:
        return ""
    return (
        f"kernel {kernel.kind} does not fit: it leaves {100 * left**0.5:.0f} % of the plumes' amplitude unexplained, "
        f"{other.kind} {100 * rest**0.5:.0f} %"
    )


def _at_minimum(misfit: Array) -> Array:
    """Misfit of each block at the t90 and delay that fit best overall."""
    row, column = np.unravel_index(np.argmin(misfit.sum(axis=2)), misfit.shape[:2])
    return np.asarray(misfit[row, column])


def _blocks(series: Array, length: int) -> Array:
    """The series (…, time) as (…, block, sample), without an incomplete last block."""
    whole = series.shape[-1] // length
    return series[..., : whole * length].reshape(*series.shape[:-1], whole, length)


def _centred(weight: Array) -> Array:
    """Sample number in each block relative to its weighted mean."""
    at = np.arange(weight.shape[1])
    return np.asarray(
        at - (weight * at).sum(axis=1, keepdims=True) / np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)
    )


def _detrended(blocks: Array, weight: Array) -> Array:
    """Each block without its weighted mean and slope."""
    at = _centred(weight)
    left = blocks - (weight * blocks).sum(axis=1, keepdims=True) / np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)
    power = np.maximum((weight * at**2).sum(axis=1, keepdims=True), 1e-9)
    return np.asarray(left - at * (weight * at * left).sum(axis=1, keepdims=True) / power)


def _lowest(surface: Array, *axes: Array) -> Array:
    """Position of the minimum of each surface, (axis, surface), refined by the quadric through its neighbours."""
    flat = np.argmin(surface.reshape(-1, surface.shape[2]), axis=0)
    rows, columns = (
        np.clip(index, 1, len(axis) - 2)
        for index, axis in zip(np.unravel_index(flat, surface.shape[:2]), axes, strict=True)
    )
    near = {(i, j): surface[rows + i, columns + j, np.arange(surface.shape[2])] for i in (-1, 0, 1) for j in (-1, 0, 1)}
    slope = np.stack([near[1, 0] - near[-1, 0], near[0, 1] - near[0, -1]]) / 2
    bend = np.stack([near[1, 0] + near[-1, 0], near[0, 1] + near[0, -1]]) - 2 * near[0, 0]
    twist = (near[1, 1] + near[-1, -1] - near[1, -1] - near[-1, 1]) / 4
    curved = bend[0] * bend[1] - twist**2
    is_bowl = (curved > 0) & (bend[0] > 0)
    step = np.where(is_bowl, (twist * slope[::-1] - bend[::-1] * slope) / np.where(is_bowl, curved, 1.0), 0.0)
    at = np.stack([rows, columns]) + np.clip(step, -1.0, 1.0)
    return np.stack([np.interp(x, np.arange(len(axis)), axis) for x, axis in zip(at, axes, strict=True)])
