"""PC²DAE: a shared temporal convolutional trunk and one physics head per family, in two sizes.

The paper's network with two changes: each head corrects the measurement instead of redrawing it, and a channel's unit
is its noise instead of P99.5. `paper/literal.py` is the network without them.

Six blocks of one centred dilated convolution each see 1 + 4·(1+2+4+4+2+1) = 57 samples; for the black-kite suite of
15 targets the counts are 21,481 (lean) and 204,461 (wide).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.model.batch import Batch
from pc2dae.model.blocks import TCNBlock
from pc2dae.model.heads import FamilyHead
from pc2dae.model.noise_units import NoiseUnits, features, in_range
from pc2dae.suite import Suite
from pc2dae.windows.scaling import Scaler

DILATIONS = (1, 2, 4, 4, 2, 1)  # encoder, then its mirror


@dataclass(frozen=True)
class Variant:
    """One size of the network and the weights of its loss."""

    name: str
    widths: tuple[int, ...]  # of the six blocks
    environment: int  # D, width of the environment embedding
    beta: float  # sharpness of the softplus
    dropout: float
    positivity: float  # λ₁: identically zero behind a softplus; kept because the paper has it
    smoothness: float  # λ₂, of the total variation


LEAN = Variant(
    "lean", (20, 28, 20, 28, 20, 20), environment=12, beta=5.0, dropout=0.10, positivity=0.1, smoothness=0.01
)
WIDE = Variant(
    "wide", (64, 96, 64, 96, 64, 64), environment=16, beta=3.0, dropout=0.15, positivity=0.01, smoothness=0.005
)
VARIANTS = {"lean": LEAN, "wide": WIDE}


class EnvironmentEncoder(nn.Module):
    """Temperature, humidity and pressure as an embedding: 3 → D → D, ELU between, sample by sample."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(3, width, 1)
        self.second = nn.Conv1d(width, width, 1)

    def forward(self, environment: Tensor) -> Tensor:
        """(batch, 3, time) → (batch, D, time)."""
        e: Tensor = self.second(F.elu(self.first(environment)))
        return e


class Backbone(nn.Module):
    """The trunk, the environment's encoder and the heads, which both readings of the paper share."""

    def __init__(self, variant: Variant, suite: Suite) -> None:
        super().__init__()
        self.families = tuple(len(family.channel) for family in suite.family)
        widths = (sum(self.families), *variant.widths)
        self.trunk = nn.Sequential(
            *(
                TCNBlock(a, b, dilation=d, dropout=variant.dropout)
                for a, b, d in zip(widths[:-1], widths[1:], DILATIONS, strict=True)
            )
        )
        self.environment = EnvironmentEncoder(variant.environment)
        self.heads = nn.ModuleList(
            FamilyHead(widths[-1], n, environment=variant.environment, beta=variant.beta) for n in self.families
        )

    def decode(self, features: Tensor, environment: Tensor, weight: Tensor, x: Tensor) -> Tensor:
        """What the heads make of the input's features, the standardised environment and the measurement x."""
        h, e = self.trunk(features), self.environment(environment)
        parts = zip(self.heads, *(torch.split(a, list(self.families), dim=1) for a in (weight, x)), strict=True)
        return torch.cat([head(h, e, w, own) for head, w, own in parts], dim=1)


class PC2DAE(Backbone):
    """The paper's network as a correction of the measurement, in units of each channel's noise.

    Any float32 in; out come finite values at or above each channel's bound, within the range of the window's samples
    widened by three times the noise.
    """

    inputs = ("values", "valid", "environment", "noise")

    def __init__(self, variant: Variant, suite: Suite, scaler: Scaler) -> None:
        super().__init__(replace(variant, dropout=0.0), suite)  # a correction cannot overfit far, dropout only blurs it
        self.scaling = NoiseUnits(scaler)
        for head in cast(Iterable[FamilyHead], self.heads):  # begin with the measurement as it is
            for parameter in head.projection.parameters():
                nn.init.zeros_(parameter)
            nn.init.constant_(head.smoothing.blend, -2.0)

    def forward(self, values: Tensor, valid: Tensor, environment: Tensor, noise: Tensor) -> Tensor:
        """Values, validity (batch, channel, time), environment (batch, 3, time), noise (batch, channel) → estimate."""
        estimate, unit = self.scaled(values, valid, environment, noise)
        return self.scaling.out(estimate, unit)

    def scaled(self, values: Tensor, valid: Tensor, environment: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The estimate in noise units, and the unit."""
        x, weight, unit = self.scaling.into(values, valid, noise)
        y = self.decode(features(x), self.scaling.environment(environment), weight, x)
        return in_range(y, x), unit

    def compare(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Estimate and target of training windows in noise units."""
        estimate, unit = self.scaled(batch.values, batch.valid, batch.environment, batch.noise)
        return estimate, self.scaling.scaled(batch.target, unit)


def build(name: str, suite: Suite, scaler: Scaler) -> PC2DAE:
    """The network of variant `name` for a suite's families."""
    return PC2DAE(VARIANTS[name], suite, scaler)


def count_parameters(network: nn.Module) -> Iterator[tuple[str, int]]:
    """The trainable parameters of each component: trunk blocks, environment encoder, heads."""
    for name, child in network.named_children():
        parts = child.named_children() if isinstance(child, nn.Sequential | nn.ModuleList) else [("", child)]
        for part, module in parts:
            count = sum(p.numel() for p in module.parameters() if p.requires_grad)
            if count:
                yield f"{name}{f' {int(part) + 1}' if part.isdigit() else ''}", count
