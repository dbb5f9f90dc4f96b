"""Every real record in full through every door, and how well its estimates keep to the samples.

    python benchmarks/real_records.py [FOLDER ...] [--short] [--models adaptive,adaptive-short] [--json FILE]

A line per record, model and profile: estimates outside the range of the samples within reach, estimates missing or
made up, the largest |estimate − sample| in units of the channel's noise, seconds. Below it, what the other doors say of
the record. `--short` takes the shortened records of the tests. The records lie in ../shared/data or PC2DAE_REAL_DATA.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))
import real_checks as checks
import real_doors as doors
from real_data import ABSENT, DATA, RECORDS, RealRecord

import pc2dae
from pc2dae.errors import Pc2daeError
from pc2dae.plumes import survey
from pc2dae.suite import load_suite

COLUMNS = f"{'record':58}{'rows':>8}{'ch':>3} {'model':16}{'profile':8}{'outside':>8}{'missing':>8}{'σ':>8}{'s':>7}"
SMALLEST = "adaptive-causal"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="only these folders, or parts of a record's name")
    parser.add_argument("--short", action="store_true", help="the shortened records of the tests")
    parser.add_argument("--models", default=",".join(checks.MODELS), help="separated by commas")
    parser.add_argument("--json", type=Path, help="write the lines to this file as well")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(ABSENT)
    warnings.simplefilter("error")
    records = [r for r in RECORDS if not chosen.folders or any(word in r.id for word in chosen.folders)]
    lines: list[dict[str, Any]] = []
    print(COLUMNS)
    for record in records:
        if record.source.is_file():
            lines += run(record, chosen.models.split(","), is_short=chosen.short)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(lines, indent=1), encoding="utf-8")
    kinds = ("outside", "missing", "other")
    totals = {kind: sum(bool(line.get(kind)) for line in lines) for kind in kinds}
    print(f"{len(lines)} lines: " + ", ".join(f"{count} with {kind}" for kind, count in totals.items()))


def run(record: RealRecord, models: list[str], *, is_short: bool) -> list[dict[str, Any]]:
    """All lines of one record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = record.write(folder, whole=not is_short)
        begun = time.perf_counter()
        try:
            flight = pc2dae.open_flight(path, suite=record.suite_path, zone=record.zone)
        except Pc2daeError as error:
            print(f"{record.id:58} refused: {error}")
            return [{"record": record.id, "other": str(error)}]
        opened_s = time.perf_counter() - begun
        lines = [_line(record, flight, model, profile) for model in models for profile in checks.PROFILES]
        doors_of = _other_doors(record, path, flight, folder, models)
        print(f"  read in {opened_s:.1f} s; " + "; ".join(f"{door} {said}" for door, said in doors_of.items()))
        wrong = {door: said for door, said in doors_of.items() if not said.startswith("ok")}
        return [*lines, {"record": record.id, "other": wrong}]


def _line(record: RealRecord, flight: xr.Dataset, model: str, profile: str) -> dict[str, Any]:
    rows = flight.sizes["time"]
    doors.loaded(model, profile)  # not timed
    begun = time.perf_counter()
    line: dict[str, Any] = {"record": record.id, "rows": rows, "model": model, "profile": profile}
    try:
        clean = doors.denoised(flight, model, profile)
    except (Pc2daeError, Warning) as error:
        print(f"{record.id:58}{rows:8,}    {model:16}{profile:8} {type(error).__name__}: {error}")
        return line | {"other": str(error)}
    seconds = time.perf_counter() - begun
    names = checks.denoised_names(clean)
    outside = {name: checks.outside_raw_range(clean, name, profile=profile) for name in names}
    missing = {name: checks.missing_mismatches(clean, name) for name in names}
    away = {name: checks.departure(clean, name, profile=profile) for name in names}
    largest = max((x for x in away.values() if np.isfinite(x)), default=np.nan)
    print(f"{record.id:58}{rows:8,}{len(names):3} {model:16}{profile:8}{sum(outside.values()):8,}"
          f"{sum(missing.values()):8,}{largest:8.1f}{seconds:7.2f}")  # fmt: skip
    for fault in checks.faults(clean, profile=profile):
        print(f"    {fault}")
    return line | {
        "outside": {name: count for name, count in outside.items() if count},
        "missing": {name: count for name, count in missing.items() if count},
        "sigmas": away,
        "seconds": round(seconds, 3),
    }


def _other_doors(record: RealRecord, path: Path, flight: xr.Dataset, folder: Path, models: list[str]) -> dict[str, str]:
    """What every other door says of the record: "ok", or what was wrong."""
    suite = load_suite(record.suite_path) if record.suite_path is not None else None

    def stream(model: str) -> str:
        found = doors.stream_mismatches(doors.denoised(flight, model, "live"), model)
        return ", ".join(f"{name} differs at {count:,} samples" for name, count in found.items())

    def plumes() -> str:
        survey(doors.denoised(flight, SMALLEST, "flight"))
        return ""

    def report() -> str:
        pc2dae.report(doors.denoised(flight, SMALLEST, "flight"), folder / "report.html")
        return ""

    def archive() -> str:
        _, line = doors.archived(path, folder, suite=suite, zone=record.zone, model=SMALLEST)
        return line["error"] or ""

    def upload() -> str:
        doors.uploaded(path, folder, suite=record.suite_path, zone=record.zone, model=SMALLEST)
        return ""

    every: dict[str, Callable[[], str]] = {f"stream {model}": (lambda m=model: stream(m)) for model in models}
    every |= {"plumes": plumes, "report": report, "archive": archive, "upload": upload}
    said = {}
    for door, through in every.items():
        begun = time.perf_counter()
        try:
            found = through()
        except (Exception, Warning) as error:  # noqa: BLE001 (the table is to say it, and to go on)
            found = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        said[door] = found or f"ok {time.perf_counter() - begun:.1f} s"
    return said


if __name__ == "__main__":
    main()
