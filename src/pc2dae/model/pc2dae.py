"""PC²DAE as in the paper: a shared temporal convolutional trunk and one physics head per family, in two sizes.

Six blocks of one centred dilated convolution each see 1 + 4·(1+2+4+4+2+1) = 57 samples; for the black-kite suite of
15 targets the counts are 21,481 (lean) and 204,461 (wide).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.model.blocks import Scaling, TCNBlock
from pc2dae.model.heads import FamilyHead
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


class PC2DAE(nn.Module):
    """The network in physical units: any float32 in, finite values at or above each channel's bound out."""

    def __init__(self, variant: Variant, suite: Suite, scaler: Scaler) -> None:
        super().__init__()
        self.families = tuple(len(family.channel) for family in suite.family)
        self.scaling = Scaling(scaler)
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

    def forward(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """Values and validity (batch, channel, time), environment (batch, 3, time) → estimate like the values."""
        return self.scaling.out(self.scaled(values, valid, environment))

    def scaled(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """The estimate in scaled units: what the losses see."""
        x, weight = self.scaling.into(values, valid)
        h = self.trunk(x)
        e = self.environment(self.scaling.environment(environment))
        weights = torch.split(weight, list(self.families), dim=1)
        return torch.cat([head(h, e, w) for head, w in zip(self.heads, weights, strict=True)], dim=1)


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
