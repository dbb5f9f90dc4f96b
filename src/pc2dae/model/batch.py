"""What a network is trained on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Windows as a network is trained on them, physical units, each (batch, row, time)."""

    values: Tensor  # what it sees
    valid: Tensor  # where it sees something
    environment: Tensor
    noise: Tensor  # σ of each channel in `values`, (batch, channel)
    target: Tensor
    weight: Tensor  # of each sample in the reconstruction
    observed: Tensor  # of each sample in the terms that need no target
