"""The results of a survey as one wide table: a row for the flight and for each encounter with smoke."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.flight.schema import suite_of
from pc2dae.flight.track import TRACERS
from pc2dae.plumes.excess import add_up
from pc2dae.suite.species import species_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from pc2dae.plumes.survey import Survey

FIXED = (
    "flight",
    "scope",
    "number",
    "kind",
    "onset",
    "end",
    "duration_s",
    "peak_time",
    "latitude",
    "longitude",
    "altitude_m",
)
Interval = tuple[int, int]  # [start, stop) in samples
_PARTS = ("sigma", "random_sigma", "systematic_sigma")


def encounter_table(flight: xr.Dataset, survey: Survey) -> pd.DataFrame:
    """One row for scope "flight" and one for each encounter of `survey.intervals`; NaN where a result does not exist.

    After the columns `FIXED`, with time and position of the tracer's peak (without one: the middle), come for each

    - channel: `<channel>_peak` above background with `<channel>_peak_sigma`, `<channel>_excess` [units × s]
      and `<channel>_units`;
    - ratio: `co_per_co2` by integrals, `co_per_co2_slope` by regression, `co_per_co2_preferred` of the two,
      `co_per_co2_units`; `mce`;
    - emission factor: `ef_co` and `ef_co_units`.

    Each excess, ratio and factor has `_sigma` and its parts `_random_sigma` and `_systematic_sigma` beside it. All
    channels are integrated over the same interval; the row of the flight is the sum over its encounters, for channels
    that were observed in all of them.
    """
    import pandas as pd

    time, rate = flight.variables["time"].values, suite_of(flight).rate_hz
    ratios, factors = survey.ratios, survey.emission_factors
    whole, single = (0, len(time)), [(part, [part]) for part in survey.intervals]
    rows: list[dict[str, Any]] = []
    for number, ((start, stop), parts) in enumerate([(whole, list(survey.intervals)), *single]):
        scope = f"encounter {number}" if number else "flight"
        row: dict[str, Any] = {"flight": str(flight.attrs.get("id", "flight")), "scope": scope}
        row |= {
            "number": number or None,
            "kind": survey.kinds[number - 1] if number else None,
            "onset": time[start],
            "end": time[stop - 1],
            "duration_s": (stop - start) / rate,
        }
        row |= _position(flight, _peak(flight, survey, parts), parts) | _channel_columns(survey, parts)
        row |= _ratio_columns(ratios[ratios["scope"] == scope])
        mine = factors[factors["scope"] == scope]
        good = survey.background is None or survey.background.is_good
        row |= {
            "background": survey.background and survey.background.kind,
            "is_good": bool(good and mine["is_good"].all()),
        }
        row |= _factor_columns(mine)
        rows.append(row)
    by_name = ratios.sort_values("ratio", kind="stable")  # the columns of a ratio side by side
    results = [*_ratio_columns(by_name), *_factor_columns(factors)]
    table = pd.DataFrame(rows).astype({"number": "Int64"})
    return table[[*table.columns.drop(results), *results]]


def _peak(flight: xr.Dataset, survey: Survey, parts: list[Interval]) -> int | None:
    """The sample of the tracer's peak; without a tracer, the middle of a single encounter."""
    suite = suite_of(flight)
    by_species = {species_of(suite[name]): signal for name, signal in reversed(survey.signals.items())}
    tracer = next((by_species[s] for s in TRACERS if s in by_species), None)
    inside = np.concatenate([np.arange(*part) for part in parts]) if parts else np.empty(0, np.intp)
    if tracer is None or len(inside) == 0:
        return sum(parts[0]) // 2 if len(parts) == 1 else None
    return int(inside[np.nanargmax(tracer.excess[inside])])


def _position(flight: xr.Dataset, at: int | None, parts: list[Interval]) -> dict[str, Any]:
    """Time and position of a sample; where it has no position, that of the nearest in the encounters."""
    row: dict[str, Any] = {"peak_time": np.datetime64("NaT") if at is None else flight.variables["time"].values[at]}
    for name, column in (("latitude", "latitude"), ("longitude", "longitude"), ("altitude", "altitude_m")):
        values = flight.variables[name].values if name in flight.variables else np.full(flight.sizes["time"], np.nan)
        known = np.array([i for part in parts for i in range(*part) if np.isfinite(values[i])])
        row[column] = float(values[known[np.argmin(np.abs(known - at))]]) if at is not None and len(known) else np.nan
    return row


def _channel_columns(survey: Survey, parts: list[Interval]) -> dict[str, Any]:
    """Peak and excess of the channels that were observed in each part."""
    row: dict[str, Any] = {}
    for name, signal in survey.signals.items() if parts else ():
        if not all(signal.seen[slice(*part)].any() for part in parts):
            continue
        excess = add_up(signal.over(part) for part in parts)
        peak, sigma = max(signal.peak(part) for part in parts)
        figures = (excess.value, excess.sigma, excess.random, excess.systematic)
        row |= {f"{name}_units": signal.units, f"{name}_peak": peak, f"{name}_peak_sigma": sigma}
        row |= _with_parts(f"{name}_excess", tuple(x / signal.rate_hz for x in figures))
    return row


def _ratio_columns(ratios: pd.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for one in ratios.to_dict("records"):
        plain = str(one["ratio"]).replace("/", "_per_")
        name = plain if one["method"] == "integral" else f"{plain}_{one['method']}"
        row |= _with_parts(name, (one["value"], *(one[part] for part in _PARTS)))
        row |= {f"{plain}_units": one["units"]} if plain != "mce" else {}
        row |= {f"{plain}_share": one["share"]} if one["method"] == "integral" else {}
        row |= {f"{plain}_preferred": one["method"]} if one["is_preferred"] and plain != "mce" else {}
    return row


def _factor_columns(factors: pd.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for one in factors.to_dict("records"):
        row |= _with_parts(f"ef_{one['species']}", (one["value"], *(one[part] for part in _PARTS)))
        row |= {f"ef_{one['species']}_{key}": one[key] for key in ("units", "share")}
    return row


def _with_parts(name: str, figures: tuple[float, ...]) -> dict[str, float]:
    return dict(zip((name, *(f"{name}_{part}" for part in _PARTS)), figures, strict=True))
