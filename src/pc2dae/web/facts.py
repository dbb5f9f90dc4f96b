"""What the page says about a flight and its runs: made by the worker with the library's own words, kept as JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pc2dae.atomic import write_text
from pc2dae.flags import FLAGS
from pc2dae.flight.schema import check_flight
from pc2dae.flight.truth import truth_at
from pc2dae.inspection import inspect_flight
from pc2dae.report.panels import COVERAGE_90, KINDS, kinds
from pc2dae.report.plume_tables import Plumes, plumes_of, says
from pc2dae.report.summary import channel_facts, lead
from pc2dae.report.track import metres
from pc2dae.suite import Suite
from pc2dae.web.columns import Span, runs_of, write_columns

MOST_SPANS = 300  # of flags per channel
_SPECIES = {"bc": "BC", "co": "CO", "co2": "CO₂", "nox": "NOₓ"}


def write_json(path: Path, data: Any) -> None:
    """Write JSON, what is not known as null."""
    write_text(path, json.dumps(plain(data), allow_nan=False, separators=(",", ":")))


def plain(data: Any) -> Any:
    """The same data in what JSON knows."""
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, np.generic):
        return plain(data.item())
    return None if isinstance(data, float) and not math.isfinite(data) else data


def milliseconds(time: Any) -> NDArray[np.int64]:
    """Stamps as milliseconds since 1970."""
    return np.asarray(time, "datetime64[ms]").astype(np.int64)


def write_flight_facts(folder: Path, flight: xr.Dataset, truth: xr.Dataset | None) -> None:
    """`facts.json`, `flags.json` and `columns.npz` of a flight as measured."""
    suite = check_flight(flight)
    told = inspect_flight(flight)
    time = milliseconds(flight["time"].values)
    position = metres(flight)
    columns: dict[str, NDArray[Any]] = {"time": time}
    columns |= {name: flight[name].values.astype(np.float32) for name in suite.names}
    if position is not None:
        columns["track east"], columns["track north"] = position
        if "altitude" in flight:
            columns["track altitude"] = flight["altitude"].values.astype(np.float32)
    if truth is not None:
        columns |= _truth_columns(flight, suite, truth)
    write_columns(folder / "columns.npz", columns)
    write_text(folder / "suite.json", suite.model_dump_json(exclude_defaults=True))
    write_json(folder / "flags.json", {n: flag_spans(flight[f"qc_{n}"].values, time) for n in suite.names})
    facts = {
        "suite": suite.name,
        "start": int(time[0]),
        "end": int(time[-1]),
        "span_s": told["duration_s"],
        "rate_hz": suite.rate_hz,
        "channels": [_channel(told["channels"][c.name], c.name, c.long_name, c.lower_bound) for c in suite.channels],
        "verdicts": told["families"],
        "motion": told["motion"],
        "environment": told["environment"],
        "gaps": told["gaps"],
        "has_track": position is not None,
        "has_truth": truth is not None,
    }
    write_json(folder / "facts.json", facts)


def write_run_facts(folder: Path, clean: xr.Dataset, scores: pd.DataFrame) -> None:
    """`facts.json`, `plumes.json`, `scores.json` and `columns.npz` of a denoised flight."""
    suite = check_flight(clean)
    done = [c for c in suite.channels if f"{c.name}_raw" in clean]
    columns: dict[str, NDArray[Any]] = {}
    for c in done:
        value = clean[c.name].values.astype(np.float64)
        columns[c.name] = value.astype(np.float32)
        columns[f"{c.name} unbounded"] = clean[f"{c.name}_unbounded"].values.astype(np.float32)
        if f"{c.name}_uncertainty" in clean:
            reach = COVERAGE_90 * clean[f"{c.name}_uncertainty"].values.astype(np.float64)
            columns[f"{c.name} low"] = np.maximum(value - reach, c.lower_bound).astype(np.float32)
            columns[f"{c.name} high"] = (value + reach).astype(np.float32)
    write_columns(folder / "columns.npz", columns)
    plumes = plumes_of(clean, suite)
    write_json(folder / "plumes.json", _plumes(clean, suite, plumes))
    means = scores[scores["channel"] == "all"]
    write_json(folder / "scores.json", means[["method", "family", "metric", "value"]].to_dict("records"))
    told = [channel_facts(clean, c) for c in suite.channels]
    facts = {
        "model": str(clean.attrs.get("pc2dae_model", "")),
        "lead": lead(clean, suite, told, len(plumes.intervals)),
        "channels": {f.name: {"uncertainty": f.uncertainty, "below": f.below_after} for f in told if f.denoised},
        "left_raw": [] if (left := str(clean.attrs["pc2dae_left_raw"])) == "none" else left.split("; "),
        "has_band": any(f"{c.name}_uncertainty" in clean for c in done),
    }
    write_json(folder / "facts.json", facts)


def flag_spans(bits: NDArray[np.int32], time: NDArray[np.int64]) -> list[Span]:
    """Stretches of flags as the report groups them; close ones are joined until few enough remain."""
    step = int(np.median(np.diff(time))) if len(time) > 1 else 1000
    found = runs_of(kinds(bits))
    near = 0
    while len(joined := _joined(found, near)) > MOST_SPANS:
        near = 2 * near + 1
    return [(int(time[a]), int(time[b - 1]) + step, kind, _words(bits[a:b], kind)) for a, b, kind in joined]


def _joined(found: list[tuple[int, int, int]], near: int) -> list[tuple[int, int, int]]:
    """Stretches of one kind that are at most `near` samples apart, as one."""
    last: dict[int, int] = {}
    out: list[tuple[int, int, int]] = []
    for a, b, kind in found:
        if kind in last and a - out[last[kind]][1] <= near:
            out[last[kind]] = (out[last[kind]][0], b, kind)
        else:
            last[kind] = len(out)
            out.append((a, b, kind))
    return out


def _words(bits: NDArray[np.int32], kind: int) -> str:
    set_here = int(np.bitwise_or.reduce(bits))
    mine = [name for name, bit in FLAGS.items() if set_here & bit and int(kinds(np.array([bit], np.int32))[0]) == kind]
    return ", ".join(name.replace("_", " ") for name in mine) or KINDS[kind]


def _channel(told: dict[str, Any], name: str, long_name: str | None, bound: float) -> dict[str, Any]:
    return {
        "name": name,
        "long_name": long_name or name,
        "family": told["family"],
        "units": told["units"],
        "lower_bound": bound,
        "noise": told["noise_sigma"],
        "lag1": told["noise_lag1"],
        "t90_s": told["t90_s"],
        "blur_m": told.get("blur_mean_m"),
        "below": told["below_bound"],
        **{key: told[key] for key in ("negative", "observed", "missing", "stale")},
    }


def _truth_columns(flight: xr.Dataset, suite: Suite, truth: xr.Dataset) -> dict[str, NDArray[Any]]:
    """What the simulation knows, at the flight's times and at or above the bound."""
    at = truth_at(truth, flight)
    known = [c for c in suite.channels if f"{c.name}_response" in at]
    return {
        f"{c.name} truth": np.maximum(at[f"{c.name}_response"].values, c.lower_bound).astype(np.float32) for c in known
    }


