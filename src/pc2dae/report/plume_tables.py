"""The plumes of a flight as people read them: one line per encounter, and the emission ratios of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.errors import FlightError
from pc2dae.plumes import Survey, survey
from pc2dae.plumes.survey import (
    ENCOUNTER_COLUMNS,
    LEAST_CORRELATION,
    RATIO_COLUMNS,
    Signal,
    channel_signals,
    encounter_intervals,
    species_signals,
    without_slope,
)
from pc2dae.report.figure import stamp
from pc2dae.report.formatting import Row, Table, clock, plus_minus, units
from pc2dae.suite import Suite

_SPECIES = {"bc": "BC", "co": "CO", "co2": "CO₂", "nox": "NOₓ"}
_RATIOS = {"bc/co": "ΔBC/ΔCO", "nox/co": "ΔNOₓ/ΔCO", "co/co2": "ΔCO/ΔCO₂", "mce": "MCE"}
_METHODS = {"integral": "integrals", "slope": "orthogonal regression"}


@dataclass(frozen=True)
class Plumes:
    """The survey of a flight, and when it was in smoke."""

    survey: Survey
    species: dict[str, Signal]
    intervals: list[tuple[int, int]]  # samples


def plumes_of(flight: xr.Dataset, suite: Suite) -> Plumes:
    """Look for plumes; a flight without an observation has none."""
    try:
        found = survey(flight)
    except FlightError:
        none, no_ratio = pd.DataFrame(columns=ENCOUNTER_COLUMNS), pd.DataFrame(columns=RATIO_COLUMNS)
        return Plumes(Survey(none, no_ratio, none), {}, [])
    species = species_signals(channel_signals(flight, suite), suite)
    return Plumes(found, species, encounter_intervals(species, suite.rate_hz))


def clearest(plumes: Plumes, candidates: Sequence[str]) -> str:
    """Of some channels the one whose plumes stand highest above its noise; the first where none has any."""
    encounters = plumes.survey.encounters
    mine = encounters[encounters["channel"].isin(candidates)]
    return candidates[0] if mine.empty else str(mine.groupby("channel")["snr"].max().fillna(0.0).idxmax())


def plume_spans(flight: xr.Dataset, plumes: Plumes) -> list[tuple[str, str]]:
    """Begin and end of every encounter, for the page's script."""
    time = flight["time"].values
    return [(stamp(time[start]), stamp(time[stop - 1])) for start, stop in plumes.intervals]


def plume_table(flight: xr.Dataset, plumes: Plumes, suite: Suite) -> Table | None:
    """One line per encounter: when, how long, integrated excess of each species, its ratios."""
    if not plumes.intervals:
        return None
    time, rate = flight["time"].values, suite.rate_hz
    species = [s for s in _SPECIES if s in plumes.species]
    per = plumes.survey.ratios
    kinds = [k for k in _RATIOS if (per["ratio"] == k).any()]
    head = [
        "",
        "from\n[UTC]",
        "length\n[s]",
        *(f"∫Δ{_SPECIES[s]}\n[{units(plumes.species[s].units)} s]" for s in species),
    ]
    head += [_with_units(k, per) for k in kinds]
    rows = []
    for i, (start, stop) in enumerate(plumes.intervals):
        cells = [str(i + 1), clock(time[start]), f"{(stop - start) / rate:.0f}"]
        for s in species:
            excess = plumes.species[s].over((start, stop))
            cells.append(plus_minus(excess.value / rate, excess.sigma / rate))
        mine = per[(per["scope"] == f"encounter {i + 1}") & (per["method"] == "integral")]
        cells += [_cell(mine[mine["ratio"] == k]) for k in kinds]
        rows.append(Row(cells, plume=i))
    return Table(
        head, rows, note="– : the denominator's excess is below three times its uncertainty, so a ratio says nothing."
    )


def ratio_table(plumes: Plumes) -> Table | None:
    """The emission ratios of the whole flight, by integrals and by regression."""
    whole = plumes.survey.ratios[plumes.survey.ratios["scope"] == "flight"]
    if whole.empty:
        return None
    methods = [m for m in _METHODS if (whole["method"] == m).any()]
    rows = []
    for kind, label in _RATIOS.items():
        mine = whole[whole["ratio"] == kind]
        if len(mine):
            cells = [_cell(mine[mine["method"] == m]) for m in methods]
            rows.append(Row([label, units(str(mine["units"].iloc[0]).replace("1", "–")), *cells, _said(kind, mine)]))
    head = ["ratio", "unit", *(_METHODS[m] for m in methods), ""]
    unlike = ", ".join(_RATIOS[kind] for kind in without_slope(whole))
    note = f"{unlike}: the two hardly rise together (r below {LEAST_CORRELATION:g}), so a regression says nothing."
    return Table(head, rows, frozenset({0, 1, len(head) - 1}), note=note if unlike else "")


def _with_units(kind: str, ratios: pd.DataFrame) -> str:
    unit = str(ratios.loc[ratios["ratio"] == kind, "units"].iloc[0])
    return _RATIOS[kind] if unit == "1" else f"{_RATIOS[kind]}\n[{units(unit)}]"


def _cell(rows: pd.DataFrame) -> str:
    """Value and uncertainty of the one row there is, or –."""
    if rows.empty:
        return "–"
    return plus_minus(float(rows["value"].to_numpy()[0]), float(rows["sigma"].to_numpy()[0]))


def _said(kind: str, rows: pd.DataFrame) -> str:
    value = float(rows["value"].to_numpy()[0])
    return says(value) if kind == "mce" and np.isfinite(value) else ""


def says(mce: float) -> str:
    """What a combustion efficiency means: above about 0.95 flames, below about 0.90 smouldering."""
    return "mostly flaming" if mce > 0.95 else "mostly smouldering" if mce < 0.9 else "flaming and smouldering"
