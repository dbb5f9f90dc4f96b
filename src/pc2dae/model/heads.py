"""The decoder head of one family: attention, environment, projection, positivity, smoothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ChannelAttention(nn.Module):
    r"""Which features matter in this window.

    .. math:: h \mapsto h \cdot \sigma\big(W_2\,\mathrm{ELU}(W_1\,\bar h)\big)

    with h̄ the mean over time, weighted by the share of the family's channels that are valid at each sample.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width, bias=False)
        self.second = nn.Linear(width, width, bias=False)

    def forward(self, h: Tensor, weight: Tensor) -> Tensor:
        """(batch, width, time) with weight (batch, 1, time) → (batch, width, time)."""
        total = weight.sum(dim=-1)
        mean = (h * weight).sum(dim=-1) / total.clamp(min=1e-6)
        mean = torch.where(total > 0, mean, h.mean(dim=-1))
        gate = torch.sigmoid(self.second(F.elu(self.first(mean))))
        return h * gate[:, :, None]


class TemporalSmoothing(nn.Module):
    r"""A learnable average over five samples that keeps positive values positive and a constant constant.

    .. math:: y \mapsto \alpha\,(K * y) + (1 - \alpha)\,y, \qquad K = \mathrm{softmax}(k),\; \alpha = \sigma(\alpha_0)

    One kernel per channel and one α (`blends` = 1) or one per channel; edges are replicated.
    """

    def __init__(self, channels: int, *, kernel: int = 5, blends: int = 1) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(channels, kernel))
        self.blend = nn.Parameter(torch.zeros(blends))

    @property
    def kernel(self) -> Tensor:
        """Weights (channel, kernel), each ≥ 0, summing to 1 per channel."""
        return torch.softmax(self.logits, dim=-1)

    def forward(self, y: Tensor) -> Tensor:
        """(batch, channel, time) → (batch, channel, time)."""
        channels, size = self.logits.shape
        smooth = F.conv1d(F.pad(y, (size // 2, size // 2), mode="replicate"), self.kernel[:, None], groups=channels)
        alpha = torch.sigmoid(self.blend)[:, None]
        return alpha * smooth + (1 - alpha) * y


class FamilyHead(nn.Module):
    r"""From shared features to one family's scaled concentrations.

    .. math:: \hat y = S\,\mathrm{softplus}_\beta\big(x + W (A h + E e) + w\big)

    with attention A, environment projection E, biased 1×1 projection W and smoothing S; x is the measurement that the
    head corrects, or 0 in the paper's literal reading, where it redraws it.
    """

    def __init__(self, width: int, channels: int, *, environment: int, beta: float) -> None:
        super().__init__()
        self.attention = ChannelAttention(width)
        self.environment = nn.Conv1d(environment, width, 1, bias=False)
        self.projection = nn.Conv1d(width, channels, 1)
        self.smoothing = TemporalSmoothing(channels)
        self.beta = beta

    def forward(self, h: Tensor, e: Tensor, weight: Tensor, x: Tensor | float = 0.0) -> Tensor:
        """Features (batch, width, time), embedding (batch, D, time), weights (batch, channel, time) → (…, time) ≥ 0."""
        h = self.attention(h, weight.mean(dim=1, keepdim=True)) + self.environment(e)
        y: Tensor = self.smoothing(F.softplus(x + self.projection(h), beta=self.beta))
        return y
