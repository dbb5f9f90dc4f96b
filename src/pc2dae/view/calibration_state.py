"""What each channel was calibrated with, how long before the flight, and where the flight leaves its range."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

from pc2dae.calibration.apply import sheet_identity
from pc2dae.calibration.assumed import assumed_gain
from pc2dae.calibration.budget import budget_of
from pc2dae.flags import FILTER_LOADED, OUTSIDE_CALIBRATION
from pc2dae.flight.schema import observed
from pc2dae.suite import Channel, Suite
from pc2dae.view.formatting import Row, Table, number, percent

_METHODS = {"co-location": "co-location", "intervals": "known gas", "pooled": "like payloads"}
FILES = "calibration_files"  # attribute of a flight: JSON, hash of each calibration: name of its file


def calibration_tables(flight: xr.Dataset, suite: Suite) -> list[Table]:
    """One row per channel with an observation."""
    files = json.loads(str(flight.attrs.get(FILES, "{}")))
    rows = [_row(flight, suite, name, files) for name in suite.names if observed(flight, name).any()]
    head = ["channel", "state", "calibrated by", "until", "age\n[days]", "gain\nuncertainty", "range", "filter\nloaded"]
    note = (
        "Age is counted from the end of the calibration to the start of the flight. Range: share of samples flagged"
        " outside_calibration (4096), where concentration or conditions leave those of the calibration and it is"
        " extrapolated. Filter loaded: share flagged filter_loaded (8192)."
    )
    return [Table(head, rows, (0, 1, 2, 3, 6), (2,), title="Calibration", note=note)] if rows else []


def _row(flight: xr.Dataset, suite: Suite, name: str, files: dict[str, str]) -> Row:
    attrs, bits, seen = flight.variables[name].attrs, flight.variables[f"qc_{name}"].values, observed(flight, name)
    budget, curves = budget_of(flight, name), json.loads(str(attrs.get("calibrated_by", "[]")))
    state = "calibrated" if curves else "zero checked" if budget is not None else "not calibrated"
    by = [f"{_METHODS[c['method']]} {files.get(c['sha256'], 'sha256 ' + c['sha256'])}" for c in curves]
    by += ["zero check"] if "zero_checked" in attrs else []
    by += ["factory sheet"] if sheet_identity(flight, suite, name) else []
    by += [f"pressure, exponent {attrs['pressure_exponent']:g}"] if "pressure_exponent" in attrs else []
    by += ["filter loading"] if "loading_correction" in attrs else []
    ends = [c["end"] for c in curves]
    start = flight.variables["time"].values[0]
    ages = [(start - np.datetime64(end.removesuffix("Z"), "ns")) / np.timedelta64(1, "D") for end in ends]
    outside, loaded = (float(np.mean((bits[seen] & flag) != 0)) for flag in (OUTSIDE_CALIBRATION, FILTER_LOADED))
    inside = "within" if curves else "–"
    return Row([
        name, state, ", ".join(by), max(ends)[:10] if ends else "–", number(min(ages, key=abs), 2) if ages else "–",
        percent(budget.gain) if budget is not None and curves else _assumed(suite[name]),
        f"{percent(outside)} outside" if outside > 0 else inside, percent(loaded) if loaded > 0 else "–",
    ])  # fmt: skip


def _assumed(channel: Channel) -> str:
    gain = assumed_gain(channel)
    return f"{percent(gain, 0)} assumed" if gain > 0 else "–"
