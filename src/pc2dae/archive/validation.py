"""Cross-validation by flight: every variant and seed, trained on all folds but one and scored on the held-out fold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.archive.cluster import each
from pc2dae.archive.sources import FlightSource, open_source, stamp
from pc2dae.atomic import replacing
from pc2dae.errors import ModelError, explain
from pc2dae.flight.store import read_flight, write_flight
from pc2dae.metrics import score
from pc2dae.metrics.flight import denoised_suite, estimate_of, raw_arrays, target_truth
from pc2dae.suite import Suite, parse_suite

if TYPE_CHECKING:
    from distributed import Client

SCORES = "scores.parquet"  # in a trial's folder; written last, so it marks the trial as done
FLIGHTS = "flights"  # in the folder of a validation: the training flights
KEYS = ["variant", "seed", "fold", "flight"]


@dataclass(frozen=True)
class Trial:
    """One model: trained on all flights outside its fold, scored on those inside."""

    variant: str
    seed: int
    fold: int

    @property
    def name(self) -> str:
        """Its folder."""
        return f"{self.variant}/seed_{self.seed}/fold_{self.fold}"


@dataclass(frozen=True)
class Terms:
    """Settings common to all trials."""

    out: Path
    flights: Mapping[str, Path]  # ready for training, by name
    truths: Mapping[str, Path]
    fold_of: Mapping[str, int]
    objective: str | None = None
    steps: int | None = None


def trials_of(variants: Sequence[str], *, seeds: int, folds: int) -> list[Trial]:
    """Every variant with every seed on every fold."""
    return [Trial(variant, seed, fold) for variant in variants for seed in range(seeds) for fold in range(1, folds + 1)]


def folds_of(names: Sequence[str], count: int) -> dict[str, int]:
    """The fold 1 … count of each flight: sizes differ by at most one, and the assignment depends on the names only."""
    if not 2 <= count <= len(names):
        raise ModelError(f"{count} folds for {len(names)} flights", hint="from 2 folds to one per flight")
    order = np.random.default_rng(0).permutation(len(names))
    return {sorted(names)[i]: 1 + k % count for k, i in enumerate(order)}


def make_ready(
    sources: Sequence[FlightSource], out: Path, client: Client, *, suite: Suite | None = None, zone: str | None = None
) -> Iterator[tuple[str, Path | str]]:
    """Ingest every flight once; yield its name and the prepared file, or the error in one line."""
    text = None if suite is None else suite.model_dump_json(exclude_defaults=True)
    jobs = ((source.name, (source, out, text, zone)) for source in sources)
    for name, answer in each(client, ready_one, jobs):
        yield name, answer if isinstance(answer, Path) else str(explain(answer))


def ready_one(source: FlightSource, out: Path, suite: str | None, zone: str | None) -> Path:
    """Write a flight with flags and compensated channels to a file; a changed source gets a new file."""
    from pc2dae.ingestion import prepare

    target = out / FLIGHTS / f"{source.name}.{stamp(source)}.nc"
    if not target.exists():
        payload = None if suite is None else parse_suite(suite, where="the suite")
        write_flight(prepare(open_source(source, suite=payload, zone=zone)), target)
    return target


def truth_of(source: FlightSource) -> Path | None:
    """The truth beside a simulated flight."""
    place = Path(f"{source.place}.truth.nc") if source.place.is_dir() else source.place.with_suffix(".truth.nc")
    return place if place.is_file() else None


def validate(trials: Sequence[Trial], terms: Terms, client: Client) -> Iterator[tuple[str, pd.DataFrame | str]]:
    """Train and score every trial on the cluster; yield its name and its scores, or the error in one line."""
    for name, answer in each(client, try_one, ((trial.name, (trial, terms)) for trial in trials)):
        yield name, answer if isinstance(answer, pd.DataFrame) else str(explain(answer))


def try_one(trial: Trial, terms: Terms) -> pd.DataFrame:
    """Train one model as `pc2dae train` does and score it; the scores of a finished trial are read from disk."""
    from pc2dae.denoising import denoise
    from pc2dae.training.flights import fit

    folder = terms.out / trial.name
    names = [name for name, fold in sorted(terms.fold_of.items()) if fold != trial.fold]
    truths = [xr.load_dataset(terms.truths[name]) for name in names] if terms.objective == "truth" else None
    flights = [read_flight(terms.flights[name]) for name in names]
    model = fit(flights, variant=trial.variant, objective=terms.objective, truths=truths, out=folder, seed=trial.seed,
                steps=terms.steps)  # fmt: skip
    if (folder / SCORES).exists():  # `fit` would have refused a folder made from other flights
        return pd.read_parquet(folder / SCORES)
    tables = []
    for name in sorted(set(terms.fold_of) - set(names)):
        truth = terms.truths.get(name)
        table = _scores(denoise(read_flight(terms.flights[name]), model=model), truth)
        tables.append(table.assign(variant=trial.variant, seed=trial.seed, fold=trial.fold, flight=name))
    scores = pd.concat(tables, ignore_index=True)[[*KEYS, "family", "channel", "metric", "value"]]
    with replacing(folder / SCORES) as temporary:
        scores.to_parquet(temporary, index=False)
    return scores


def _scores(clean: xr.Dataset, truth: Path | None) -> pd.DataFrame:
    suite = denoised_suite(clean)
    exact = None if truth is None else target_truth(xr.load_dataset(truth), clean, suite)
    return score(estimate_of(clean, suite), *raw_arrays(clean, suite), suite, truth=exact)


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean of each variant, family and metric over held-out flights, with the spread over flights and over seeds.

    A flight's value is its mean over seeds, since seeds are not independent samples.
    """
    rows = scores[scores["channel"] == "all"]
    keys = ["variant", "family", "metric"]
    flights = rows.groupby([*keys, "flight"], sort=False)["value"].mean()
    seeds = rows.groupby([*keys, "seed"], sort=False)["value"].mean()
    grouped = flights.groupby(keys, sort=False)
    table = pd.DataFrame({
        "mean": grouped.mean(),
        "sd_flights": grouped.std(),
        "sd_seeds": seeds.groupby(keys, sort=False).std(),
        "flights": grouped.count(),
    })  # fmt: skip
    return table.reset_index()
