"""Entry points of the package as used by the tests of real records and their benchmark."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from real_checks import AGREEMENT, ROUNDING, denoised_names, scale

import pc2dae
from pc2dae.archive.layout import Archive, FlightRecord
from pc2dae.archive.sources import FlightSource
from pc2dae.archive.task import denoise_one, order_of
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.calibration.intervals import utc
from pc2dae.edge.load import live_engine
from pc2dae.edge.messages import Sample, parse_sample
from pc2dae.edge.replay import messages
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.flight import write_flight
from pc2dae.flight.schema import observed, suite_of
from pc2dae.response.stated import stated_responses
from pc2dae.suite import Suite
from pc2dae.web import tasks
from pc2dae.web.intake import upload_check
from pc2dae.web.settings import Limits

_CHUNK = 97  # samples fed at a time: no multiple of anything inside
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Array = NDArray[np.float64]


@cache
def loaded(model: str, profile: str) -> Any:
    """A shipped model, loaded once."""
    return pc2dae.load_model(model, profile=profile)


def denoised(flight: xr.Dataset, model: str, profile: str) -> xr.Dataset:
    """The flight through a shipped model."""
    return pc2dae.denoise(flight, model=loaded(model, profile), profile=profile)


def made_calibration(flight: xr.Dataset) -> Calibration:
    """A calibration of all measured channels: gain 0.9, and a zero too high by 5 % of the spread at the median."""
    suite, start = suite_of(flight), utc(flight["time"].values[0])
    curves = {}
    for name in suite.names:
        seen = observed(flight, name)
        if seen.sum() > 20 and suite[name].difference_of is None:
            low, middle, high = (float(x) for x in np.quantile(flight[name].values[seen], [0.01, 0.5, 0.99]))
            spread = max(high - low, 1e-6 * max(abs(high), 1.0))
            curves[name] = Curve(
                units=suite[name].units, reading_units=suite[name].units,
                terms={"gain": 0.9, "zero": middle + 0.05 * spread}, centre={"air": middle}, range={"air": (low, high)},
                covariance=((1e-4, 0.0), (0.0, (0.01 * spread) ** 2)), residual=0.02 * spread, slow=0.02 * spread,
                wander=0.01 * spread, ageing=0.01 * spread,
            )  # fmt: skip
    day = timedelta(days=1)
    return Calibration(method="co-location", period=(start - 3 * day, start - 2 * day), channels=curves)


def calibrated_stream(flight: xr.Dataset, file: Path, model: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """Unbounded estimates and their uncertainties by channel, with a calibration file."""
    payload = file.with_name("suite.json")
    payload.write_text(suite_of(flight).model_dump_json(exclude_defaults=True), encoding="utf-8")
    engine, _ = live_engine(model, suite=payload, calibration=[file])
    stream, message = StreamingDenoiser(engine), messages(flight, suite_of(flight), "real")
    ready = stream.feed(parse_sample(message(n)) for n in range(flight.sizes["time"])) + stream.flush()
    assert not stream.problems, stream.problems
    rows = [np.stack([getattr(r, key) for r in ready], axis=1) for key in ("unbounded", "sigma")]
    value, sigma = (dict(zip(engine.suite.names, row, strict=True)) for row in rows)
    return value, sigma


def streamed(clean: xr.Dataset, model: str) -> dict[str, Array]:
    """Unbounded estimates by channel that a stream gives for the samples which `clean` was made from."""
    names = denoised_names(clean)
    suite = _only(suite_of(clean), names)
    stream = StreamingDenoiser(replace(loaded(model, "live"), responses=stated_responses(suite)[0]).engine(suite))
    items = samples(clean, names)
    ready = [r for at in range(0, len(items), _CHUNK) for r in stream.feed(items[at : at + _CHUNK])] + stream.flush()
    assert not stream.problems, stream.problems
    assert [r.index for r in ready] == list(range(len(items)))
    return dict(zip(names, np.stack([r.unbounded for r in ready], axis=1), strict=True))


def stream_mismatches(clean: xr.Dataset, model: str) -> dict[str, int]:
    """Samples per channel at which a stream differs from `clean`, denoised live, by more than rounding."""
    found = {}
    for name, estimate in streamed(clean, model).items():
        expected = clean[f"{name}_unbounded"].values
        tolerance = np.fmax(AGREEMENT * scale(clean, name), ROUNDING * clean[f"{name}_uncertainty"].values)
        differs = (np.abs(estimate - expected) > tolerance) | (np.isnan(estimate) != np.isnan(expected))
        if differs.any():
            found[name] = int(differs.sum())
    return found


def samples(clean: xr.Dataset, names: list[str]) -> list[Sample]:
    """Messages of a sender that has screened its samples: one for every cell of the grid."""
    times = clean["time"].values.astype("datetime64[us]").astype(np.int64).tolist()
    raw = np.stack([clean[f"{name}_raw"].values for name in names], axis=1).astype(float).tolist()
    bits = np.stack([clean[f"qc_{name}"].values for name in names], axis=1).tolist()
    return [
        Sample.model_construct(
            flight="real",
            seq=number,
            time=_EPOCH + timedelta(microseconds=time),
            values={name: value for name, value in zip(names, row, strict=True) if np.isfinite(value)},
            environment={},
            qc=dict(zip(names, flags, strict=True)),
            end=False,
        )
        for number, (time, row, flags) in enumerate(zip(times, raw, bits, strict=True))
    ]


def _only(suite: Suite, names: list[str]) -> Suite:
    """The suite with the channels that were denoised."""
    families = [
        family.model_copy(update={"channel": tuple(c for c in family.channel if c.name in names)})
        for family in suite.family
    ]
    return suite.model_copy(update={"family": tuple(f for f in families if f.channel)})


def written_rows(clean: xr.Dataset, folder: Path) -> list[dict[str, str]]:
    """The rows of the flight as a CSV."""
    write_flight(clean, folder / "clean.csv")
    with (folder / "clean.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(line for line in handle if not line.startswith("#")))


def archived(
    path: Path, folder: Path, *, suite: Suite | None, zone: str | None, model: str, calibration: tuple[Path, ...] = ()
) -> tuple[Archive, FlightRecord]:
    """The record in an archive of its own, made in this process."""
    archive = Archive(folder / "archive")
    archive.prepare()
    order = order_of(model, suite=suite, zone=zone, calibration=calibration)
    return archive, denoise_one(FlightSource(path.name.partition(".")[0], path), order, archive)


def uploaded(
    path: Path, folder: Path, *, suite: Path | None, zone: str | None, model: str, calibration: tuple[Path, ...] = ()
) -> dict[str, Any]:
    """An upload as the web page's child processes handle it, in this process: what the page then shows of its run."""
    limits, home = Limits(), folder / "flight"
    uploads = home / "uploads"
    uploads.mkdir(parents=True)
    for file in (path, *calibration):
        shutil.copyfile(file, uploads / file.name)
    refused = upload_check.judge(
        uploads, members=limits.members, unpacked=limits.unpacked_bytes, ratio=limits.unpacked_ratio
    )
    assert refused is None, refused
    result = tasks.intake(
        progress=lambda _share, _message: None,
        folder=str(home),
        run="first",
        model=model,
        title=path.name,
        names={file.name: file.name for file in (path, *calibration)},
        how={"suite": str(suite) if suite is not None else None, "zone": zone},
    )
    assert "run_error" not in result, result
    facts = json.loads((home / "runs" / "first" / "facts.json").read_text(encoding="utf-8"))
    return dict(facts)
