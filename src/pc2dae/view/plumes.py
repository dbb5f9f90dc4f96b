"""The plumes of a flight: one row per encounter, and the emission ratios of the whole flight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pc2dae.errors import FlightError
from pc2dae.plumes import Survey, survey
from pc2dae.plumes.emission import NAMES
from pc2dae.plumes.ratio_rows import LEAST_CORRELATION, RATIOS
from pc2dae.plumes.survey import (
    ENCOUNTER_COLUMNS,
    FACTOR_COLUMNS,
    RATIO_COLUMNS,
    without_slope,
)
from pc2dae.plumes.systematic import assumed_text
from pc2dae.suite import Suite
from pc2dae.view.formatting import Row, Table, clock, plus_minus, units

SPECIES = {"bc": "BC", "co": "CO", "co2": "CO₂", "nox": "NOₓ", "pm25": "PM2.5"}
_METHODS = {"integral": "integrals", "slope": "York regression"}


def _label(ratio: str) -> str:
    """A ratio as tables show it."""
    return "MCE" if ratio == "mce" else "/".join(f"Δ{SPECIES.get(part, part)}" for part in ratio.split("/"))


def _kinds(ratios: pd.DataFrame) -> list[str]:
    """The ratios that there are: the usual ones in their order, then others."""
    return [kind for kind in dict.fromkeys((*RATIOS, "mce", *ratios["ratio"])) if (ratios["ratio"] == kind).any()]


def plumes_of(flight: xr.Dataset) -> Survey:
    """Look for plumes; a flight without an observation has none."""
    try:
        return survey(flight)
    except FlightError:
        none, no_ratio = pd.DataFrame(columns=ENCOUNTER_COLUMNS), pd.DataFrame(columns=RATIO_COLUMNS)
        return Survey(none, no_ratio, none, pd.DataFrame(columns=FACTOR_COLUMNS))


def clearest(plumes: Survey, candidates: Sequence[str]) -> str:
    """Of some channels the one whose plumes stand highest above its noise; the first where none has any."""
    peaks, signals = plumes.encounters.groupby("channel")["peak"].max().to_dict(), plumes.signals
    heights = {n: peaks[n] / signals[n].sigma for n in sorted(candidates) if n in peaks and signals[n].sigma > 0}
    return max(heights, key=lambda name: heights[name], default=candidates[0])


def milliseconds(time: Any) -> NDArray[np.int64]:
    """Time stamps as milliseconds since 1970."""
    return np.asarray(time, "datetime64[ms]").astype(np.int64)


def plume_table(flight: xr.Dataset, plumes: Survey, suite: Suite) -> Table | None:
    """One row per encounter: time, duration, integrated excess of each species, ratios."""
    if not plumes.intervals:
        return None
    time, rate = flight.variables["time"].values, suite.rate_hz
    species = [s for s in SPECIES if s in plumes.species]
    per = plumes.ratios
    kinds = _kinds(per)
    excess = {s: [plumes.species[s].over(interval) for interval in plumes.intervals] for s in species}
    # In thousands where values are large, or the table is wider than a tablet.
    scale = {s: 1000.0 if np.median([abs(e.value) for e in excess[s]]) / rate >= 10_000 else 1.0 for s in species}
    head = ["", "", "from\n[UTC]", "length\n[s]"]
    for s in species:
        head.append(f"∫Δ{SPECIES[s]}\n[{'10³ ' if scale[s] > 1 else ''}{units(plumes.species[s].units)} s]")
    head += [_with_units(k, per) for k in kinds]
    found, rows = _integral_ratios(per), []
    for i, (start, stop) in enumerate(plumes.intervals):
        cells = [str(i + 1), plumes.kinds[i], clock(time[start]), f"{(stop - start) / rate:.0f}"]
        cells += [plus_minus(*(v / rate / scale[s] for v in (excess[s][i].value, excess[s][i].sigma))) for s in species]
        mine = found.get(f"encounter {i + 1}", {})
        cells += [plus_minus(*mine[k]) if k in mine else "–" for k in kinds]
        rows.append(Row(cells, plume=i))
    note = "Excess over background, integrated from the unbounded estimate; ± is one standard uncertainty: noise, "
    note += "calibration and the choice of background. Smoke: two tracers of combustion rise and vary together. "
    note += "–: one of the two was not measured, or the denominator's excess is below three times its uncertainty."
    if (background := plumes.background) is not None:
        note += f" Background: {background.reason}."
    return Table(head, rows, (0, 1, 2), note=note)


def peak_table(flight: xr.Dataset, plumes: Survey) -> Table | None:
    """One row per encounter: the highest excess of each species."""
    if not plumes.intervals:
        return None
    time, species = flight.variables["time"].values, [s for s in SPECIES if s in plumes.species]
    rows = [
        Row([str(i + 1), clock(time[part[0]]), *(plus_minus(*plumes.species[s].peak(part)) for s in species)], plume=i)
        for i, part in enumerate(plumes.intervals)
    ]
    head = ["", "from\n[UTC]", *(f"Δ{SPECIES[s]}\n[{units(plumes.species[s].units)}]" for s in species)]
    note = "± is one standard uncertainty: that of the estimate at the peak, as stated, and of the background."
    return Table(head, rows, (0, 1), title="Peaks above background", note=note)


def ratio_table(plumes: Survey) -> Table | None:
    """The emission ratios of the whole flight, by integrals and by regression."""
    whole = plumes.ratios[plumes.ratios["scope"] == "flight"]
    if whole.empty:
        return None
    methods = [m for m in _METHODS if (whole["method"] == m).any()]
    rows = []
    for kind in _kinds(whole):
        mine = whole[whole["ratio"] == kind]
        preferred = mine[mine["is_preferred"]]
        best_row = preferred.iloc[0].to_dict() if len(preferred) else {}
        cells = [_cell(mine[mine["method"] == m]) for m in methods]
        cells += [f"{best_row[part]:.2g}" if best_row else "–" for part in ("random_sigma", "systematic_sigma")]
        judged = combustion(best_row["value"]) if kind == "mce" and np.isfinite(best_row.get("value", np.nan)) else ""
        best = tuple(2 + i for i, m in enumerate(methods) if len(methods) > 1 and (preferred["method"] == m).any())
        unit = units(str(mine["units"].iloc[0]).replace("1", "–"))
        rows.append(Row([_label(kind), unit, *cells, f"{100 * mine['share'].iloc[0]:.0f} %", judged], best=best))
    head = ["ratio", "unit", *(_METHODS[m] for m in methods), "± random", "± systematic", "both measured", ""]
    unlike = ", ".join(map(_label, without_slope(whole)))
    notes = ["Bold: the method with the smaller uncertainty."] if len(methods) > 1 else []
    notes += [f"{unlike}: correlation below {LEAST_CORRELATION:g}, so no regression is given."] if unlike else []
    doubted = [kind for kind in _kinds(whole) if not whole.loc[whole["ratio"] == kind, "is_preferred"].any()]
    for reason, some in whole[whole["ratio"].isin(doubted)].groupby("reason", sort=False):
        names = ", ".join(_label(str(kind)) for kind in dict.fromkeys(some["ratio"]))
        notes.append(f"{names}: not to be relied on; {reason}.")
    if assumed := assumed_text(plumes.assumed_gains):
        notes.append(f"{assumed[0].upper()}{assumed[1:]}.")
    return Table(head, rows, (0, 1, len(head) - 1), title="Emission ratios of the whole flight", note=" ".join(notes))


def factor_table(plumes: Survey) -> Table | None:
    """The emission factors of the whole flight and of each encounter."""
    found = plumes.emission_factors
    species = [name for name in NAMES if (found["species"] == name).any()]
    if not species:
        return None
    rows = []
    for scope, mine in found.groupby("scope", sort=False):
        number = int(str(scope).split()[1]) - 1 if scope != "flight" else None
        cells = ["whole flight" if number is None else str(number + 1)]
        rows.append(Row([*cells, *(_cell(mine[mine["species"] == name]) for name in species)], plume=number))
    note = "Carbon mass balance over the species measured; ± is one standard uncertainty, the fuel's carbon included."
    return Table(["", *(NAMES[name] for name in species)], rows, (0,), title="Emission factors [g per kg of dry fuel]",
                 note=" ".join([note, *(f"{line[0].upper()}{line[1:]}." for line in plumes.notes)]))  # fmt: skip


def _integral_ratios(ratios: pd.DataFrame) -> dict[str, dict[str, tuple[float, float]]]:
    """Value and uncertainty of each ratio by integrals, by scope."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    mine = ratios[ratios["method"] == "integral"]
    for scope, ratio, value, sigma in zip(
        *(mine[n].tolist() for n in ("scope", "ratio", "value", "sigma")), strict=True
    ):
        found.setdefault(scope, {})[ratio] = (value, sigma)
    return found


