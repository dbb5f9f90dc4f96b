"""Tasks of a worker: read a flight, denoise it, export it, simulate the gallery's flight.

Messages show the original names of uploaded files, never server paths.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pc2dae import pipeline
from pc2dae.arrays import Floats, Mask
from pc2dae.calibration.curve import read_calibration
from pc2dae.channel_schema import CHANNEL_VARIABLES
from pc2dae.denoiser import Estimate, Job
from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.flight.netcdf import read_netcdf
from pc2dae.flight.schema import add_history, suite_of
from pc2dae.flight.store import read_flight, write_flight
from pc2dae.metrics.flight import denoised_suite
from pc2dae.plumes.baselines import parse_period, stated_samples
from pc2dae.plumes.combined import without_species
from pc2dae.plumes.duplicates import own_uncertainty
from pc2dae.report import report
from pc2dae.suite import Suite
from pc2dae.view.calibration_state import FILES
from pc2dae.view.flight_view import FlightView
from pc2dae.view.summary import as_measured
from pc2dae.web.facts import write_flight_facts, write_json, write_run_facts
from pc2dae.web.intake.reading import How, calibrations, questions_about, read_uploads
from pc2dae.web.intake.tables import columns_of, table_heads
from pc2dae.web.live.recording import live_run, write_recorded

Progress = Callable[[float, str], None]
Result = dict[str, Any]
GALLERY = {"seed": 3, "minutes": 15.0}  # plumes in every family, negatives, gaps and a tape advance


def intake(*, progress: Progress, folder: str, run: str, model: str, title: str, names: Mapping[str, str],
           how: dict[str, Any], live: str | None = None) -> Result:  # fmt: skip
    """Read the uploads of a flight, store it and make its first run; with `live`, also that of its live estimates."""
    home, wanted = Path(folder), How(**how)
    if live is not None:
        recorded = write_recorded(home / "recording", home / "uploads")
        wanted = replace(wanted, suite=wanted.suite or str(recorded))
    progress(0.02, "recognising the instruments")
    try:
        flight, found = read_uploads(home, wanted, names)
    except Pc2daeError as error:
        asked = questions_about(error, home, wanted, names) | {"ignored": [], "sources": [], "notes": []}
        write_json(home / "intake.json", _renamed(asked, home, names))
        hint = "name its columns below" if asked["columns"] and wanted.suite is None else error.hint
        hint = "answer the questions below" if asked["questions"] else hint
        raise type(error)(_renamed(Exception.__str__(error), home, names), hint=hint) from None
    unread = {i["file"] for i in found["ignored"]}
    tables = table_heads(list((home / "uploads").iterdir()))
    headers = {"headers": [table.fingerprint for table in tables if table.file.name not in unread]}
    unmapped = columns_of([table for table in tables if table.file.name in unread])["columns"]
    found |= columns_of(tables) | {"unmapped": unmapped} | headers
    write_json(home / "intake.json", _renamed(found, home, names))
    flight.attrs |= {"id": title, "title": f"flight {title}", **_calibration_files(home, names)}
    clean = flight if flight.attrs["level"] == "denoised" else None
    measured = _measured(flight) if clean is not None else pipeline.prepare(flight)
    result = _keep(home, measured, clean, run=run, model=model, progress=progress) | {"saved": found["saved_suite"]}
    received = live_run(home / "recording", measured) if live is not None else None
    if live is not None and received is not None:
        _keep_run(home, received, live, progress)
        result["live"] = live
    return result


def denoise(*, progress: Progress, folder: str, run: str, model: str, strength: float, full: str | None) -> Result:
    """Run a model on a flight; `full` is an existing run of it at full strength, reused if it estimates readings."""
    home = Path(folder)
    flight = read_flight(home / "flight.nc")
    progress(0.05, f"denoising with {model}")
    before = read_flight(home / "runs" / full / "clean.nc") if full is not None else None
    is_blendable = before is not None and not any(v.attrs.get("target") == "ambient" for v in before.values())
    chosen = StoredEstimate(before) if before is not None and is_blendable else model
    clean = pipeline.denoise(flight, model=chosen, strength=strength, progress=_part(progress, 0.05, 0.75, model))
    _keep_run(home, clean, run, progress)
    return {}


def clean_air(*, progress: Progress, folder: str, run: str, periods: list[list[float]]) -> Result:
    """State the clean air of a run and look for its plumes again; its exported files are outdated."""
    home = Path(folder)
    progress(0.05, "reading the run")
    clean = read_flight(home / "runs" / run / "clean.nc")
    stamps = ["/".join(f"{np.datetime64(round(ms), 'ms')}Z" for ms in period) for period in periods]
    suite = suite_of(clean)
    plumes = suite.plumes.model_copy(update={"clean_air": tuple(stamps)})
    clean.attrs["suite"] = suite.model_copy(update={"plumes": plumes}).model_dump_json(exclude_defaults=True)
    for text in stamps:
        stated_samples(clean["time"].values, parse_period(text))
    for exported in (home / "runs" / run).glob("clean.*"):
        if exported.name != "clean.nc":
            exported.unlink()
    _keep_run(home, clean, run, progress)
    return {}


def export(*, progress: Progress, folder: str, run: str | None, form: str, path: str) -> Result:
    """Export a flight or run in another format, or as a report."""
    home = Path(folder)
    progress(0.1, f"writing {form}")
    flight = read_flight(home / "flight.nc" if run is None else home / "runs" / run / "clean.nc")
    if form == "html":
        report(flight, path, truth=_truth(home))
    else:
        write_flight(flight, path)
    return {}


def gallery(*, progress: Progress, folder: str, run: str, model: str, title: str) -> Result:
    """Simulate the example flight, with its truth."""
    from pc2dae.simulate.campaign import simulate_flight, write_flight_files

    home = Path(folder)
    progress(0.02, "simulating a flight")
    made = simulate_flight(GALLERY["seed"], GALLERY["minutes"])  # type: ignore[arg-type]
    logs = write_flight_files(made, home / "simulated")
    (home / "simulated" / f"{logs.name}.truth.nc").replace(home / "truth.nc")
    progress(0.15, "reading its logs")
    flight, found = pipeline.ingest([logs])
    write_json(home / "intake.json", found.as_dict() | {"columns": [], "time_columns": [], "unmapped": []})
    flight.attrs |= {"id": title, "title": f"simulated flight {title}"}
    return _keep(home, flight, None, run=run, model=model, progress=progress)


KINDS: dict[str, Callable[..., Result]] = {"intake": intake, "run": denoise, "export": export, "gallery": gallery,
                                     "clean_air": clean_air}  # fmt: skip


class StoredEstimate:
    """A denoiser that returns the estimate of a run at full strength, so that another strength needs no model."""

    latency_s = np.inf

    def __init__(self, clean: xr.Dataset) -> None:
        self.clean = clean
        self.name = str(clean.attrs["pc2dae_model"])
        self.sha256 = str(clean.attrs["pc2dae_model_sha256"])
        self.suite = denoised_suite(clean)

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The stored estimate for the channels of `suite`."""
        none = np.full(self.clean.sizes["time"], np.nan)

        def rows(kind: str) -> Floats:
            names = [f"{name}{kind}" for name in suite.names]
            return np.stack([self.clean[n].values.astype(np.float64) if n in self.clean else none for n in names])

        def job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            sigmas = [own_uncertainty(self.clean, name) for name in suite.names]
            known = [sigma for sigma in sigmas if sigma is not None and np.isfinite(sigma).any()]
            sigma = np.stack([none if s is None else s for s in sigmas]) if known else None
            return Estimate(rows(""), rows("_unbounded"), sigma)

        return job


