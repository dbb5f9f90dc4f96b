"""Lean with one part taken away or read differently, lean and wide with each other's settings: what does the work?"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from pc2dae.model.heads import FamilyHead, TemporalSmoothing
from pc2dae.model.noise_units import features, in_range
from pc2dae.model.pc2dae import LEAN, PC2DAE, WIDE, Backbone, Variant
from pc2dae.paper.literal import LiteralPC2DAE
from pc2dae.suite import Family, Suite
from pc2dae.windows.scaling import Scaler

VARIANTS: dict[str, Variant] = {
    "lean-no-skip": LEAN,
    "lean-no-noise-units": replace(LEAN, dropout=0.0),
    "lean-no-softplus": LEAN,
    "lean-no-smoothing": LEAN,
    "lean-no-attention": LEAN,
    "lean-no-environment": LEAN,
    "lean-no-variation": replace(LEAN, smoothness=0.0),
    "lean-one-head": LEAN,
    "lean-channel-alpha": LEAN,  # 21,493 parameters for 15 channels, 12 more than lean
    "lean-as-wide": replace(WIDE, widths=LEAN.widths, environment=LEAN.environment),
    "wide-as-lean": replace(LEAN, widths=WIDE.widths, environment=WIDE.environment),
}


class Unbounded(PC2DAE):
    """PC²DAE without positivity: what the projection gives goes out, below the bound or not."""

    def __init__(self, variant: Variant, suite: Suite, scaler: Scaler) -> None:
        super().__init__(variant, suite, scaler)
        for head in self.heads:
            head.__class__ = _LinearHead

    def forward(self, values: Tensor, valid: Tensor, environment: Tensor, noise: Tensor) -> Tensor:
        """Values, validity (batch, channel, time), environment (batch, 3, time), noise (batch, channel) → estimate."""
        estimate, unit = self.scaled(values, valid, environment, noise)
        return self.scaling.bound + unit * estimate


class Redrawn(PC2DAE):
    """PC²DAE without the skip: its heads redraw the measurement, in noise units."""

    def scaled(self, values: Tensor, valid: Tensor, environment: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The estimate in noise units, and the unit."""
        x, weight, unit = self.scaling.into(values, valid, noise)
        y = self.decode(features(x), self.scaling.environment(environment), weight, torch.zeros_like(x))
        return in_range(y, x), unit


class InPercentiles(LiteralPC2DAE):
    """PC²DAE without noise units: it corrects the measurement in units of P99.5."""

    def scaled(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """The estimate in scaled units."""
        x, weight = self.scaling.into(values, valid)
        return self.decode(x, self.scaling.environment(environment), weight, x)


class _LinearHead(FamilyHead):
    def forward(self, h: Tensor, e: Tensor, weight: Tensor, x: Tensor | float = 0.0) -> Tensor:
        h = self.attention(h, weight.mean(dim=1, keepdim=True)) + self.environment(e)
        y: Tensor = self.smoothing(x + self.projection(h))
        return y


class _Ungated(nn.Module):
    """In place of the attention: every feature counts the same."""

    def forward(self, h: Tensor, weight: Tensor) -> Tensor:
        return h


class _Nothing(nn.Module):
    """In place of the environment's projection."""

    def forward(self, e: Tensor) -> Tensor:
        return torch.zeros_like(e[:, :1])


WHOLE = {"lean-no-skip": Redrawn, "lean-no-noise-units": InPercentiles, "lean-no-softplus": Unbounded}


def build(name: str, suite: Suite, scaler: Scaler) -> Backbone:
    """The ablated network `name` for a suite's families."""
    if name in WHOLE:
        return WHOLE[name](VARIANTS[name], suite, scaler)
    if name == "lean-one-head":
        suite = suite.model_copy(update={"family": (Family(name="all", channel=tuple(suite.channels)),)})
    network = PC2DAE(VARIANTS[name], suite, scaler)
    if name == "lean-no-environment":
        network.environment = nn.Identity()  # type: ignore[assignment]
    for head, channels in zip(network.heads, network.families, strict=True):
        if name == "lean-no-smoothing":
            head.smoothing = nn.Identity()
        elif name == "lean-no-attention":
            head.attention = _Ungated()
        elif name == "lean-no-environment":
            head.environment = _Nothing()
        elif name == "lean-channel-alpha":  # "smoothing strength per channel", says the paper beside "a scalar"
            begin = cast(FamilyHead, head).smoothing.blend.item()
            head.smoothing = TemporalSmoothing(channels, blends=channels)
            nn.init.constant_(head.smoothing.blend, begin)
    return network
