"""A training run from flights to a checkpoint: a folder with config, history, loss plot, card and weights."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from pc2dae.atomic import replacing, write_text
from pc2dae.edge.card import Card, parse_card
from pc2dae.edge.onnx_check import read_limited
from pc2dae.errors import ModelError
from pc2dae.model.pc2dae import VARIANTS
from pc2dae.suite import Suite
from pc2dae.training.checkpoint import CARD, build_network, save_checkpoint
from pc2dae.training.export import export_onnx
from pc2dae.training.finetune import DRAWS
from pc2dae.training.finetune import SETTINGS as TUNING
from pc2dae.training.fit import Look, TrainingSettings, fit
from pc2dae.training.networks import BASELINE_NETWORKS, BUILDERS, in_noise_units
from pc2dae.training.objectives import Loss, Objective, objective_of, physics_loss
from pc2dae.training.shipped import keep_if_better, shipped_network
from pc2dae.windows.scaling import Scaler, fit_scaler
from pc2dae.windows.slicing import Crops, Record, Segment, data_hash, random_crops, split, tiled_crops

# Peak rates, the best of a short search each on a campaign nobody is scored on (`python benchmarks/rates.py`).
LEARNING_RATES = {
    "lean": 1e-2,
    "wide": 3e-3,
    "lstm-ae": 1e-2,
    "unet": 1e-2,
    "transformer": 1e-2,
    "cbdae": 3e-3,
    "despawn": 1e-2,
}
STATE, CONFIG, HISTORY, PLOT = "state.safetensors", "config.json", "history.csv", "loss.png"


@dataclass(frozen=True)
class TrainingPlan:
    """Everything that decides a run's result, beside the data."""

    network: str = "lean"
    objective: str = "recorrupted"
    begin: str = "scratch"  # or "pretrained": from the shipped weights
    mass: float = 0.0  # weights of the two terms the paper announces and does not define
    spectral: float = 0.0
    literal_sums: bool = False  # the paper's loss as printed, instead of means per family
    settings: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        if self.literal_sums and (self.network in BASELINE_NETWORKS or self.network == "adaptive"):
            raise ModelError(
                f"'{self.network}' is not trained with the paper's loss", hint="--literal-sums is for lean and wide"
            )


@dataclass(frozen=True)
class Material:
    """Records split and scaled for a run."""

    records: Sequence[Record]
    train: list[Segment]
    held_out: list[Segment]
    scaler: Scaler


def settings_for(network: str) -> TrainingSettings:
    """Default settings of a network; variants of output head and ablations use those of the whole network."""
    if network == "adaptive":
        return TUNING
    whole = network.partition("+")[0]
    rate = LEARNING_RATES.get(whole) or LEARNING_RATES.get(whole.partition("-")[0])
    return TrainingSettings() if rate is None else TrainingSettings(learning_rate=rate)


def material_of(records: Sequence[Record], suite: Suite, *, seed: int) -> Material:
    """Split the records and learn the scale from the training part alone."""
    train, held_out = split([len(record) for record in records], seed=seed)
    parts = [
        (r.values[:, s.start : s.stop], r.valid[:, s.start : s.stop], r.environment[:, s.start : s.stop])
        for s in train
        for r in [records[s.record]]
    ]
    values, valid, environment = zip(*parts, strict=True)
    scaler = fit_scaler(values, valid, environment, bound=[channel.lower_bound for channel in suite.channels])
    return Material(records, train, held_out, scaler)


def train(
    records: Sequence[Record],
    suite: Suite,
    plan: TrainingPlan,
    *,
    folder: Path,
    report: Callable[[Look], None] | None = None,
    with_onnx: bool = True,
) -> Card:
    """Train the planned network on records into `folder`; the same call goes on with a run that was cut short.

    Exporting to ONNX takes as long as a good part of the training; where nobody keeps the model it can be left out.
    """
    material = material_of(records, suite, seed=plan.settings.seed)
    config: dict[str, Any] = {
        "plan": asdict(plan),
        "suite": suite.model_dump_json(exclude_defaults=True),
        "data": data_hash(records),
    }
    finished = _finished(folder, config)
    if finished is not None:
        return finished
    write_text(folder / CONFIG, json.dumps(config, indent=1, sort_keys=True) + "\n")
    torch.manual_seed(plan.settings.seed)
    start = shipped_network(plan.network, suite) if plan.begin == "pretrained" else None
    if plan.begin == "pretrained" and start is None:
        raise ModelError(
            f"there are no shipped weights of '{plan.network}' for these channels", hint="use --from scratch"
        )
    if start is not None:
        material = replace(material, scaler=start[1])
        shipped = {name: value.clone() for name, value in start[0].state_dict().items()}
    network = start[0] if start is not None else build_network(plan.network, suite, material.scaler)
    objective = objective_of(plan.objective, material.scaler, records, mixed=in_noise_units(plan.network))
    loss = loss_of(plan, suite)
    crops = crops_for(plan.network)
    looks = learn(network, material, objective, loss, plan.settings, crops=crops, state=folder / STATE, report=report)
    _write_history(folder, looks)
    _plot(folder / PLOT, looks, title=f"{plan.network}, objective {plan.objective}, seed {plan.settings.seed}")
    card = make_card(plan, suite, material, config["data"], looks)
    if start is not None:
        rng = np.random.default_rng([plan.settings.seed, 2])
        held_out = tiled_crops(material.records, material.held_out)
        card["metrics"] |= keep_if_better(start[0], shipped, [objective(held_out, rng) for _ in range(DRAWS)]).as_dict()
    keeps_promise = plan.network in VARIANTS  # finite and bounded, which the export checks; rivals may not
    card = save_checkpoint(
        folder, network, card, onnx=export_onnx(network, card) if with_onnx and keeps_promise else None
    )
    (folder / STATE).unlink(missing_ok=True)
    return card


