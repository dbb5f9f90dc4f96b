"""The one view of a flight that the report embeds and the web worker stores."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.flight.schema import check_flight
from pc2dae.flight.truth import truth_at, truth_name
from pc2dae.inspection import inspect_flight
from pc2dae.metrics.metric_info import METRICS
from pc2dae.plumes import Survey
from pc2dae.plumes.baselines import parse_period
from pc2dae.suite import Suite
from pc2dae.view import quality, summary
from pc2dae.view.calibration_state import calibration_tables
from pc2dae.view.flags import KINDS, MEANINGS, Span, flag_spans
from pc2dae.view.formatting import Table, broken
from pc2dae.view.plumes import (
    clearest,
    factor_table,
    milliseconds,
    peak_table,
    plume_facts,
    plume_table,
    plumes_of,
    ratio_table,
)
from pc2dae.view.profile import profile
from pc2dae.view.scores import budget_tables, score_tables
from pc2dae.view.sensors import sensor_pairs
from pc2dae.view.series import MOST_POINTS, Column, series_json, track_json
from pc2dae.view.spectra import spectra_of
from pc2dae.view.track import heights, mean_wind, metres
from pc2dae.view.uncertainty import budget_bars, uncertainty_tables

COVERAGE_90 = 1.645  # standard uncertainties on either side of the estimate
_MORE_MAY_BE_DAMAGE = ("smoothness", "hf_reduction")


@dataclass(frozen=True)
class FlightView:
    """A flight, denoised or not, with everything that is shown of it; each part is computed when first used."""

    flight: xr.Dataset
    truth: xr.Dataset | None = None
    scores: pd.DataFrame | None = None  # of `pipeline.evaluate`

    @cached_property
    def suite(self) -> Suite:
        """The suite of the flight."""
        return check_flight(self.flight)

    @cached_property
    def inspection(self) -> dict[str, Any]:
        """The flight as measured, inspected."""
        return inspect_flight(summary.as_measured(self.flight))

    @cached_property
    def channels(self) -> list[summary.ChannelFacts]:
        """Figures of every channel."""
        seen = self.inspection["channels"]
        return [summary.channel_facts(self.flight, c, seen[c.name]["t90_s"]) for c in self.suite.channels]

    @cached_property
    def plumes(self) -> Survey:
        """The plume encounters of the flight."""
        return plumes_of(self.flight)

    @cached_property
    def lead(self) -> str:
        """The flight in a few sentences."""
        early = list(dict.fromkeys(self.plumes.begun["channel"]))
        return summary.lead(self.flight, self.suite, self.channels, len(self.plumes.intervals), early)

    @cached_property
    def time(self) -> Column:
        """Time stamps [ms since 1970]."""
        return milliseconds(self.flight.variables["time"].values)

    @cached_property
    def measured(self) -> dict[str, Column]:
        """Raw series, truth and track by name, at full resolution."""
        raw = summary.as_measured(self.flight)
        columns = {"time": self.time} | {name: raw[name].values.astype(np.float32) for name in self.suite.names}
        position = metres(self.flight)
        if position is not None:
            columns["track east"], columns["track north"] = position
        if self.heights is not None:
            columns["track altitude"] = self.heights[0].astype(np.float32)
        return columns | (_truth_columns(self.flight, self.suite, self.truth) if self.truth is not None else {})

    @cached_property
    def heights(self) -> tuple[Array, str] | None:
        """Height [m] over time and what it is above, or None where the flight does not climb."""
        return heights(self.flight, self.suite.rate_hz)

    @cached_property
    def done(self) -> dict[str, Column]:
        """Estimates with their 90 % intervals by name, at full resolution."""
        columns: dict[str, Column] = {}
        for c in self.suite.channels:
            if f"{c.name}_raw" not in self.flight:
                continue
            value = self.flight.variables[c.name].values.astype(np.float64)
            columns[c.name] = value
            for kind in ("unbounded", "response"):
                if f"{c.name}_{kind}" in self.flight:
                    columns[f"{c.name} {kind}"] = self.flight.variables[f"{c.name}_{kind}"].values
            if f"{c.name}_uncertainty" in self.flight:
                reach = COVERAGE_90 * self.flight.variables[f"{c.name}_uncertainty"].values.astype(np.float64)
                columns[f"{c.name} low"] = np.maximum(value - reach, c.lower_bound)
                columns[f"{c.name} high"] = value + reach
                random = self.flight.get(f"{c.name}_random_uncertainty", self.flight[f"{c.name}_uncertainty"])
                columns[f"{c.name} random"] = random.values
        return {name: values.astype(np.float32) for name, values in columns.items()}

    @cached_property
    def flags(self) -> dict[str, list[Span]]:
        """Stretches of flags by channel."""
        return {name: flag_spans(self.flight.variables[f"qc_{name}"].values, self.time) for name in self.suite.names}

    @cached_property
    def spectra(self) -> dict[str, dict[str, list[float]]]:
        """Spectra before and after, by channel."""
        found = {c.name: spectra_of(self.flight, c, self.suite.rate_hz) for c in self.suite.channels}
        return {name: lines for name, lines in found.items() if lines is not None}

    @cached_property
    def sensors(self) -> list[dict[str, Any]]:
        """Every pair of sensors of one species, compared."""
        return sensor_pairs(self.flight, self.suite, self.plumes)

    @cached_property
    def tables(self) -> dict[str, list[Table]]:
        """Every table of the view by section."""
        plumes = [
            plume_table(self.flight, self.plumes, self.suite),
            peak_table(self.flight, self.plumes),
            ratio_table(self.plumes),
            factor_table(self.plumes),
        ]
        return {
            "plumes": [table for table in plumes if table is not None],
            "scores": score_tables(self.scores) if self.scores is not None else [],
            "budget": budget_tables(self.scores) if self.scores is not None else [],
            "uncertainty": [
                *calibration_tables(self.flight, self.suite),
                *uncertainty_tables(self.flight, self.suite, self.plumes.intervals),
            ],
            "quality": [
                *quality.warning_tables(self.inspection),
                quality.verdict_table(self.inspection),
                *quality.figures_tables(self.inspection),
                *quality.lag_tables(self.flight, self.channels),
                quality.channel_table(self.channels, self.inspection),
            ],
        }

    def as_json(self) -> dict[str, Any]:
        """All but the series and the track, in types that JSON has."""
        denoised = [f.name for f in self.channels if f.denoised]
        found = plume_facts(self.flight, self.suite, self.plumes)
        kept = {family: [f for f in denoised if self.suite.family_of(f) == family] for family in self._families}
        data = {
            "lead": self.lead,
            "tiles": [(t.value, t.label) for t in self.tiles],
            "start": self.time[0],
            "end": self.time[-1],
            "step_ms": 1000 / self.suite.rate_hz,
            "families": [{"name": name, "is_open": not denoised or bool(kept[name])} for name in self._families],
            "channels": [
                {"name": f.name, "long_name": f.long_name, "units": f.units, "summary": f.summary,
                 "target": f.target, "lower_bound": self.suite[f.name].lower_bound,
                 "family": self.suite.family_of(f.name)}
                for f in self.channels
            ],
            "first": clearest(self.plumes, denoised or list(self.suite.names)),
            "intervals": found["intervals"],
            "encounters": found["encounters"],
            "clean_air": [milliseconds(parse_period(text)).tolist() for text in self.suite.plumes.clean_air],
            "flag_kinds": KINDS,
            "flag_words": MEANINGS,
            "metrics": {m: (broken(known.full), _target(m)) for m, known in METRICS.items()},
            "tables": {key: [asdict(table) for table in tables] for key, tables in self.tables.items()},
            "budget": budget_bars(self.flight, self.suite, self.plumes.intervals),
            "spectra": self.spectra,
            "wind": mean_wind(self.flight),
            "profile": self._profile,
        }  # fmt: skip
        return dict(plain(data))

    @property
    def tiles(self) -> list[Any]:
        """Key figures in large type."""
        return summary.tiles(self.flight, self.suite, self.channels, len(self.plumes.intervals))

    @property
    def _families(self) -> list[str]:
        return [family.name for family in self.suite.family]

    @property
    def _profile(self) -> dict[str, Any] | None:
        if self.heights is None:
            return None
        height, label = self.heights
        return {"label": label} | profile(self.flight, self.suite.names, height)

    def series(self, points: int = MOST_POINTS) -> str:
        """The series of all channels, thinned, as JSON."""
        rate_hz = self.suite.rate_hz
        return series_json(self.measured, self.done, self.flags, self.suite.names, rate_hz=rate_hz, points=points)

    def track(self) -> str:
        """The track as JSON, null without position and height."""
        return track_json(self.measured)


def plain(data: Any) -> Any:
    """The same data in types that JSON has; numbers that are not finite become null."""
    if data is None or type(data) in (str, int, bool):  # most of it
        return data
    if isinstance(data, float):  # NumPy's is one, too
        return float(data) if math.isfinite(data) else None
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    return plain(data.item()) if isinstance(data, np.generic) else data


def json_text(data: Any) -> str:
    """Compact JSON of any data that `plain` takes."""
    return json.dumps(plain(data), allow_nan=False, separators=(",", ":"))


def _target(metric: str) -> str | float | None:
    """The value of a metric that is best: "high", a number, or None where a higher score may mean damage."""
    good = METRICS[metric].good
    return None if metric in _MORE_MAY_BE_DAMAGE else 0.0 if good == "low" else good


def _truth_columns(flight: xr.Dataset, suite: Suite, truth: xr.Dataset) -> dict[str, Column]:
    """What the channels estimate, from a simulation, at the flight's times, at or above the bound."""
    at = truth_at(truth, flight)
    names = {c: truth_name(flight, c.name) for c in suite.channels}
    return {
        f"{c.name} truth": np.maximum(at[name].values, c.lower_bound).astype(np.float32)
        for c, name in names.items()
        if name in at
    }