def _plumes(clean: xr.Dataset, suite: Suite, plumes: Plumes) -> dict[str, Any]:
    """Encounters per channel, a line per crossing of smoke, and the ratios of the whole flight; times in ms."""
    time = milliseconds(clean["time"].values)
    encounters, ratios = plumes.survey.encounters.copy(), plumes.survey.ratios
    for name in ("onset", "end", "peak_time"):
        if name in encounters:
            encounters[name] = milliseconds(encounters[name].to_numpy())
    species = [s for s in _SPECIES if s in plumes.species]
    units = {_SPECIES[s]: f"{plumes.species[s].units} s" for s in species}
    table = []
    for i, (start, stop) in enumerate(plumes.intervals, 1):
        excess = {s: plumes.species[s].over((start, stop)) for s in species}
        mine = ratios[(ratios["scope"] == f"encounter {i}") & (ratios["method"] == "integral")]
        rate = suite.rate_hz
        table.append({
            "from": time[start],
            "to": time[stop - 1],
            "duration_s": (stop - start) / rate,
            "excess": {_SPECIES[s]: [e.value / rate, e.sigma / rate] for s, e in excess.items()},
            "ratios": {row["ratio"]: [row["value"], row["sigma"]] for row in mine.to_dict("records")},
        })  # fmt: skip
    whole = ratios[ratios["scope"] == "flight"]
    if len(whole):
        units |= dict(zip(whole["ratio"], whole["units"], strict=True))
        whole = whole[["ratio", "method", "value", "sigma", "units"]]
    mce = whole[whole["ratio"] == "mce"] if len(whole) else whole
    return {
        "intervals": [[time[a], time[b - 1]] for a, b in plumes.intervals],
        "encounters": encounters.to_dict("records"),
        "table": table,
        "units": units,
        "ratios": whole.to_dict("records"),
        "mce_says": says(float(mce["value"].iloc[0])) if len(mce) else None,
    }
