"""Values in units of their noise, inside the graph: what lets one loss serve channels of very different noise."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from pc2dae.model.blocks import HUGE, Units

LARGEST = 1e5  # noise units; a channel that spans more is counted in units of 1e-5 of its span, which float32 resolves
LOCAL = 9  # samples of the moving average that separates detail from level
RANGE = 3.0  # noise units by which an estimate may leave the range of its window's samples


class NoiseUnits(Units):
    r"""Physical units ↔ noise units.

    .. math:: x = (v - b) / \sigma, \qquad y = \max(b + \sigma\,\tilde y,\; b)

    with the lower bound b and the noise σ of each channel of a window. Samples that are masked or not finite hold the
    last valid value, those before the first valid sample the first.
    """

    def into(self, values: Tensor, valid: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Values in noise units, the weight (1 or 0) of each sample, both (batch, channel, time), and the unit used.

        A channel without a valid sample is zero.
        """
        good = (valid > 0.5) & (values.abs() <= HUGE)
        above = torch.where(good, values, self.bound) - self.bound
        unit = self.unit(above, noise)
        return _held(above / unit, good), good.to(values.dtype), unit

    def scaled(self, values: Tensor, unit: Tensor) -> Tensor:
        """Finite physical values in noise units."""
        return (values - self.bound) / unit

    def out(self, scaled: Tensor, unit: Tensor) -> Tensor:
        """Physical values at or above the bound, finite for any noise."""
        return torch.maximum((self.bound + unit * scaled).clamp(max=HUGE), self.bound)

    def unit(self, above: Tensor, noise: Tensor) -> Tensor:
        """σ of each window and channel, (batch, channel, 1); never so small that float32 loses a noise unit."""
        known = torch.where((noise > 0) & (noise <= HUGE), noise, 0.0)[:, :, None]
        span = above.abs().amax(dim=-1, keepdim=True) / LARGEST
        unit = torch.maximum(known, span)
        return torch.where(unit > 0, unit, 1.0)


def features(x: Tensor) -> Tensor:
    r"""What a network sees of values in noise units.

    .. math:: u = \mathrm{asinh}(x - \bar x_9) + \mathrm{asinh}(\bar x_9 - \mathrm{median}\,x)

    Detail and level are compressed separately: on a plume of a thousand σ, asinh of the sum would hide the noise.
    """
    local = F.avg_pool1d(F.pad(x, (LOCAL // 2, LOCAL // 2), mode="replicate"), LOCAL, 1)
    median = x.sort(dim=-1).values[..., x.shape[-1] // 2][..., None]
    return torch.asinh(x - local) + torch.asinh(local - median)


def in_range(y: Tensor, x: Tensor) -> Tensor:
    """y kept within the range of its window's samples x, widened by three noise units; finite for any finite x."""
    low, high = x.amin(dim=-1, keepdim=True) - RANGE, x.amax(dim=-1, keepdim=True) + RANGE
    return torch.minimum(torch.maximum(torch.where(y.abs() <= HUGE, y, x), low), high)


def _held(x: Tensor, good: Tensor) -> Tensor:
    """x with the last good value where it is not good, or the next one, or 0; within a window of 128 samples."""
    known, length = good.to(x.dtype), x.shape[-1]
    x = x * known
    for forward in (True, False):
        for step in (1, 2, 4, 8, 16, 32, 64):
            pad = (step, 0) if forward else (0, step)
            start = 0 if forward else step
            other, other_known = (F.pad(a, pad)[..., start : start + length] for a in (x, known))
            x, known = torch.where(known > 0, x, other), torch.maximum(known, other_known)
    return x
