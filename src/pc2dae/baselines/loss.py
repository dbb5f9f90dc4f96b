"""Losses of the baselines: MAE like PC²DAE's, and the terms that two of them add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.baselines.convolutional import DeSpaWN
from pc2dae.baselines.output_head import Baseline
from pc2dae.baselines.recurrent import CBDAE
from pc2dae.model import losses
from pc2dae.model.pc2dae import LEAN
from pc2dae.windows.slicing import WINDOW, Crops, Record, Segment, crops_at, random_crops

CONTRAST = 1.5  # weight of CBDAE's contrastive term beside L1
TEACHER = 0.8  # CBDAE's share of teacher-forced steps at the start
EPOCHS = 50  # over which it falls to nothing


class BatchTensors(Protocol):
    """What a loss needs of a batch, physical units, each (batch, row, time)."""

    values: Tensor
    valid: Tensor
    environment: Tensor
    target: Tensor
    weight: Tensor
    observed: Tensor


def baseline_loss(
    name: str, families: Sequence[int], *, steps: int
) -> Callable[[nn.Module, Any, int], dict[str, Tensor]]:
    """The loss of a baseline; `steps` is the length of the whole run, which teacher forcing is scheduled by."""
    smoothness = LEAN.smoothness if name.endswith("+tv") else 0.0

    def loss(network: nn.Module, batch: BatchTensors, step: int) -> dict[str, Tensor]:
        rival = cast(Baseline, network)
        target = rival.scaling.scaled(batch.target)
        x, _ = rival.scaling.into(batch.values, batch.valid)
        estimate, more = _run(rival, x, batch, share=TEACHER * max(0.0, 1.0 - _epoch(step, steps) / EPOCHS))
        terms = {"mae": losses.reconstruction(estimate, target, batch.weight, families), **more}
        if smoothness > 0:
            terms["variation"] = smoothness * losses.variation(estimate, batch.observed, families)
        return terms

    return loss


def _run(network: Baseline, x: Tensor, batch: BatchTensors, *, share: float) -> tuple[Tensor, dict[str, Tensor]]:
    """The estimate of scaled input x, and the terms of the core's own."""
    core = network.core
    if isinstance(core, DeSpaWN):
        found = core.coefficients(x)
        mean = torch.cat(found, dim=-1).abs().mean()
        return network.bounded(core.synthesise(found)[..., : x.shape[-1]]), {"sparsity": mean}
    if isinstance(core, CBDAE) and core.training:
        state = core.encode(x)
        forced = bool(torch.rand(()) < share)
        teacher = network.scaling.into(batch.target, batch.weight)[0] if forced else None
        estimate = network.bounded(core.decode(state, x.shape[-1], teacher=teacher))
        return estimate, {"contrast": CONTRAST * contrast(core.code(state))}
    return network.bounded(core(x)), {}


def contrast(codes: Tensor, *, temperature: float = 1.0) -> Tensor:
    """−mean log of how much likelier a window's successor is than a random one, by cosine similarity.

    The first half of the windows are consecutive, the second random: each of the first has its successor as positive
    and all random ones as negatives.
    """
    z = F.normalize(codes, dim=-1)
    along, random = z.chunk(2)
    positive = (along[:-1] * along[1:]).sum(dim=-1, keepdim=True)
    negative = along[:-1] @ random.T
    scores = torch.cat([positive, negative], dim=1) / temperature
    return -F.log_softmax(scores, dim=1)[:, 0].mean()


def with_consecutive(
    records: Sequence[Record], segments: Sequence[Segment], rng: np.random.Generator, *, count: int
) -> Crops:
    """`count` windows each one sample after the other, from a random place, then `count` random ones."""
    sizes = np.array([segment.stop - segment.start for segment in segments])
    segment = segments[int(rng.choice(len(segments), p=sizes / sizes.sum()))]
    room = max(segment.stop - segment.start - WINDOW - count + 1, 1)
    first = segment.start + int(rng.integers(0, room))
    along = crops_at(records, [(segment, first + i) for i in range(count)], WINDOW)
    other = random_crops(records, segments, rng, count=count)
    fields = ("values", "valid", "environment", "target")
    return Crops(*(np.concatenate([getattr(along, f), getattr(other, f)]) for f in fields))


def _epoch(step: int, steps: int) -> float:
    """Which of fifty parts of the run a step lies in: windows are drawn at random, so there are no other epochs."""
    return EPOCHS * step / max(steps, 1)
