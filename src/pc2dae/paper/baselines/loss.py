"""Losses of the baselines: MAE like PC²DAE's, and the terms that two of them add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.model import losses
from pc2dae.model.batch import Batch
from pc2dae.model.pc2dae import LEAN
from pc2dae.paper.baselines.convolutional import DeSpaWN
from pc2dae.paper.baselines.output_head import Baseline, Seen
from pc2dae.paper.baselines.recurrent import CBDAE
from pc2dae.windows.slicing import WINDOW, Crops, Record, Segment, crops_at, random_crops

CONTRAST = 1.5  # weight of CBDAE's contrastive term beside L1
TEACHER = 0.8  # CBDAE's share of teacher-forced steps at the start
EPOCHS = 50  # over which it falls to nothing


def baseline_loss(
    name: str, families: Sequence[int], *, steps: int
) -> Callable[[nn.Module, Any, int], dict[str, Tensor]]:
    """The loss of a baseline; `steps` is the length of the whole run, which teacher forcing is scheduled by."""
    smoothness = LEAN.smoothness if name.endswith("+tv") else 0.0

    def loss(network: nn.Module, batch: Batch, step: int) -> dict[str, Tensor]:
        rival = cast(Baseline, network)
        seen = rival.seen(batch.values, batch.valid, batch.noise)
        target = rival.scaling.scaled(batch.target, seen.unit)
        estimate, more = _run(rival, seen, batch, share=TEACHER * max(0.0, 1.0 - _epoch(step, steps) / EPOCHS))
        terms = {"mae": losses.reconstruction(estimate, target, batch.weight, families), **more}
        if smoothness > 0:
            terms["variation"] = smoothness * losses.variation(estimate, batch.observed, families)
        return terms

    return loss


def _run(network: Baseline, seen: Seen, batch: Batch, *, share: float) -> tuple[Tensor, dict[str, Tensor]]:
    """The estimate in scaled units, and the terms of the core's own."""
    core, x = network.core, seen.features
    if isinstance(core, DeSpaWN):
        found = core.coefficients(x)
        mean = torch.cat(found, dim=-1).abs().mean()
        return network.output(core.synthesise(found)[..., : x.shape[-1]], seen), {"sparsity": mean}
    if isinstance(core, CBDAE) and core.training:
        state = core.encode(x)
        forced = bool(torch.rand(()) < share)
        teacher = network.seen(batch.target, batch.weight, batch.noise).features if forced else None
        estimate = network.output(core.decode(state, x.shape[-1], teacher=teacher), seen)
        return estimate, {"contrast": CONTRAST * contrast(core.code(state))}
    return network.output(core(x), seen), {}


def contrast(codes: Tensor) -> Tensor:
    """−mean log of how much likelier a window's successor is than a random one, by cosine similarity.

    The first half of the windows are consecutive, the second random: each of the first has its successor as positive
    and all random ones as negatives.
    """
    z = F.normalize(codes, dim=-1)
    along, random = z.chunk(2)
    positive = (along[:-1] * along[1:]).sum(dim=-1, keepdim=True)
    negative = along[:-1] @ random.T
    scores = torch.cat([positive, negative], dim=1)
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
    return Crops(*(np.concatenate([getattr(along, f.name), getattr(other, f.name)]) for f in fields(Crops)))


def _epoch(step: int, steps: int) -> float:
    """Which of fifty parts of the run a step lies in: windows are drawn at random, so there are no other epochs."""
    return EPOCHS * step / max(steps, 1)