def _with_units(kind: str, ratios: pd.DataFrame) -> str:
    unit = str(ratios.loc[ratios["ratio"] == kind, "units"].iloc[0])
    return _label(kind) if unit == "1" else f"{_label(kind)}\n[{units(unit)}]"


def _cell(rows: pd.DataFrame) -> str:
    """Value and uncertainty of the first row, or –."""
    return "–" if rows.empty else plus_minus(*rows[["value", "sigma"]].to_numpy(np.float64)[0])


def combustion(mce: float) -> str:
    """What a combustion efficiency means: above about 0.95 flaming, below about 0.90 smouldering."""
    return "mostly flaming" if mce > 0.95 else "mostly smouldering" if mce < 0.9 else "flaming and smouldering"


def plume_facts(clean: xr.Dataset, suite: Suite, plumes: Survey) -> dict[str, Any]:
    """Encounters per channel, a row per crossing of smoke, and the ratios of the whole flight, for the API; ms."""
    time, rate = milliseconds(clean.variables["time"].values), suite.rate_hz
    encounters, ratios = plumes.encounters.copy(), plumes.ratios
    for name in ("onset", "end", "peak_time"):
        if name in encounters:
            encounters[name] = milliseconds(encounters[name].to_numpy())
    species = [s for s in SPECIES if s in plumes.species]
    units_of = {SPECIES[s]: f"{plumes.species[s].units} s" for s in species}
    found, table = _integral_ratios(ratios), []
    for i, (start, stop) in enumerate(plumes.intervals, 1):
        excess = {s: plumes.species[s].over((start, stop)) for s in species}
        table.append({
            "kind": plumes.kinds[i - 1],
            "from": time[start],
            "to": time[stop - 1],
            "duration_s": (stop - start) / rate,
            "excess": {SPECIES[s]: [e.value / rate, e.sigma / rate] for s, e in excess.items()},
            "ratios": {ratio: list(pair) for ratio, pair in found.get(f"encounter {i}", {}).items()},
        })  # fmt: skip
    whole = ratios[ratios["scope"] == "flight"]
    if len(whole):
        units_of |= dict(zip(whole["ratio"], whole["units"], strict=True))
        whole = whole.drop(columns=["scope", "onset"])
    mce = whole[whole["ratio"] == "mce"] if len(whole) else whole
    return {
        "intervals": [[time[a], time[b - 1]] for a, b in plumes.intervals],
        "encounters": encounters.to_dict("records"),
        "table": table,
        "units": units_of,
        "ratios": whole.to_dict("records"),
        "emission_factors": plumes.emission_factors.drop(columns="onset").to_dict("records"),
        "background": None if plumes.background is None else plumes.background.facts(),
        "assumed_gains": plumes.assumed_gains,
        "mce_says": combustion(float(mce["value"].iloc[0])) if len(mce) else None,
    }
