"""The five baselines in physical units, with a plain, softplus, or softplus and total variation output head."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.baselines.convolutional import DeSpaWN, UNet1d
from pc2dae.baselines.recurrent import CBDAE, LSTMAE
from pc2dae.baselines.transformer import Transformer
from pc2dae.model.blocks import Scaling
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


class Baseline(nn.Module):
    """A baseline in physical units: plain it may fall below the bound, as published; with softplus it cannot."""

    def __init__(self, name: str, suite: Suite, scaler: Scaler) -> None:
        super().__init__()
        self.scaling = Scaling(scaler)
        self.core = CORES[name.partition("+")[0]](len(suite.names))
        self.is_bounded = "+softplus" in name

    def forward(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """Values and validity (batch, channel, time), environment unused → estimate like the values."""
        scaled = self.scaled(values, valid, environment)
        return self.scaling.out(scaled) if self.is_bounded else self.scaling.out_unbounded(scaled)

    def scaled(self, values: Tensor, valid: Tensor, environment: Tensor) -> Tensor:
        """The estimate in scaled units: what the losses see."""
        return self.bounded(self.core(self.scaling.into(values, valid)[0]))

    def bounded(self, y: Tensor) -> Tensor:
        """The core's output through the output head."""
        return F.softplus(y, beta=BETA) if self.is_bounded else y


def build(name: str, suite: Suite, scaler: Scaler) -> Baseline:
    """The baseline `name` ("unet", "unet+softplus", "unet+softplus+tv") for a suite's channels."""
    return Baseline(name, suite, scaler)
