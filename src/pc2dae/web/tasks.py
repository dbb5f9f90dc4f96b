"""What a worker can do: read a flight, denoise it, write it in a format, make the gallery's flight.

Everything is the library's own work; a stranger's names and our own paths never meet in what is told.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from pc2dae import pipeline
from pc2dae.errors import FlightError, LogError, Pc2daeError
from pc2dae.flight.netcdf import read_netcdf
from pc2dae.flight.schema import add_history
from pc2dae.flight.store import is_flight, read_flight, write_flight
from pc2dae.report import report
from pc2dae.report.summary import as_measured
from pc2dae.web.cached_estimate import Remembered
from pc2dae.web.facts import write_flight_facts, write_json, write_run_facts
from pc2dae.web.tables import tables_in

Tell = Callable[[float, str], None]
Result = dict[str, Any]
GALLERY = {"seed": 3, "minutes": 15.0}  # plumes in every family, negatives, gaps and a tape advance


def intake(*, tell: Tell, folder: str, run: str, model: str, title: str, names: Mapping[str, str],
           suite: str | None, zone: str | None) -> Result:  # fmt: skip
    """Read the uploads of a flight and denoise it: flight.nc and what the page needs; then the first run."""
    home = Path(folder)
    tell(0.02, "recognising the instruments")
    try:
        flight, told = _read(home, suite, zone)
    except Pc2daeError as error:
        tables = tables_in(home / "uploads")
        write_json(home / "intake.json", _renamed(tables | {"ignored": [], "sources": [], "notes": []}, home, names))
        hint = "say below what its columns are" if tables["columns"] and suite is None else error.hint
        raise type(error)(_renamed(Exception.__str__(error), home, names), hint=hint) from None
    told |= tables_in(home / "uploads", only=[i["file"] for i in told["ignored"]])
    write_json(home / "intake.json", _renamed(told, home, names))
    flight.attrs |= {"id": title, "title": f"UAV flight {title}"}
    clean = flight if flight.attrs["level"] == "denoised" else None
    measured = _measured(flight) if clean is not None else pipeline.prepare(flight)
    return _keep(home, measured, clean, run=run, model=model, tell=tell)


def denoise(*, tell: Tell, folder: str, run: str, model: str, strength: float, full: str | None) -> Result:
    """One more run of a flight; `full` is the run of the same model at full strength, which need not be made again."""
    home = Path(folder)
    flight = read_flight(home / "flight.nc")
    tell(0.05, f"denoising with {model}")
    chosen = Remembered(read_flight(home / "runs" / full / "clean.nc")) if full is not None else model
    clean = pipeline.denoise(flight, model=chosen, strength=strength, progress=_part(tell, 0.05, 0.75, model))
    _keep_run(home, clean, run, tell)
    return {}


def export(*, tell: Tell, folder: str, run: str | None, form: str, path: str) -> Result:
    """A flight or run in another format, or as the report's page."""
    home = Path(folder)
    tell(0.1, f"writing {form}")
    flight = read_flight(home / "flight.nc" if run is None else home / "runs" / run / "clean.nc")
    if form == "html":
        report(flight, path, truth=_truth(home))
    else:
        write_flight(flight, path)
    return {}


def gallery(*, tell: Tell, folder: str, run: str, model: str, title: str) -> Result:
    """The simulated flight that a newcomer finds, with its truth."""
    from pc2dae.simulate.campaign import simulate_flight, write_flight_files

    home = Path(folder)
    tell(0.02, "simulating a flight")
    made = simulate_flight(GALLERY["seed"], GALLERY["minutes"])  # type: ignore[arg-type]
    logs = write_flight_files(made, home / "simulated")
    (home / "simulated" / f"{logs.name}.truth.nc").replace(home / "truth.nc")
    tell(0.15, "reading its logs")
    flight, told = pipeline.ingest([logs])
    write_json(home / "intake.json", told.as_dict() | {"columns": [], "time_columns": [], "unmapped": []})
    flight.attrs |= {"id": title, "title": f"simulated UAV flight {title}"}
    return _keep(home, flight, None, run=run, model=model, tell=tell)


KINDS: dict[str, Callable[..., Result]] = {"intake": intake, "run": denoise, "export": export, "gallery": gallery}


def _read(home: Path, suite: str | None, zone: str | None) -> tuple[xr.Dataset, Result]:
    files = sorted((home / "uploads").iterdir())
    ours = [file for file in files if is_flight(file)]
    if ours and len(files) > 1 and any(file.suffix == ".nc" for file in ours):
        raise LogError("a netCDF flight beside other files", hint="drop it by itself")
    if len(files) == 1 and ours:
        flight = pipeline.open_flight(files[0], suite=suite, zone=zone)
        told: Result = {"suite": json.loads(flight.attrs["suite"])["name"], "sources": [], "ignored": []}
        return flight, told | {"notes": [f"a flight at level {flight.attrs['level']}"]}
    given = files if len(files) == 1 else [home / "uploads"]
    flight, intake = pipeline.ingest(given, suite=suite, zone=zone)
    return flight, intake.as_dict()


def _keep(home: Path, flight: xr.Dataset, clean: xr.Dataset | None, *, run: str, model: str, tell: Tell) -> Result:
    """Write a flight and its first run; a flight that cannot be denoised is still a flight."""
    tell(0.35, "looking at every channel")
    write_flight(flight, home / "flight.nc")
    write_flight_facts(home, flight, _truth(home))
    begun = time.perf_counter()
    try:
        if clean is None:
            clean = pipeline.denoise(flight, model=model, progress=_part(tell, 0.5, 0.85, model))
        _keep_run(home, clean, run, tell)
    except Pc2daeError as error:
        return {"run_error": Exception.__str__(error), "run_hint": error.hint}
    return {"method": clean.attrs["pc2dae_model"], "strength": float(clean.attrs["pc2dae_strength"]),
            "seconds": round(time.perf_counter() - begun, 2)}  # fmt: skip


def _keep_run(home: Path, clean: xr.Dataset, run: str, tell: Tell) -> None:
    tell(0.87, "scoring, looking for plumes")
    folder = home / "runs" / run
    folder.mkdir(parents=True, exist_ok=True)
    write_flight(clean, folder / "clean.nc")
    write_run_facts(folder, clean, pipeline.evaluate(clean, truth=_truth(home)))
    tell(1.0, "done")


def _measured(clean: xr.Dataset) -> xr.Dataset:
    """A denoised flight as it was before, so that other methods can be tried on it."""
    if not any(str(name).endswith("_raw") for name in clean.data_vars):
        raise FlightError(
            "the flight is denoised and does not hold what was measured", hint="drop the .nc, or the logs"
        )
    made = [n for n in clean.data_vars if str(n).endswith(("_raw", "_unbounded", "_uncertainty"))]
    back = as_measured(clean).drop_vars([n for n in made if str(n).rpartition("_")[0] in clean])
    back.attrs = {k: v for k, v in back.attrs.items() if not str(k).startswith("pc2dae_")}
    return add_history(back, "back to what was measured", level="compensated")


def _truth(home: Path) -> xr.Dataset | None:
    return read_netcdf(home / "truth.nc") if (home / "truth.nc").is_file() else None


def _part(tell: Tell, first: float, last: float, model: str) -> Callable[[int, int], None]:
    """Samples done as a part of the whole job."""
    return lambda done, total: tell(first + (last - first) * done / max(total, 1), f"denoising with {model}")


def _renamed(data: Any, home: Path, names: Mapping[str, str]) -> Any:
    """The same words with the names that people gave their files."""
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