def _calibration_files(home: Path, names: Mapping[str, str]) -> dict[str, str]:
    """The attribute that names the file of each calibration."""
    found = {read_calibration(p).digest[:12]: names.get(p.name, p.name) for p in calibrations(home)}
    return {FILES: json.dumps(found)} if found else {}


def _keep(
    home: Path, flight: xr.Dataset, clean: xr.Dataset | None, *, run: str, model: str, progress: Progress
) -> Result:
    """Store a flight and its first run; a flight that cannot be denoised is stored as measured."""
    progress(0.35, "inspecting every channel")
    write_flight(flight, home / "flight.nc")
    write_flight_facts(home, FlightView(flight, _truth(home)))
    started = time.perf_counter()
    try:
        if clean is None:
            clean = pipeline.denoise(flight, model=model, progress=_part(progress, 0.5, 0.85, model))
        _keep_run(home, clean, run, progress)
    except Pc2daeError as error:
        return {"run_error": Exception.__str__(error), "run_hint": error.hint}
    return {"method": clean.attrs["pc2dae_model"], "strength": float(clean.attrs["pc2dae_strength"]),
            "seconds": round(time.perf_counter() - started, 2)}  # fmt: skip


def _keep_run(home: Path, clean: xr.Dataset, run: str, progress: Progress) -> None:
    progress(0.87, "scoring, finding plumes")
    folder = home / "runs" / run
    folder.mkdir(parents=True, exist_ok=True)
    write_flight(clean, folder / "clean.nc")
    truth = _truth(home)
    write_run_facts(folder, FlightView(clean, truth, pipeline.evaluate(clean, truth=truth)))
    progress(1.0, "done")


def _measured(clean: xr.Dataset) -> xr.Dataset:
    """A denoised flight with its raw values restored, so that other methods can be run on it."""
    if not any(str(name).endswith("_raw") for name in clean.data_vars):
        raise FlightError("the flight is denoised and lacks the raw values", hint="drop its .nc file, or the logs")
    names = [str(n).removesuffix("_raw") for n in clean.data_vars if str(n).endswith("_raw")]
    made = [variable.of(name) for name in names for variable in CHANNEL_VARIABLES if variable.by == "denoise"]
    back = as_measured(without_species(clean)).drop_vars(made, errors="ignore")
    back.attrs = {k: v for k, v in back.attrs.items() if not str(k).startswith("pc2dae_")}
    return add_history(back, "restored the raw values", level="compensated")


def _truth(home: Path) -> xr.Dataset | None:
    return read_netcdf(home / "truth.nc") if (home / "truth.nc").is_file() else None


def _part(progress: Progress, first: float, last: float, model: str) -> Callable[[int, int], None]:
    """Progress of denoising, mapped to its share of the whole job."""
    return lambda done, total: progress(first + (last - first) * done / max(total, 1), f"denoising with {model}")


def _renamed(data: Any, home: Path, names: Mapping[str, str]) -> Any:
    """The text with stored file names replaced by the original ones."""
    if isinstance(data, str):
        text = data.replace(f"{home / 'uploads'}/", "").replace(str(home / "uploads"), "the upload")
        for ours, theirs in names.items():
            text = text.replace(ours, theirs)
        return text
    if isinstance(data, Mapping):
        return {key: _renamed(value, home, names) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_renamed(value, home, names) for value in data]
    return data
