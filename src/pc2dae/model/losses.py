"""The terms of the training loss, all in scaled units.

Each term is a mean over the weighted samples and channels of a family, summed over families: plain sums would weight a
family by its number of channels. The paper's three terms can also be reduced to the sums that it prints (`channel_mean`
and `window_sum`). Arrays are (batch, channel, time); `families` are channel counts in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_CORNER = 0.25  # of Nyquist: the paper, too, treats everything above it as noise
_FAINT = 1e-3  # power of a sine with 1/2000 of the scale in a 128-window: lower power is not matched
_ABOVE_FLOOR = 4.0  # least ratio of a bin's power to the noise floor for it to be matched

Reduction = Callable[[Tensor, Tensor, Sequence[int]], Tensor]


def family_mean(x: Tensor, weight: Tensor, families: Sequence[int]) -> Tensor:
    """Σ_g Σ w·x / Σ w over the samples and channels of each family g; a family without weight adds nothing."""
    parts = zip(torch.split(x * weight, list(families), dim=1), torch.split(weight, list(families), dim=1), strict=True)
    return torch.stack([a.sum() / w.sum().clamp(min=1.0) for a, w in parts]).sum()


def channel_mean(x: Tensor, weight: Tensor, families: Sequence[int]) -> Tensor:
    """Σ_g 1/|C_g| Σ w·x of a window, mean over the windows: the paper's reconstruction loss as printed."""
    parts = torch.split(x * weight, list(families), dim=1)
    return torch.stack([part.sum() / part.shape[1] for part in parts]).sum() / len(x)


def window_sum(x: Tensor, weight: Tensor, families: Sequence[int]) -> Tensor:
    """Σ_g Σ w·x of a window, mean over the windows: the paper's physics losses as printed."""
    return (x * weight).sum() / len(x)


def reconstruction(
    estimate: Tensor, target: Tensor, weight: Tensor, families: Sequence[int], *, reduce: Reduction = family_mean
) -> Tensor:
    """Σ_g mean |ŷ − y|; where the weight is 0 the target is ignored."""
    return reduce((estimate - _known(target, weight)).abs(), weight, families)


def positivity(estimate: Tensor, weight: Tensor, families: Sequence[int], *, reduce: Reduction = family_mean) -> Tensor:
    """Σ_g mean ReLU(−ŷ): identically zero behind a softplus."""
    return reduce(torch.relu(-estimate), weight, families)


def variation(estimate: Tensor, weight: Tensor, families: Sequence[int], *, reduce: Reduction = family_mean) -> Tensor:
    """Σ_g mean |ŷ(t+1) − ŷ(t)|, each step weighted by the mean weight of its two ends."""
    ends = (weight[..., 1:] + weight[..., :-1]) / 2
    return reduce((estimate[..., 1:] - estimate[..., :-1]).abs(), ends, families)


def mass(estimate: Tensor, target: Tensor, weight: Tensor, families: Sequence[int]) -> Tensor:
    """Σ_g mean |⟨ŷ⟩ − ⟨y⟩| of window means: conserves the mass in a window."""
    count = weight.sum(dim=-1, keepdim=True)
    error = ((estimate - _known(target, weight)) * weight).sum(dim=-1, keepdim=True) / count.clamp(min=1.0)
    return family_mean(error.abs(), (count > 0).to(error.dtype), families)


def spectral(estimate: Tensor, target: Tensor, weight: Tensor, families: Sequence[int]) -> Tensor:
    """Σ_g mean |log P(ŷ) − log P(y)| below the noise corner, where the target's power exceeds its noise floor."""
    count = weight.sum(dim=-1, keepdim=True).clamp(min=1.0)
    powers = []
    for x in (estimate, _known(target, weight)):
        anomaly = (x - (x * weight).sum(dim=-1, keepdim=True) / count) * weight
        powers.append(torch.fft.rfft(anomaly).abs().square()[..., 1:])
    ours, theirs = powers
    bins = theirs.shape[-1]
    floor = theirs[..., bins // 2 :].mean(dim=-1, keepdim=True)
    low = torch.arange(bins, device=theirs.device) < max(1, int(_CORNER * bins))
    counts = ((theirs > _ABOVE_FLOOR * floor + _FAINT) & low).to(theirs.dtype)
    return family_mean(((ours + floor + _FAINT).log() - (theirs + floor + _FAINT).log()).abs(), counts, families)


def _known(target: Tensor, weight: Tensor) -> Tensor:
    return torch.where(weight > 0, target, 0.0)
