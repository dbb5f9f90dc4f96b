"""From a contender to the denoiser that it is, trained here if need be."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pc2dae.arrays import Floats, Mask
from pc2dae.atomic import write_text
from pc2dae.benchmark.ambient import ambient_denoiser
from pc2dae.benchmark.cases import FAMILIES, Case, training_flights
from pc2dae.benchmark.plan import Contender
from pc2dae.denoiser import Denoiser, Estimate, Job
from pc2dae.filters import FILTERS
from pc2dae.filters.catalogue import clipped, oracle
from pc2dae.flight.schema import suite_of
from pc2dae.registry import SHIPPED, load_model
from pc2dae.suite import Suite

if TYPE_CHECKING:
    from pc2dae.training.fit import Look

PARAMETERS = {"lean": 21_481, "wide": 204_461}  # for the 15 channels: 21k and 204k in the paper
COST = "cost.json"  # beside a checkpoint: parameters, processor seconds


@dataclass(frozen=True)
class Truth:
    """The truth itself as a denoiser: the upper limit."""

    response: Floats
    name: str = "truth"
    latency_s: float = 0.0

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The answer, at or above the bound."""
        answer = np.maximum(self.response, np.array([[channel.lower_bound] for channel in suite.channels]))

        def job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            return Estimate(answer, answer)

        return job


@dataclass(frozen=True)
class Cost:
    """What a denoiser cost before it flew; NaN where it is not known or does not apply."""

    parameters: float = np.nan
    training_s: float = np.nan


def denoiser_of(contender: Contender, case: Case, checkpoint: Path | None) -> Denoiser | None:
    """The contender's denoiser for a case; None where it cannot exist there: no truth, another suite."""
    if case.responses is not None:
        return ambient_denoiser(contender, case)
    if contender.method == "truth":
        answer = case.truth if case.response is None else case.response
        return None if answer is None or case.noise == "pair" else Truth(answer)
    if contender.output_head == "oracle":
        if case.truth is None or case.noise.startswith(("pair", "noisy")):
            return None  # the reference is not a truth to tune with
        return clipped(oracle(contender.method, case.truth.astype(np.float64)))
    if contender.method in FILTERS:
        return clipped(FILTERS[contender.method]) if contender.output_head == "clip" else FILTERS[contender.method]
    if checkpoint is not None:
        return _loaded(str(checkpoint))
    shipped = _loaded(contender.method)
    trained: Suite | None = getattr(shipped, "suite", None)
    return shipped if trained is None or set(case.suite.names) <= set(trained.names) else None


def cost_of(contender: Contender, checkpoint: Path | None) -> Cost:
    """Parameters and processor seconds of training."""
    if checkpoint is not None:
        return Cost(**json.loads((checkpoint / COST).read_text(encoding="utf-8")))
    if contender.method not in SHIPPED:
        return Cost()
    card = json.loads((files("pc2dae.weights") / f"{contender.method}.card.json").read_text(encoding="utf-8"))
    return Cost(card.get("parameters", PARAMETERS.get(contender.method, np.nan)), card.get("training_s", np.nan))


@lru_cache(maxsize=4)
def _loaded(source: str) -> Denoiser:
    return load_model(source)


def train_contender(contender: Contender, folder: Path) -> None:
    """Train a contender on its share of the training campaigns; an already trained one is kept."""
    if not (folder / COST).exists():
        flights, truths = zip(*training_flights(contender.campaigns), strict=True)
        train_on(flights, suite_of(flights[0]).only(FAMILIES), contender, folder, truths=truths)


def train_on(
    flights: Sequence[xr.Dataset],
    suite: Suite,
    contender: Contender,
    folder: Path,
    *,
    truths: Sequence[xr.Dataset] | None = None,
) -> None:
    """Train a contender's network on flights, then record what it cost.

    Networks in noise units learn the truth where it is known and by recorruption where not, adaptive always by
    recorruption; all others have the paper's objective.
    """
    from pc2dae.training.checkpoint import load_checkpoint
    from pc2dae.training.finetune import finetune
    from pc2dae.training.networks import in_noise_units
    from pc2dae.training.run import TrainingPlan, settings_for, train
    from pc2dae.windows.slicing import record_of

    known: Sequence[xr.Dataset | None] = [None] * len(flights) if truths is None else truths
    records = [record_of(flight, suite, truth=truth) for flight, truth in zip(flights, known, strict=True)]
    settings = replace(settings_for(contender.network), seed=contender.seed)
    started = time.process_time()
    spent = [0.0]

    def report(look: Look) -> None:
        spent.append(time.process_time() - started)

    if contender.method == "adaptive":
        count = finetune(records, suite, folder=folder, settings=settings, report=report)["parameters"]
    else:
        steps = contender.steps or settings.steps  # all of them: the best look is kept
        settings = replace(settings, steps=steps, patience=steps)
        usual = "paper" if not in_noise_units(contender.network) else "recorrupted" if truths is None else "truth"
        plan = TrainingPlan(contender.network, contender.objective or usual, settings=settings)
        train(records, suite, plan, folder=folder, report=report, with_onnx=False)
        count = sum(p.numel() for p in load_checkpoint(folder)[0].parameters() if p.requires_grad)
    write_text(folder / COST, json.dumps({"parameters": count, "training_s": spent[-1]}) + "\n")