def loss_of(plan: TrainingPlan, suite: Suite) -> Loss:
    """What the planned network is trained with."""
    families = [len(family.channel) for family in suite.family]
    module = import_module(BUILDERS[plan.network])
    if plan.network in BASELINE_NETWORKS:
        loss: Loss = module.baseline_loss(plan.network, families, steps=plan.settings.steps)
        return loss
    variant = module.VARIANTS[plan.network]
    return physics_loss(variant, families, mass=plan.mass, spectral=plan.spectral, literal_sums=plan.literal_sums)


def crops_for(network: str) -> Callable[..., Crops]:
    """How the windows of a step are drawn: at random; CBDAE's contrastive term needs consecutive ones too."""
    if network.startswith("cbdae"):
        with_consecutive: Callable[..., Crops] = import_module(BUILDERS[network]).with_consecutive
        return with_consecutive
    return random_crops


def learn(
    network: nn.Module,
    material: Material,
    objective: Objective,
    loss: Loss,
    settings: TrainingSettings,
    *,
    crops: Callable[..., Crops] = random_crops,
    state: Path | None = None,
    report: Callable[[Look], None] | None = None,
) -> list[Look]:
    """Train any network on windows drawn by `crops` from the training segments, judged on the held-out ones."""
    judged = objective(tiled_crops(material.records, material.held_out), np.random.default_rng([settings.seed, 0x1D6E]))
    return fit(
        network,
        draw=lambda rng: objective(crops(material.records, material.train, rng, count=settings.batch), rng),
        loss=loss,
        held_out=[judged],
        settings=settings,
        state=state,
        report=report,
    )


def make_card(plan: TrainingPlan, suite: Suite, material: Material, data: str, looks: Sequence[Look]) -> Card:
    """What a model is and what it was made from."""
    best = min(looks, key=lambda look: look.held_out)
    return {
        "name": plan.network,
        "network": plan.network,
        "suite": suite.model_dump_json(exclude_defaults=True),
        "channels": list(suite.names),
        "scaler": material.scaler.as_dict(),
        "config": asdict(plan),
        "seed": plan.settings.seed,
        "threads": plan.settings.threads,
        "versions": {name: version(name) for name in ("pc2dae", "torch", "numpy")}
        | {"python": platform.python_version()},
        "data_sha256": data,
        "held_out": [asdict(segment) for segment in material.held_out],
        "samples": sum(len(record) for record in material.records),
        "metrics": {"held_out_loss": best.held_out, "step": best.step, "terms": best.terms},
    }


def _finished(folder: Path, config: dict[str, Any]) -> Card | None:
    """The card of a run that is done already; a folder with another run is not overwritten."""
    if not (folder / CONFIG).exists():
        if folder.exists() and any(folder.iterdir()):
            raise ModelError(f"{folder} is not empty and holds no run", hint="choose another -o")
        return None
    try:
        there = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except ValueError:
        there = {}
    if there != json.loads(json.dumps(config)):
        different = [key for key in config if there.get(key) != json.loads(json.dumps(config[key]))]
        raise ModelError(
            f"{folder} holds a run with another {' and '.join(different)}", hint="choose another -o, or delete it"
        )
    if (folder / CARD).exists():
        return parse_card(read_limited(folder / CARD), where=f"{folder.name}/{CARD}")
    return None


def _write_history(folder: Path, looks: Sequence[Look]) -> None:
    terms = list(looks[0].terms)
    rows = [[str(x.step), f"{x.train:.8g}", f"{x.held_out:.8g}", *(f"{x.terms[t]:.8g}" for t in terms)] for x in looks]
    lines = [["step", "train", "held_out", *(f"held_out_{term}" for term in terms)], *rows]
    write_text(folder / HISTORY, "".join(",".join(line) + "\n" for line in lines))


def _plot(path: Path, looks: Sequence[Look], *, title: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    steps = [look.step for look in looks]
    best = min(looks, key=lambda look: look.held_out)
    axes.plot(steps, [look.train for look in looks], color="0.6", label="training (dropout on)")
    axes.plot(steps, [look.held_out for look in looks], color="tab:blue", label="held out")
    axes.plot(best.step, best.held_out, "o", color="tab:blue", label=f"best: {best.held_out:.4f} at step {best.step}")
    axes.set(xlabel="step", ylabel="loss [scaled units]", title=title, yscale="log")
    axes.legend(frameon=False)
    FigureCanvasAgg(figure)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120)
