"""PC²DAE read literally: heads redraw every channel from shared features, in units of P99.5; for comparison only."""

from __future__ import annotations

import torch
from torch import Tensor

from pc2dae.model.batch import Batch
from pc2dae.model.blocks import Scaling
from pc2dae.model.pc2dae import LEAN, WIDE, Backbone, Variant
from pc2dae.suite import Suite
from pc2dae.windows.scaling import Scaler

VARIANTS = {"lean-paper": LEAN, "wide-paper": WIDE}


class LiteralPC2DAE(Backbone):
    """The network in physical units: any float32 in, finite values at or above each channel's bound out."""

    inputs = ("values", "valid", "environment")

    def __init__(self, variant: Variant, suite: Suite, scaler: Scaler) -> None:
        super().__init__(variant, suite)
        self.scaling = Scaling(scaler)

    def forward(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """Values and validity (batch, channel, time), environment (batch, 3, time) → estimate like the values."""
        return self.scaling.out(self.scaled(values, valid, environment))

    def scaled(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """The estimate in scaled units."""
        x, weight = self.scaling.into(values, valid)
        return self.decode(x, self.scaling.environment(environment), weight, torch.zeros_like(x))

    def compare(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Estimate and target of training windows in scaled units."""
        estimate = self.scaled(batch.values, batch.valid, batch.environment)
        return estimate, self.scaling.scaled(batch.target)


def build(name: str, suite: Suite, scaler: Scaler) -> LiteralPC2DAE:
    """The network "lean-paper" or "wide-paper" for a suite's families."""
    return LiteralPC2DAE(VARIANTS[name], suite, scaler)
