"""A flight in a few sentences and key figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.calibration.budget import budget_of
from pc2dae.flight.movement import movement
from pc2dae.flight.schema import has_estimate, observed
from pc2dae.noise import noise_level
from pc2dae.qc import has_low_zero
from pc2dae.suite import Channel, Suite
from pc2dae.view.flags import flag_counts
from pc2dae.view.formatting import Row, Step, Table, Tile, counted, duration, number, percent, units

_ATTRIBUTES = {
    "pc2dae_model": "model",
    "pc2dae_model_sha256": "model's SHA-256",
    "pc2dae_strength": "strength",
    "pc2dae_left_raw": "not denoised",
    "pc2dae_lag_not_corrected": "lag not corrected",
    "id": "flight",
    "level": "level",
    "clock_offset_s": "clock offsets applied [s]",
}
MOVEMENTS = {"airborne": "in flight", "moving": "on the move", "stationary": "at one place", "unknown": "recorded"}


@dataclass(frozen=True)
class ChannelFacts:
    """Figures of one channel, before and after denoising."""

    name: str
    long_name: str
    units: str
    summary: str
    denoised: bool
    noise: float  # one sigma, of the raw record
    uncertainty: float  # one sigma, of the estimate; median
    random: float  # its part that averages out
    below: float  # share of raw values below the bound
    below_after: float
    observed: float  # share
    flags: dict[str, int]
    target: str  # what is estimated: "ambient" (the air), "response" (the noise-free reading), "" without estimate


def lag_not_corrected(flight: xr.Dataset) -> dict[str, str]:
    """Why the lag of each channel was not corrected, of those whose lag was to be."""
    attrs = {str(name): variable.attrs for name, variable in flight.variables.items()}
    return {name: str(own["lag_not_corrected"]) for name, own in attrs.items() if "lag_not_corrected" in own}


def as_measured(flight: xr.Dataset) -> xr.Dataset:
    """A denoised flight with its channels as they entered the denoiser."""
    raw = {str(n).removesuffix("_raw"): flight[n].variable for n in flight.data_vars if str(n).endswith("_raw")}
    return flight.assign(raw)


def channel_facts(flight: xr.Dataset, channel: Channel, t90_s: float | None = None) -> ChannelFacts:
    """The facts of one channel; `t90_s` is its response time found in the flight."""
    name = channel.name
    denoised = f"{name}_raw" in flight
    raw = flight.variables[f"{name}_raw" if denoised else name].values.astype(np.float64)
    seen = observed(flight, name) & np.isfinite(raw)
    noise = float(noise_level(raw[None], seen[None]).sigma[0])
    uncertainty = _median(flight, f"{name}_uncertainty")
    random = _median(flight, f"{name}_random_uncertainty") if f"{name}_random_uncertainty" in flight else uncertainty
    below, after = (_share_below(x[seen], channel.lower_bound) for x in (raw, flight.variables[name].values))
    unit = units(channel.units)
    known = flight.variables[name].attrs
    target = str(known.get("target", "")) if has_estimate(flight, name) else ""
    summary = "nothing measured" if not seen.any() else f"noise σ {number(noise, 2)}"
    is_calibrated = budget_of(flight, name) is not None
    if np.isfinite(uncertainty) and (target == "ambient" or is_calibrated or random < uncertainty):
        summary += f", uncertainty {number(uncertainty, 2)} {unit}"
    elif np.isfinite(uncertainty):
        summary += f" → {number(uncertainty, 2)} {unit}"
    elif seen.any():
        summary += f" {unit}"
    if is_calibrated:
        summary += " · calibrated"
    if denoised and below > 0:
        summary += f" · below bound {percent(below, 0)} → {percent(after, 0)}"
    if denoised and has_low_zero(flight.variables[f"qc_{name}"].values):
        summary += " · zero offset below the bound"
    if "disagreement" in known:
        summary += " · disagrees with its duplicate"
    if target == "ambient":
        summary += f" · t90 {number(known['t90_s'], 2)} s corrected"
    elif t90_s is not None and np.isfinite(t90_s):
        summary += f" · t90 {number(t90_s, 2)} s"
    return ChannelFacts(
        name,
        channel.long_name or "",
        unit,
        summary,
        has_estimate(flight, name),
        noise,
        uncertainty,
        random,
        below,
        after if denoised else np.nan,
        float(np.mean(seen)),
        flag_counts(flight.variables[f"qc_{name}"].values),
        target,
    )


def _median(flight: xr.Dataset, name: str) -> float:
    """Median of a variable; NaN if it is absent or empty."""
    values = flight.variables[name].values if name in flight else np.array([np.nan])
    return float(np.nanmedian(values)) if np.isfinite(values).any() else np.nan


def _share_below(values: Array, bound: float) -> float:
    return float(np.mean(values < bound)) if len(values) else np.nan


def title(flight: xr.Dataset) -> str:
    """The flight's name and day."""
    day = str(np.datetime_as_string(flight.variables["time"].values[0], unit="D"))
    return f"{str(flight.attrs.get('id', 'flight')).replace('_', ' ')}, {day}"


