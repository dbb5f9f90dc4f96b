"""One variable per species from all its sensors, and what is wrong with them in words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Array, Bits
from pc2dae.channel_schema import CHANNEL_VARIABLES, PARTS
from pc2dae.flags import BELOW_BOUND, INDETERMINATE, NOT_MEASURED
from pc2dae.flight.schema import (
    REFERENCE,
    SPECIES,
    add_history,
    has_estimate,
    level_of,
    observed,
    qc_attributes,
    suite_of,
)
from pc2dae.plumes.channel_signals import channel_signals
from pc2dae.plumes.duplicates import SensorComparison, compare, of_like_speed, on_common_background, widen
from pc2dae.plumes.outdoor import implausible
from pc2dae.plumes.signals import Signal
from pc2dae.suite import Suite
from pc2dae.suite.model import reserved_for
from pc2dae.suite.species import species_of

if TYPE_CHECKING:
    import xarray as xr

WARNINGS = "pc2dae_warnings"  # attribute of a denoised flight: one line each
_BLACK_CARBON_NM = (None, 880.0)


def with_species(flight: xr.Dataset) -> xr.Dataset:
    """The denoised flight with a variable for each species that several sensors measure.

    Where the sensors disagree beyond their stated uncertainty, the uncertainty of each is widened first. Disagreements
    and implausible clean air are named in the attribute `pc2dae_warnings`.
    """
    suite, signals = suite_of(flight), _signals(flight)
    found = compare(flight, suite, signals)
    lines = _lines(flight, suite, signals, found)
    new: dict[str, Any] = {}  # one assignment at the end: each takes as long as a comparison
    for comparison in found:
        group = flight[[str(v) for v in flight.data_vars if _is_of(str(v), comparison.names)]]
        weights = _weights(group, suite, comparison, signals)
        wider = widen(group, comparison, signals) if comparison.disagree else {}
        species = _name({*map(str, flight.variables), *suite.names, *new}, suite, comparison.names)
        if species is not None:
            new |= _species(group.assign(wider), suite, species, weights, signals)
        new |= wider
    flight = flight.assign(new)
    if found:
        apart = ", ".join(" and ".join(c.names) for c in found if c.disagree) or "none"
        line = f"combined duplicates: {', '.join(species_in(flight)) or 'none'}; widened where they disagree: {apart}"
        flight = add_history(flight, line)
    return flight.assign_attrs({WARNINGS: "\n".join(lines)}) if lines else flight


def species_in(flight: xr.Dataset) -> list[str]:
    """The species that `with_species` added to a flight."""
    return [str(name) for name in flight.data_vars if SPECIES in flight.variables[name].attrs]


def without_species(flight: xr.Dataset) -> xr.Dataset:
    """The flight without the species that `with_species` added."""
    added = species_in(flight)
    return flight.drop_vars(
        [*added, *(n for s in added for n in flight.variables[s].attrs["ancillary_variables"].split())]
    )


def warnings_of(flight: xr.Dataset) -> list[str]:
    """Disagreements of duplicate sensors and implausible clean air, a line each; of a denoised flight those stored."""
    if level_of(flight) == "denoised":
        return str(flight.attrs.get(WARNINGS, "")).splitlines()
    suite, signals = suite_of(flight), _signals(flight)
    return _lines(flight, suite, signals, compare(flight, suite, signals))


def _signals(flight: xr.Dataset) -> dict[str, Signal]:
    """The signals of the channels: of a denoised flight, of those that were denoised."""
    suite = suite_of(flight)
    done = [name for name in suite.names if has_estimate(flight, name)]
    chosen = done if level_of(flight) == "denoised" else [n for n in suite.names if observed(flight, n).any()]
    if not chosen:
        return {}
    return on_common_background({n: s for n, s in channel_signals(flight, suite).items() if n in chosen}, suite)


def _lines(
    flight: xr.Dataset, suite: Suite, signals: Mapping[str, Signal], compared: list[SensorComparison]
) -> list[str]:
    """One line for all disagreements, with what was widened, and lines for implausible clean air."""
    apart = [c for c in compared if c.disagree]
    stated = all(f"{name}_uncertainty" in flight for c in apart for name in c.names)
    lines = []
    if len(apart) == 1:
        lines = [apart[0].line() + (f": uncertainty of each widened by {apart[0].wider()}" if stated else "")]
    elif apart:
        pairs = "; ".join(f"{', '.join(c.names)} {c.sizes()}" for c in apart)
        lines = [f"sensors of one species differ{', uncertainties widened' if stated else ''}: {pairs}"]
    return lines + implausible(flight, suite, signals)


def _weights(
    flight: xr.Dataset, suite: Suite, comparison: SensorComparison, signals: Mapping[str, Signal]
) -> dict[str, float]:
    """Weight of each sensor, constant over the flight: w = 1/(σ² + τ²), without sensors five times slower.

    σ² is the mean stated variance (without one: the noise) and τ² the variance between sensors, which includes their
    difference of gain at the mean excess of all: at its own excess, the sensor of lower gain would get more weight.
    """
    names = of_like_speed(flight, suite, comparison.names)
    excess = np.mean([signals[n].excess for n in names], axis=0)
    tau2 = comparison.level.between**2 + comparison.gain.between**2 * float(np.mean(excess**2))
    stated = all(f"{n}_uncertainty" in flight for n in names)
    own = [
        np.nanmedian(flight.variables[f"{n}_uncertainty"].values ** 2) if stated else signals[n].sigma ** 2
        for n in names
    ]
    weights = 1.0 / np.maximum(np.array(own) + tau2, 1e-30)
    return dict(zip(names, (weights / weights.sum()).tolist(), strict=True))


def _is_of(variable: str, names: tuple[str, ...]) -> bool:
    return any(variable in (name, f"qc_{name}") or variable.startswith(f"{name}_") for name in names)


def _name(taken: set[str], suite: Suite, names: tuple[str, ...]) -> str | None:
    """A free name for the species: that of the channels, or what their names begin with; None if there is none.

    Black carbon is that at 880 nm; at other wavelengths the names decide ("bc_uv" of bc_uv_1 and bc_uv_2).
    """
    known = {species_of(suite[n]) for n in names}
    if known == {"bc"} and any(suite[n].wavelength_nm not in _BLACK_CARBON_NM for n in names):
        known = set()
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*(n.split("_") for n in names), strict=False))
    name = next(iter(known)) if len(known) == 1 and None not in known else "_".join(parts[0] for parts in shared)
    made = [variable.of(name) for variable in CHANNEL_VARIABLES if variable.in_maps] if name else []
    is_free = name and reserved_for(name) is None and taken.isdisjoint(made)
    return name if is_free else None


def _species(
    flight: xr.Dataset, suite: Suite, species: str, weights: Mapping[str, float], signals: Mapping[str, Signal]
) -> dict[str, Any]:
    """The variables of a species: x = Σ w·level + Σ w·(x − level), the second sum over sensors with an estimate.

    Levels are interpolated, so that no step appears where one of the sensors has a gap. Random uncertainties are
    independent; systematic ones of like sensors are mostly shared (temperature, cross-sensitivity, reference) and are
    added linearly.
    """
    names = list(weights)
    first, channel = flight[names[0]], suite[names[0]]
    x = np.stack([flight.variables[f"{n}_unbounded"].values for n in names])
    level = np.stack([signals[n].level for n in names])
    w = np.array(list(weights.values()))[:, None] * np.isfinite(x)
    total = w.sum(axis=0)
    w = np.divide(w, total, out=np.full(w.shape, np.nan), where=total > 0)
    value = np.array(list(weights.values())) @ level + np.where(w > 0, w * (x - level), 0.0 * w).sum(axis=0)
    kept = ("units", "family", "radiation_wavelength_nm", *REFERENCE)
    named = {key: first.attrs[key] for key in kept if key in first.attrs}
    standard = {flight.variables[n].attrs.get("standard_name") for n in names}
    named |= {"standard_name": standard.pop()} if len(standard) == 1 and None not in standard else {}
    new: dict[str, Any] = {}
    if all(f"{n}_uncertainty" in flight for n in names):
        random, systematic = _uncertainties(flight, names, w)
        times = [flight.variables[f"{n}_uncertainty"].attrs.get("error_correlation_s", 0.0) for n in names]
        about = named | {"error_correlation_s": max(times), "coverage_content_type": "qualityInformation"}
        if "standard_name" in named:
            about["standard_name"] += " standard_error"
        for part, sigma in zip(PARTS, (np.hypot(random, systematic), random, systematic), strict=True):
            words = f"one-sigma {part.replace('_', ' ')}standard uncertainty of {species}"
            new[f"{species}_{part}uncertainty"] = ("time", sigma, about | {"long_name": words})
    bits = _flags(flight, names) | np.where(value < channel.lower_bound, BELOW_BOUND, 0).astype(np.int32)
    new[f"qc_{species}"] = ("time", bits, qc_attributes(species))
    targets = {flight.variables[n].attrs["target"] for n in names}
    used = ", ".join(f"{n} {share:.3f}" for n, share in weights.items())
    about = named | {
        "long_name": f"{species}, combined from {' and '.join(names)}",
        "target": "ambient" if targets == {"ambient"} else "response",
        "processing_level": "denoised",
        SPECIES: used,
        "ancillary_variables": " ".join(sorted(new)),
        "coverage_content_type": "physicalMeasurement",
    }
    return new | {species: ("time", np.maximum(value, channel.lower_bound), about)}


def _uncertainties(flight: xr.Dataset, names: list[str], w: Array) -> tuple[Array, Array]:
    """Random and systematic standard uncertainty of a weighted mean of channels."""
    total = np.stack([flight.variables[f"{n}_uncertainty"].values for n in names])
    random = np.stack(
        [flight.variables.get(f"{n}_random_uncertainty", flight.variables[f"{n}_uncertainty"]).values for n in names]
    )
    systematic = np.sqrt(np.maximum(total**2 - random**2, 0.0))
    return np.sqrt(_sum(w**2 * random**2)), _sum(w * systematic)


def _sum(terms: Array) -> Array:
    """Sum over sensors of the terms that are known; NaN where none is."""
    return np.asarray(np.where(np.isfinite(terms).any(axis=0), np.nansum(terms, axis=0), np.nan))


def _flags(flight: xr.Dataset, names: list[str]) -> Bits:
    """Flags of a species: of the sensors that measured, those to be used with care; where none did, all flags."""
    bits = np.stack([flight.variables[f"qc_{n}"].values for n in names])
    seen = np.stack([(flight.variables[f"qc_{n}"].values & NOT_MEASURED) == 0 for n in names])
    with_care = np.bitwise_or.reduce(np.where(seen, bits & INDETERMINATE & ~BELOW_BOUND, 0), axis=0)
    return np.asarray(np.where(seen.any(axis=0), with_care, np.bitwise_or.reduce(bits, axis=0)), np.int32)
