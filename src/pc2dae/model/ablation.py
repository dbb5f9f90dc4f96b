"""Lean with one part taken away, and lean and wide with each other's settings: which of them does the work?"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from pc2dae.model.heads import FamilyHead
from pc2dae.model.pc2dae import LEAN, PC2DAE, WIDE, Variant
from pc2dae.suite import Suite
from pc2dae.windows.scaling import Scaler

VARIANTS: dict[str, Variant] = {
    "lean-no-softplus": LEAN,
    "lean-no-smoothing": LEAN,
    "lean-no-attention": LEAN,
    "lean-no-environment": LEAN,
    "lean-no-variation": replace(LEAN, smoothness=0.0),
    "lean-as-wide": replace(WIDE, widths=LEAN.widths, environment=LEAN.environment),
    "wide-as-lean": replace(LEAN, widths=WIDE.widths, environment=WIDE.environment),
}


class Unbounded(PC2DAE):
    """PC²DAE without positivity: what the projection gives goes out, below the bound or not."""

    def __init__(self, variant: Variant, suite: Suite, scaler: Scaler) -> None:
        super().__init__(variant, suite, scaler)
        self.heads = nn.ModuleList(
            _LinearHead(variant.widths[-1], n, environment=variant.environment, beta=variant.beta)
            for n in self.families
        )

    def forward(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """Values and validity (batch, channel, time), environment (batch, 3, time) → estimate like the values."""
        return self.scaling.out_unbounded(self.scaled(values, valid, environment))


class _LinearHead(FamilyHead):
    def forward(self, h: Tensor, e: Tensor, weight: Tensor) -> Tensor:
        h = self.attention(h, weight.mean(dim=1, keepdim=True)) + self.environment(e)
        y: Tensor = self.smoothing(self.projection(h))
        return y


class _Ungated(nn.Module):
    """In place of the attention: every feature counts the same."""

    def forward(self, h: Tensor, weight: Tensor) -> Tensor:
        return h


class _Nothing(nn.Module):
    """In place of the environment's projection."""

    def forward(self, e: Tensor) -> Tensor:
        return torch.zeros_like(e[:, :1])


def build(name: str, suite: Suite, scaler: Scaler) -> PC2DAE:
    """The ablated network `name` for a suite's families."""
    if name == "lean-no-softplus":
        return Unbounded(VARIANTS[name], suite, scaler)
    network = PC2DAE(VARIANTS[name], suite, scaler)
    if name == "lean-no-environment":
        network.environment = nn.Identity()  # type: ignore[assignment]
    for head in network.heads:
        if name == "lean-no-smoothing":
            head.smoothing = nn.Identity()
        elif name == "lean-no-attention":
            head.attention = _Ungated()
        elif name == "lean-no-environment":
            head.environment = _Nothing()
    return network
