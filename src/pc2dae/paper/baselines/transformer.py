"""A small transformer autoencoder."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    """Two encoder layers around a bottleneck, sinusoidal positions: 19,167 parameters."""

    def __init__(self, channels: int, *, width: int = 32, heads: int = 4, inner: int = 64, middle: int = 16) -> None:
        super().__init__()
        self.read_in = nn.Linear(channels, width)
        self.encoder = nn.TransformerEncoderLayer(width, heads, inner, batch_first=True)
        self.narrow = nn.Linear(width, middle)
        self.widen = nn.Linear(middle, width)
        self.decoder = nn.TransformerEncoderLayer(width, heads, inner, batch_first=True)
        self.read_out = nn.Linear(width, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channel, time) → the same."""
        h = self.read_in(x.transpose(1, 2))
        h = self.encoder(h + positions(h.shape[1], h.shape[2]).to(h))
        h = self.decoder(self.widen(self.narrow(h)))
        y: Tensor = self.read_out(h)
        return y.transpose(1, 2)


def positions(length: int, width: int) -> Tensor:
    """sin and cos of t/10000^(2i/width), (length, width) (Vaswani et al. 2017, arXiv:1706.03762)."""
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angle = torch.arange(length)[:, None] * rate
    return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(length, width)
