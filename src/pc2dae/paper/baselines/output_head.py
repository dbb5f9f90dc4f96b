"""The five baselines in physical units, with a plain, softplus, softplus and total variation, or skip output head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.model.blocks import Scaling
from pc2dae.model.noise_units import NoiseUnits, features, in_range
from pc2dae.paper.baselines.convolutional import DeSpaWN, UNet1d
from pc2dae.paper.baselines.recurrent import CBDAE, LSTMAE
from pc2dae.paper.baselines.transformer import Transformer
from pc2dae.suite import Suite
from pc2dae.windows.scaling import Scaler

CORES: dict[str, Callable[[int], nn.Module]] = {
    "lstm-ae": LSTMAE,
    "unet": UNet1d,
    "transformer": Transformer,
    "cbdae": CBDAE,
    "despawn": DeSpaWN,
}
BETA = 5.0  # of the softplus, lean's


@dataclass(frozen=True)
class Seen:
    """What a baseline sees of windows, (batch, channel, time) each but the unit."""

    features: Tensor  # input of the core
    x: Tensor  # the measurement in scaled units
    unit: Tensor | None = None  # noise units, (batch, channel, 1)


class Baseline(nn.Module):
    """A baseline in physical units: plain it may fall below the bound, as published; with softplus it cannot.

    With `+skip` it corrects the measurement in noise units, as PC²DAE does.
    """

    def __init__(self, name: str, suite: Suite, scaler: Scaler) -> None:
        super().__init__()
        self.has_skip, self.is_bounded = "+skip" in name, "+softplus" in name or "+skip" in name
        self.scaling: Any = NoiseUnits(scaler) if self.has_skip else Scaling(scaler)
        self.inputs = ("values", "valid", "environment", *(["noise"] if self.has_skip else []))
        self.core = CORES[name.partition("+")[0]](len(suite.names))

    def forward(self, values: Tensor, valid: Tensor, environment: Tensor, noise: Tensor | None = None) -> Tensor:
        """Values and validity (batch, channel, time), environment unused, noise (batch, channel) → estimate."""
        seen = self.seen(values, valid, noise)
        y = self.output(self.core(seen.features), seen)
        out: Tensor = self.scaling.out(y, seen.unit) if self.is_bounded else self.scaling.out_unbounded(y)
        return out

    def seen(self, values: Tensor, valid: Tensor, noise: Tensor | None) -> Seen:
        """The windows in the units of the network."""
        if self.has_skip:
            x, _, unit = self.scaling.into(values, valid, noise)
            return Seen(features(x), x, unit)
        x, _ = self.scaling.into(values, valid)
        return Seen(x, x)

    def output(self, y: Tensor, seen: Seen) -> Tensor:
        """The core's output through the output head, in scaled units."""
        if self.has_skip:
            return in_range(F.softplus(seen.x + y, beta=BETA), seen.x)
        return F.softplus(y, beta=BETA) if self.is_bounded else y


def build(name: str, suite: Suite, scaler: Scaler) -> Baseline:
    """The baseline `name` ("unet", "unet+softplus", "unet+softplus+tv", "unet+skip") for a suite's channels."""
    return Baseline(name, suite, scaler)
