"""Sums and maxima over sliding windows, by doubling."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from pc2dae.denoiser import LARGEST


def shift(x: Tensor, by: int) -> Tensor:
    """x(t + by), with the first or last value beyond the ends."""
    padded = F.pad(x, (max(-by, 0), max(by, 0)), mode="replicate")
    return padded.narrow(-1, max(by, 0), x.shape[-1])


class Windows:
    """Sums of a series over windows of 1, 2, 4 … `reach` samples, by doubling; beyond the ends it counts as zero."""

    def __init__(self, x: Tensor, reach: int, right: int) -> None:
        self.x, self.reach, self.right, self.length = x, reach, min(reach, right), x.shape[-1]
        self.doubled = {1: F.pad(x, (reach - 1, self.right - 1))}
        width = 1
        while width < reach:
            half = self.doubled[width]
            self.doubled[2 * width] = half[..., width:] + half[..., :-width]
            width *= 2

    def at(self, start: int, width: int) -> Tensor:
        """Sum over t + start … t + start + width − 1."""
        return self.doubled[width].narrow(-1, self.reach - 1 + start, self.length)

    def left(self, width: int) -> Tensor:
        """Sum over t − width + 1 … t."""
        return self.at(1 - width, width)

    def ahead(self, width: int) -> Tensor:
        """Sum over t … t + width − 1, limited to the look-ahead of the variant."""
        return self.at(0, min(width, self.right))

    def around(self, width: int) -> Tensor:
        """Sum over t − width + 1 … t + width − 1, limited to the look-ahead of the variant."""
        return self.left(width) + self.ahead(width) - self.x if self.right > 1 else self.left(width)

    def count(self, width: int) -> int:
        """Number of samples in the window of `around`."""
        return width + min(width, self.right) - 1

    def mean(self, width: int) -> Tensor:
        """Average over the window of `around`."""
        return self.around(width) / self.count(width)


def highest(x: Tensor, reach: int, right: int) -> Tensor:
    """Maximum over t − reach + 1 … t + right − 1, by doubling; beyond the ends it counts as −1e30."""
    length, width = x.shape[-1], 1
    held, ahead = F.pad(x, (reach - 1, right - 1), value=-LARGEST), None
    while width <= reach:
        if width == min(right, reach):
            ahead = held.narrow(-1, reach - 1, length)
        if width < reach:
            held = torch.maximum(held[..., width:], held[..., :-width])
        width *= 2
    assert ahead is not None  # nosec B101  # for the type checker: both are powers of two
    return torch.maximum(held.narrow(-1, 0, length), ahead)
