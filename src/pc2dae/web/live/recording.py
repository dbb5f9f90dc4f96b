"""A recorded live flight as files that the pipeline reads, and its received estimates as a run."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pc2dae import pipeline
from pc2dae.arrays import Floats, Mask
from pc2dae.atomic import replacing, write_text
from pc2dae.denoiser import Denoiser, Estimate, Job
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.edge.messages import Clean, Sample, stamp
from pc2dae.edge.sample_log import lines_of
from pc2dae.errors import LogError
from pc2dae.flight.schema import suite_of
from pc2dae.registry import load_model
from pc2dae.suite import ENVIRONMENT, MOTION, Suite, load_suite, parse_suite
from pc2dae.web.methods import LIVE
from pc2dae.web.suites import as_toml


def write_recorded(folder: Path, uploads: Path) -> Path:
    """Write the samples as a CSV to `uploads`, and the suite of its columns beside the recording; the latter's path.

    Samples that their sender has screened and corrected keep their flags, and are not corrected again.
    """
    about = json.loads((folder / "about.json").read_bytes())
    samples = _samples(folder)
    has_flags = all(sample.qc is not None for sample in samples)
    suite = _as_columns(load_suite(folder / "suite.toml"), samples, has_flags=has_flags)
    table, described = uploads / f"{about['flight']}.csv", folder / "columns.toml"
    uploads.mkdir(exist_ok=True)
    write_text(described, as_toml(suite))
    flags = suite.names if has_flags else ()
    beside = [*suite.environment, *suite.motion]
    with replacing(table) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["time", *suite.names, *(f"qc_{name}" for name in flags), *beside])
        for sample in samples:
            motion = sample.motion.known if sample.motion is not None else {}
            known = sample.values | sample.environment | motion
            bits = sample.qc or {}
            row = [_cell(known.get(name)) for name in suite.names], [bits.get(name, 0) for name in flags]
            writer.writerow([stamp(sample.microseconds), *row[0], *row[1], *(_cell(known.get(n)) for n in beside)])
    for path in (folder / "calibrations").glob("*.json"):
        shutil.copy(path, uploads)
    return described


def _cell(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _as_columns(suite: Suite, samples: list[Sample], *, has_flags: bool) -> Suite:
    """The suite of a table whose columns have the suite's own names."""
    sent = {name for sample in samples for name in sample.values}
    families = [f.name for f in suite.family if any({c.name, *(c.difference_of or ())} & sent for c in f.channel)]
    if not families:
        raise LogError(
            f"no channel of suite '{suite.name}' was recorded", hint=f"the samples have {', '.join(sorted(sent)[:12])}"
        )
    known = {name for sample in samples for name in sample.environment}
    moved = {name for sample in samples if sample.motion is not None for name in sample.motion.known}
    table = suite.only(families).model_dump(
        mode="json", exclude_defaults=True, exclude={"time", "sources", "column_units"}
    )
    table["environment"] = {name: name for name in ENVIRONMENT if name in known}
    table["motion"] = {name: name for name in MOTION if name in moved}
    for family in table["family"]:
        for channel in family["channel"]:
            for key in ("column", *(("pressure_exponent", "dry") if has_flags else ())):
                channel.pop(key, None)
    return parse_suite(json.dumps(table), where=suite.name)


def _samples(folder: Path) -> list[Sample]:
    """Every recorded sample once, in the order of time."""
    found = {
        (sample.seq, sample.microseconds): sample
        for name in ("gateway", "samples")
        for sample in lines_of(folder / f"{name}.jsonl", Sample)
    }
    if not found:
        raise LogError("no sample was recorded", hint="check the topic of the samples")
    return sorted(found.values(), key=lambda sample: (sample.microseconds, sample.seq))


def live_run(folder: Path, flight: xr.Dataset) -> xr.Dataset | None:
    """The flight with the estimates that were received while it flew; None if there were none."""
    suite = suite_of(flight)
    columns = {at: n for n, at in enumerate(flight["time"].values.astype("datetime64[ms]").astype(np.int64).tolist())}
    kinds = ("estimate", "unbounded", "uncertainty", "response")
    arrays = {kind: np.full((len(suite.names), len(columns)), np.nan) for kind in kinds}
    for clean in lines_of(folder / "estimates.jsonl", Clean):
        column = columns.get(round(clean.time.timestamp() * 1000))
        if column is None:
            continue
        for kind, array in arrays.items():
            for name, value in getattr(clean, kind).items():
                if value is not None and name in suite.names:
                    array[suite.names.index(name), column] = value
    value, unbounded, sigma, response = arrays.values()
    known = {name for name, row in zip(suite.names, value, strict=True) if np.isfinite(row).any()}
    if not known:
        return None
    estimate = Estimate(value, unbounded, sigma if np.isfinite(sigma).any() else None, response=response)
    kept = [family.name for family in suite.family if any(c.name in known for c in family.channel)]
    others = [family.name for family in suite.family if family.name not in kept]
    model = load_model(json.loads((folder / "about.json").read_bytes())["model"], profile="live")
    denoiser: Denoiser = _Received(estimate, tuple(suite.names))
    if isinstance(model, AdaptiveDenoiser):
        about = vars(model) | {"name": LIVE.name}
        denoiser = _ReceivedAdaptive(**about, received=estimate, names=tuple(suite.names))
    clean_flight = pipeline.denoise(flight, model=denoiser, profile="live", keep=kept, exclude=others)
    if estimate.sigma is not None:  # those of calibrated channels include the calibration already
        for name in known:
            if f"{name}_uncertainty" in clean_flight:
                clean_flight[f"{name}_uncertainty"].values[:] = sigma[suite.names.index(name)]
    return clean_flight


@dataclass
class _Received:
    """A denoiser that returns the received estimates."""

    received: Estimate
    names: tuple[str, ...]
    name: str = LIVE.name
    latency_s: float = np.inf

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The estimates of the channels of `suite`."""
        return _rows(self.received, [self.names.index(name) for name in suite.names])


@dataclass
class _ReceivedAdaptive(AdaptiveDenoiser):
    """The same, of a network that corrects the lag of channels, which is stated in their attributes."""

    received: Estimate | None = None
    names: tuple[str, ...] = ()

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The estimates of the channels of `suite`."""
        return _rows(self.received, [self.names.index(name) for name in suite.names])


def _rows(received: Estimate | None, rows: list[int]) -> Job:
    parts: dict[str, Any] = {key: None if part is None else part[rows] for key, part in vars(received).items()}

    def job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
        return Estimate(**parts)

    return job
