"""A network trained on flights."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from pc2dae.denoiser import Denoiser
from pc2dae.edge.load import open_network
from pc2dae.errors import ModelError
from pc2dae.flight.schema import check_flight
from pc2dae.ingestion import prepare
from pc2dae.suite import Suite

if TYPE_CHECKING:
    from pc2dae.training.fit import Look, TrainingSettings


def fit(
    flights: Sequence[xr.Dataset],
    *,
    variant: str = "lean",
    objective: str | None = None,
    begin: str | None = None,
    truths: Sequence[xr.Dataset] | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    mass: float = 0.0,
    spectral: float = 0.0,
    literal_sums: bool = False,
    steps: int | None = None,
    settings: TrainingSettings | None = None,
    report: Callable[[Look], None] | None = None,
) -> Denoiser:
    """Train a network on flights (needs pc2dae[train]) and return it; with `out`, the run's folder is kept there.

    The same call on the same `out` resumes an interrupted run. The default objective is `recorrupted`, which needs no
    truth, and `paper` for the networks of the paper; `truths` are needed by objective `truth`. Variants `lean`, `wide`
    and `adaptive` begin with the shipped weights (`pretrained`) if there are any for these channels, which are kept
    unless the gain on held-out stretches is clear; others begin from `scratch`. `steps` limits the run. `mass` and
    `spectral` weigh the optional terms of the loss, which the paper did not use; `literal_sums` takes the paper's own
    terms as the sums it prints instead of means per family.
    """
    from pc2dae.training.finetune import finetune
    from pc2dae.training.networks import in_noise_units
    from pc2dae.training.run import TrainingPlan, settings_for, train
    from pc2dae.training.shipped import TUNING, shipped_network
    from pc2dae.windows.slicing import record_of

    if truths is not None and len(truths) != len(flights):
        raise ModelError(f"{len(truths)} truths for {len(flights)} flights", hint="pass one truth per flight, in order")
    ready = [prepare(flight) for flight in flights]
    suite = shared_suite(ready)
    known: Sequence[xr.Dataset | None] = truths if truths is not None else [None] * len(ready)
    records = [record_of(flight, suite, truth=truth) for flight, truth in zip(ready, known, strict=True)]
    begin = begin or ("pretrained" if shipped_network(variant, suite) is not None else "scratch")
    pace = replace(settings or (TUNING if begin == "pretrained" else settings_for(variant)), seed=seed)
    pace = pace if steps is None else replace(pace, steps=steps)
    objective = objective or ("recorrupted" if in_noise_units(variant) else "paper")
    plan = TrainingPlan(
        variant, objective, begin, mass=mass, spectral=spectral, literal_sums=literal_sums, settings=pace
    )
    with tempfile.TemporaryDirectory() as elsewhere:
        folder = Path(out) if out is not None else Path(elsewhere) / variant
        if variant == "adaptive":
            finetune(records, suite, folder=folder, settings=pace, report=report)
        else:
            train(records, suite, plan, folder=folder, report=report)
        exported = open_network(folder)
        return load_torch(folder) if exported is None else exported[0]


def load_torch(folder: Path, *, profile: str = "flight") -> Denoiser:
    """The denoiser of a checkpoint without an ONNX export."""
    from pc2dae.training.checkpoint import load_checkpoint, suite_of_card, torch_denoiser

    network, card = load_checkpoint(folder)
    digest = card["sha256"]["weights.safetensors"]
    return torch_denoiser(network, suite_of_card(card), name=folder.name, sha256=digest, profile=profile)


def shared_suite(flights: Sequence[xr.Dataset]) -> Suite:
    """The flights' common suite, reduced to the families kept in at least half of them."""
    from pc2dae.qc import judge_families

    if not flights:
        raise ModelError("there is no flight to train on", hint="pass one or more flights")
    suites = [check_flight(flight, level="screened") for flight in flights]
    for suite in suites[1:]:
        if suite.names != suites[0].names:
            odd = sorted(set(suite.names) ^ set(suites[0].names))
            raise ModelError(f"the flights do not share one suite: '{odd[0] if odd else suite.name}' differs")
    votes = [v.family for f in flights for v in judge_families(f) if not v.omits(suites[0])]
    kept = [family.name for family in suites[0].family if 2 * votes.count(family.name) >= len(flights)]
    if not kept:
        raise ModelError("no family is usable in half of the flights", hint="run `pc2dae inspect` on them")
    return suites[0].only(kept)
