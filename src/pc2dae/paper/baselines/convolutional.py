"""A U-Net along time, and DeSpaWN: a wavelet cascade whose kernels and thresholds are learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# Daubechies' orthonormal filter of eight taps ("db4"), which the cascade starts from (Daubechies 1992, table 6.1).
DB4 = (
    0.23037781330885523,
    0.7148465705525415,
    0.6308807679295904,
    -0.02798376941698385,
    -0.18703481171888114,
    0.030841381835986965,
    0.032883011666982945,
    -0.010597401784997278,
)


class UNet1d(nn.Module):
    """Four stages of two convolutions, pooled by two, and back with skips: 819,639 parameters."""

    def __init__(self, channels: int, *, widths: tuple[int, ...] = (24, 48, 96, 192)) -> None:
        super().__init__()
        self.down = nn.ModuleList(_stage(a, b) for a, b in zip((channels, *widths[:-1]), widths, strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose1d(2 * w, w, 2, stride=2) for w in widths[-2::-1])
        self.join = nn.ModuleList(_stage(2 * w, w) for w in widths[-2::-1])
        self.read_out = nn.Conv1d(widths[0], channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channel, time) → the same; time must be a multiple of 8."""
        skips = []
        for stage in self.down[:-1]:
            x = stage(x)
            skips.append(x)
            x = nn.functional.max_pool1d(x, 2)
        x = self.down[-1](x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([skips.pop(), up(x)], dim=1))
        y: Tensor = self.read_out(x)
        return y


def _stage(width_in: int, width_out: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in ((width_in, width_out), (width_out, width_out)):
        layers += [nn.Conv1d(a, b, 7, padding=3, bias=False), nn.BatchNorm1d(b), nn.ReLU()]
    return nn.Sequential(*layers)


class DeSpaWN(nn.Module):
    r"""A conjugate-quadrature filter bank per channel with learned kernels and thresholds: 1,080 parameters.

    .. math:: a_{l+1}(n) = \sum_k h_l(k)\,a_l(2n + k), \quad d_{l+1}(n) = \sum_k (-1)^k h_l(7 - k)\,a_l(2n + k)

    Coefficients pass x·[σ(10(x − b₊)) + σ(−10(x + b₋))]; synthesis is the adjoint. With b = 0 it reconstructs exactly:
    the window is reflected to twice its length and filtered circularly (Michau, Frusque & Fink 2022,
    doi:10.1073/pnas.2106598119).
    """

    def __init__(self, channels: int, *, levels: int = 7, threshold: float = 0.3) -> None:
        super().__init__()
        self.kernels = nn.Parameter(torch.tensor(DB4).repeat(levels, channels, 1))
        self.above = nn.Parameter(torch.full((levels + 1, channels, 1), threshold))
        self.below = nn.Parameter(torch.full((levels + 1, channels, 1), threshold))
        self.register_buffer("signs", torch.tensor([1.0, -1.0] * 4), persistent=False)

    signs: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channel, time) → the same; twice the time must be a multiple of 2 to the levels."""
        return self.synthesise(self.coefficients(x))[..., : x.shape[-1]]

    def coefficients(self, x: Tensor) -> list[Tensor]:
        """Thresholded details, fastest first, then the thresholded approximation."""
        approximation = torch.cat([x, x.flip(-1)], dim=-1)
        found = []
        for level, kernel in enumerate(self.kernels):
            detail = _analyse(approximation, kernel.flip(-1) * self.signs)
            found.append(self._passed(detail, level))
            approximation = _analyse(approximation, kernel)
        return [*found, self._passed(approximation, len(self.kernels))]

    def synthesise(self, coefficients: list[Tensor]) -> Tensor:
        """The reflected window that the coefficients stand for."""
        *details, approximation = coefficients
        for kernel, detail in zip(reversed(self.kernels), reversed(details), strict=True):
            approximation = _adjoint(approximation, kernel) + _adjoint(detail, kernel.flip(-1) * self.signs)
        return approximation

    def _passed(self, x: Tensor, level: int) -> Tensor:
        return x * (torch.sigmoid(10 * (x - self.above[level])) + torch.sigmoid(-10 * (x + self.below[level])))


def _analyse(x: Tensor, kernel: Tensor) -> Tensor:
    """Σ_k kernel(k)·x(2n + k), circular: (batch, channel, time) with (channel, 8) → half the time."""
    time = x.shape[-1]
    at = (2 * torch.arange(time // 2)[:, None] + torch.arange(kernel.shape[-1])) % time
    return torch.einsum("bcnk,ck->bcn", x[..., at], kernel)


def _adjoint(x: Tensor, kernel: Tensor) -> Tensor:
    """The transpose of `_analyse`: Σ_n kernel(m − 2n)·x(n), circular → twice the time."""
    time = 2 * x.shape[-1]
    m = torch.arange(time)[:, None]
    tap = m % 2 + 2 * torch.arange(kernel.shape[-1] // 2)
    at = ((m - tap) // 2) % x.shape[-1]
    return torch.einsum("bcmk,cmk->bcm", x[..., at], kernel[:, tap])