def lead(flight: xr.Dataset, suite: Suite, facts: list[ChannelFacts], plumes: int, early: Sequence[str] = ()) -> str:
    """The flight in a few sentences; `early` are the channels that are high from their first sample on."""
    time = flight.variables["time"].values
    length = duration(float((time[-1] - time[0]) / np.timedelta64(1, "s")) + 1 / suite.rate_hz)
    begin, end = (str(np.datetime_as_string(t, unit="m"))[11:] for t in (time[0], time[-1]))
    text = f"{length} {MOVEMENTS[movement(flight)]} from {begin} to {end} UTC with the suite {suite.name}: "
    text += counted(len(suite.names), "channel")
    text += f" in {len(suite.family)} families." if len(suite.family) > 1 else "."
    if plumes:
        text += f" {counted(plumes, 'plume encounter')}."
    if early:
        text += f" {', '.join(early)} {'is' if len(early) == 1 else 'are'} high from the first sample on (smoke before"
        text += " the record began, or settling sensors); not counted as an encounter."
    done = [f for f in facts if f.denoised]
    if done:
        below, after = (float(np.nanmean([getattr(f, key) for f in done])) for key in ("below", "below_after"))
        text += f" {counted(len(done), 'channel')} {'was' if len(done) == 1 else 'were'} denoised"
        text += f" with {flight.attrs.get('pc2dae_model', 'a model')};"
        text += f" values below the physical bound fell from {percent(below)} to {percent(after)}."
        air = sum(f.target == "ambient" for f in done)
        if air == len(done):
            text += " All estimates are of the air, corrected for the lag of the sensor."
        elif air:
            text += f" Of the air, corrected for the lag of the sensor: {air};"
            text += " the others are of the noise-free reading."
    return text


def tiles(flight: xr.Dataset, suite: Suite, facts: list[ChannelFacts], plumes: int) -> list[Tile]:
    """Key figures in large type."""
    time = flight.variables["time"].values
    length = duration(float((time[-1] - time[0]) / np.timedelta64(1, "s")) + 1 / suite.rate_hz)
    shown = [
        Tile(length, MOVEMENTS[movement(flight)]),
        Tile(str(plumes), "plume encounter" if plumes == 1 else "plume encounters"),
    ]
    done = [f for f in facts if f.denoised]
    if done:
        shown.append(Tile(f"{len(done)} of {len(facts)}", f"channels by {flight.attrs.get('pc2dae_model', 'a model')}"))
        gain = [f.noise / f.random for f in done if f.target != "ambient" and f.random > 0 and f.noise > 0]
        if gain and np.median(gain) >= 1.05:  # of the air it is not that of the reading
            shown.append(Tile(f"{np.median(gain):.1f} ×", "less noise, median channel"))
        below, after = (float(np.nanmean([getattr(f, key) for f in done])) for key in ("below", "below_after"))
        shown.append(Tile(f"{percent(below, 0)} → {percent(after, 0)}", "below the physical bound"))
    if "ground_speed" in flight and np.isfinite(flight.variables["ground_speed"].values).any():
        shown.append(Tile(f"{np.nanmean(flight.variables['ground_speed'].values):.1f} m/s", "mean speed"))
    if "altitude" in flight and np.isfinite(flight.variables["altitude"].values).any():
        shown.append(Tile(f"{np.ptp(_finite(flight.variables['altitude'].values)):.0f} m", "altitude range"))
    if "air_temperature" in flight and np.isfinite(flight.variables["air_temperature"].values).any():
        ends = (f"{t:.0f}" for t in np.quantile(_finite(flight.variables["air_temperature"].values), [0.01, 0.99]))
        shown.append(Tile(f"{'–'.join(dict.fromkeys(ends))} °C", "air temperature"))
    return shown


def _finite(values: Array) -> Array:
    return values[np.isfinite(values)]


def suite_table(suite: Suite) -> Table:
    """The suite this flight was read with."""
    head = ["channel", "family", "unit", "bound", "valid from", "to", "detection", "t90 [s]", "source"]
    rows = [
        Row([c.name, suite.family_of(c.name), units(c.units), number(c.lower_bound), *(
            number(v) if v is not None else "–" for v in (c.valid_min, c.valid_max, c.detection_limit, c.t90_s)),
            str(suite.sources.get(c.name, c.column or c.name))])
        for c in suite.channels
    ]  # fmt: skip
    return Table(head, rows, (0, 1, 2, 8))


def history(flight: xr.Dataset) -> list[Step]:
    """The lines of the flight's history."""
    steps = []
    for text in str(flight.attrs.get("history", "")).splitlines():
        first, _, rest = text.partition(" ")
        is_stamp = len(first) == 20 and first.endswith("Z")
        steps.append(Step(rest, first.replace("T", " ")) if is_stamp else Step(text))
    return steps


def provenance(flight: xr.Dataset) -> list[tuple[str, str]]:
    """Model, software and clock offsets."""
    from pc2dae import __version__

    known = [
        (label, str(flight.attrs[key])) for key, label in _ATTRIBUTES.items() if flight.attrs.get(key) not in (None, "")
    ]
    return [*known, ("pc2dae", __version__)]
