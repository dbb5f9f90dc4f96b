"""The training loop of all networks, including the neural baselines.

The randomness of a step depends only on the seed and the step number, and all other state is in one file that is
replaced atomically: a run killed at any time resumes from its last evaluation and gives identical weights.
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

B = TypeVar("B")  # a batch, as returned by `draw` and passed to `loss`


@dataclass(frozen=True)
class TrainingSettings:
    """Hyperparameters of the training loop."""

    steps: int = 900
    batch: int = 16  # windows per step: many small steps converge faster here than few large ones
    learning_rate: float = 1e-2  # peak, after the warm-up; ten times the usual, which the cosine decay makes safe
    warmup: int = 50  # steps
    weight_decay: float = 1e-4
    clip: float = 1.0  # gradient norm: one plume edge must not undo a hundred steps
    every: int = 25  # steps between evaluations of the held-out loss
    patience: int = 12  # evaluations without improvement before stopping
    seed: int = 0
    threads: int = 1  # more are slower at this size and change the last bits of the result


@dataclass(frozen=True)
class Look:
    """The losses at one evaluation."""

    step: int
    train: float  # mean since the last evaluation
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
    """Train `network` in place, restore the weights of the best held-out loss, and return all evaluations.

    `draw` returns the batch of a step, `loss` the terms whose sum is minimised. With a file `state`, an interrupted
    run resumes.
    """
    torch.set_num_threads(settings.threads)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1.0, weight_decay=settings.weight_decay, fused=True)
    best = {name: value.clone() for name, value in network.state_dict().items()}
    evaluations = _restore(state, network, optimiser, best) if state is not None and state.exists() else []
    losses: list[float] = []
    for step in range(evaluations[-1].step if evaluations else 0, settings.steps):
        if _is_over(evaluations, settings):
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
            evaluations.append(Look(step + 1, sum(losses) / len(losses), sum(terms.values()), terms))
            losses.clear()
            if evaluations[-1] is _best(evaluations):
                best = {name: value.clone() for name, value in network.state_dict().items()}
            if state is not None:
                _keep(state, network, optimiser, best, evaluations)
            if report is not None:
                report(evaluations[-1])
    if evaluations and not math.isfinite(_best(evaluations).held_out):
        raise ModelError(
            "training diverged: no held-out loss was finite", hint="lower the learning rate, check the data"
        )
    network.load_state_dict(best)
    network.eval()
    return evaluations


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
    """The mean of each loss term over the held-out batches, without dropout."""
    network.eval()
    terms = [loss(network, batch, step) for batch in held_out]
    return {name: float(torch.stack([t[name] for t in terms]).mean()) for name in terms[0]}


def _best(evaluations: list[Look]) -> Look:
    return min(evaluations, key=lambda look: look.held_out if math.isfinite(look.held_out) else math.inf)


def _is_over(evaluations: list[Look], settings: TrainingSettings) -> bool:
    return bool(evaluations) and len(evaluations) - 1 - evaluations.index(_best(evaluations)) >= settings.patience


def _keep(
    path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, best: dict[str, Tensor], evaluations: list[Look]
) -> None:
    tensors = {f"now.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    for index, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{name}": value for name, value in moments.items()}
    with replacing(path) as temporary:
        save_file(
            {k: v.contiguous() for k, v in tensors.items()},
            temporary,
            {"looks": json.dumps([asdict(x) for x in evaluations])},
        )


def _restore(path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, best: dict[str, Tensor]) -> list[Look]:
    """Restore a saved run; if it cannot be read, training starts from the beginning."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            evaluations = [Look(**look) for look in json.loads(file.metadata()["looks"])]
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
    return evaluations
