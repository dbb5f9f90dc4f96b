"""The one training loop: every network of the project goes through it, the neural baselines included.

A step's randomness depends on the seed and the step's number alone, and everything else a run needs is in one file that
is replaced whole: so a run that was killed at any moment goes on from its last look and ends in the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pc2dae.atomic import replacing
from pc2dae.errors import ModelError

B = TypeVar("B")  # whatever `draw` gives and `loss` takes


@dataclass(frozen=True)
class TrainingSettings:
    """How long and how fast to learn."""

    steps: int = 900
    batch: int = 16  # windows per step: many small steps learn faster here than few large ones
    learning_rate: float = 1e-2  # peak, after the warm-up; ten times the usual, which the cosine decay makes safe
    warmup: int = 50  # steps
    weight_decay: float = 1e-4
    clip: float = 1.0  # norm of the gradient: one plume edge must not undo a hundred steps
    every: int = 25  # steps between looks at the held-out loss
    patience: int = 12  # looks without a better one before stopping
    seed: int = 0
    threads: int = 1  # more hurt at this size, and change the last bits


@dataclass(frozen=True)
class Look:
    """The losses at one moment."""

    step: int
    train: float  # mean since the last look
    held_out: float
    terms: dict[str, float]  # of the held-out loss


def fit(
    network: nn.Module,
    *,
    draw: Callable[[np.random.Generator], B],
    loss: Callable[[nn.Module, B, int], dict[str, Tensor]],
    held_out: Sequence[B],
    settings: TrainingSettings,
    state: Path | None = None,
    report: Callable[[Look], None] | None = None,
) -> list[Look]:
    """Train `network` in place and leave in it the weights of the best held-out loss; return every look.

    `draw` gives the batch of a step, `loss` the terms whose sum is minimised. With a file `state` the run can be
    killed and started again.
    """
    torch.set_num_threads(settings.threads)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1.0, weight_decay=settings.weight_decay, fused=True)
    best = {name: value.clone() for name, value in network.state_dict().items()}
    looks = _restore(state, network, optimiser, best) if state is not None and state.exists() else []
    losses: list[float] = []
    for step in range(looks[-1].step if looks else 0, settings.steps):
        if _is_over(looks, settings):
            break
        torch.manual_seed(settings.seed * 1_000_003 + step)  # dropout
        batch = draw(np.random.default_rng([settings.seed, step]))
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, settings)
        network.train()
        optimiser.zero_grad()
        total = torch.stack(list(loss(network, batch, step).values())).sum()
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
        optimiser.step()
        losses.append(float(total.detach()))
        if (step + 1) % settings.every == 0 or step + 1 == settings.steps:
            terms = judge(network, held_out, loss, step + 1)
            looks.append(Look(step + 1, sum(losses) / len(losses), sum(terms.values()), terms))
            losses.clear()
            if looks[-1] is _best(looks):
                best = {name: value.clone() for name, value in network.state_dict().items()}
            if state is not None:
                _keep(state, network, optimiser, best, looks)
            if report is not None:
                report(looks[-1])
    if looks and not math.isfinite(_best(looks).held_out):
        raise ModelError(
            "training diverged: no held-out loss was finite", hint="lower the learning rate, check the data"
        )
    network.load_state_dict(best)
    network.eval()
    return looks


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """Linear warm-up, then half a cosine down to zero."""
    if step < settings.warmup:
        return settings.learning_rate * (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(settings.steps - settings.warmup, 1)
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done))


@torch.no_grad()
def judge(
    network: nn.Module, held_out: Sequence[B], loss: Callable[[nn.Module, B, int], dict[str, Tensor]], step: int
) -> dict[str, float]:
    """The mean of each loss term over the held-out batches, dropout off."""
    network.eval()
    terms = [loss(network, batch, step) for batch in held_out]
    return {name: float(torch.stack([t[name] for t in terms]).mean()) for name in terms[0]}


def _best(looks: list[Look]) -> Look:
    return min(looks, key=lambda look: look.held_out if math.isfinite(look.held_out) else math.inf)


def _is_over(looks: list[Look], settings: TrainingSettings) -> bool:
    return bool(looks) and len(looks) - 1 - looks.index(_best(looks)) >= settings.patience


def _keep(
    path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, best: dict[str, Tensor], looks: list[Look]
) -> None:
    tensors = {f"now.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    for index, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{name}": value for name, value in moments.items()}
    with replacing(path) as temporary:
        save_file(
            {k: v.contiguous() for k, v in tensors.items()},
            temporary,
            {"looks": json.dumps([asdict(x) for x in looks])},
        )


def _restore(path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, best: dict[str, Tensor]) -> list[Look]:
    """Put a kept run back; one that cannot be read is started again."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            looks = [Look(**look) for look in json.loads(file.metadata()["looks"])]
    except (SafetensorError, OSError, ValueError):
        return []
    network.load_state_dict({n: tensors[f"now.{n}"] for n in best})
    best.update({n: tensors[f"best.{n}"] for n in best})
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        kind, index, *rest = name.split(".", 2)
        if kind == "optimiser":
            moments.setdefault(int(index), {})[rest[0]] = value
    optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
    return looks
