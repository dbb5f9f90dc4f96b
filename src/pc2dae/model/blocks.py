"""The parts networks are built of: scaling inside the graph, and the temporal convolution block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from pc2dae.arrays import Array32
from pc2dae.windows.scaling import Scaler

CLIP = 100.0  # scaled units: a hundred times the training flights' P99.5 is no concentration any more
HUGE = 3.4e38  # |x| ≤ HUGE is false for NaN and ±∞, and the comparison survives the export to ONNX


class Units(nn.Module):
    """Bounds and environment of a scaler inside the graph, shared by all units a network may count in."""

    bound: Tensor
    environment_mean: Tensor
    environment_std: Tensor

    def __init__(self, scaler: Scaler) -> None:
        super().__init__()
        self.hold("bound", rounded_up(scaler.bound))
        self.hold("environment_mean", scaler.environment_mean)
        self.hold("environment_std", scaler.environment_std)

    def hold(self, name: str, row: Sequence[float] | Array32) -> None:
        """Keep a row, one number per channel; the card holds it, so the weights need not."""
        self.register_buffer(name, torch.from_numpy(np.asarray(row, dtype=np.float32))[:, None], persistent=False)

    def environment(self, environment: Tensor) -> Tensor:
        """Standardised environment (batch, 3, time); what is unknown enters as the training mean."""
        known = torch.where(environment.abs() <= HUGE, environment, self.environment_mean)
        return ((known - self.environment_mean) / self.environment_std).clamp(-5.0, 5.0)


class Scaling(Units):
    r"""Physical units ↔ scaled units, inside the graph, so that no input whatever can break the promise on the output.

    .. math:: \tilde x = \mathrm{clip}\big((x - b) / s\big), \qquad y = \max(b + s\,\tilde y,\; b)

    Samples that are masked or not finite enter as the mean of the window's valid samples.
    """

    scale: Tensor
    fill: Tensor

    def __init__(self, scaler: Scaler) -> None:
        super().__init__(scaler)
        self.hold("scale", scaler.scale)
        self.hold("fill", scaler.fill)

    def into(self, values: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Scaled values, masked samples filled, and the weight (1 or 0) of each sample; all (batch, channel, time)."""
        good = (valid > 0.5) & (values.abs() <= HUGE)
        weight = good.to(values.dtype)
        scaled = self.scaled(torch.where(good, values, self.bound))
        count = weight.sum(dim=-1, keepdim=True)
        mean = (scaled * weight).sum(dim=-1, keepdim=True) / count.clamp(min=1.0)
        mean = torch.where(count > 0, mean, self.fill)
        return torch.where(good, scaled, mean), weight

    def scaled(self, values: Tensor, unit: Tensor | None = None) -> Tensor:
        """Finite physical values in scaled units, clipped."""
        return ((values - self.bound) / self.scale).clamp(-CLIP, CLIP)

    def out(self, scaled: Tensor, unit: Tensor | None = None) -> Tensor:
        """Physical values, finite and at or above the bound for any `scaled` at all."""
        safe = torch.where(scaled.abs() <= HUGE, scaled, 0.0).clamp(0.0, CLIP)
        return torch.maximum(self.bound + self.scale * safe, self.bound)

    def out_unbounded(self, scaled: Tensor) -> Tensor:
        """Physical values, finite for any `scaled`, free to lie below the bound."""
        safe = torch.where(scaled.abs() <= HUGE, scaled, 0.0).clamp(-CLIP, CLIP)
        return self.bound + self.scale * safe


class TCNBlock(nn.Module):
    r"""A centred dilated convolution with a residual.

    .. math:: y = R x + \mathrm{dropout}\,\mathrm{ELU}\,\mathrm{GroupNorm}_4 (K *_d x)

    R is the identity, or a 1×1 convolution where the widths differ; zero padding keeps the length.
    """

    def __init__(
        self, width_in: int, width_out: int, *, dilation: int, dropout: float, kernel: int = 5, groups: int = 4
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width_in, width_out, kernel, dilation=dilation, padding=dilation * (kernel // 2))
        self.normalisation = nn.GroupNorm(groups, width_out)
        self.activation = nn.ELU()
        self.dropout = nn.Dropout(dropout)
        self.residual = nn.Identity() if width_in == width_out else nn.Conv1d(width_in, width_out, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width_in, time) → (batch, width_out, time)."""
        y: Tensor = self.dropout(self.activation(self.normalisation(self.convolution(x))))
        kept: Tensor = self.residual(x)
        return y + kept


def rounded_up(bound: tuple[float, ...]) -> Array32:
    """float32 values at or above `bound`: rounding to nearest could put the promise a hair under it."""
    exact = np.asarray(bound, dtype=np.float64)
    near = exact.astype(np.float32)
    return np.where(near < exact, np.nextafter(near, np.float32(np.inf)), near).astype(np.float32)
