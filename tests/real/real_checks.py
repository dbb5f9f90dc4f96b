"""Checks that every denoised flight must pass: functions that count violations."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pc2dae.flags import BELOW_BOUND, NOT_MEASURED, SATURATED
from pc2dae.flight.schema import suite_of
from pc2dae.noise import noise_level
from pc2dae.plumes.species import PARTICLES
from pc2dae.suite import Suite
from pc2dae.suite.species import PPB, species_of

MODELS = ("adaptive", "adaptive-short", "adaptive-causal")
PROFILES = ("flight", "live")
REACH_BEFORE = 255  # samples
REACH_AFTER = {"adaptive": 255, "adaptive-short": 1, "adaptive-causal": 0}
SIGMAS = 3.0  # of noise that an estimate may lie outside the samples it was made from
TRAILING, STEP, WARM_UP = 300, 10, 30  # samples: a live stream's noise level is of the last 300, every 10 of them
AGREEMENT = 1e-5  # of a channel's scale …
ROUNDING = 0.2  # … or of its uncertainty: float32 leaves less of a channel that is quantised or spans 10,000 σ

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def denoised_names(clean: xr.Dataset) -> list[str]:
    """The channels that were denoised."""
    return [name for name in suite_of(clean).names if f"{name}_unbounded" in clean]


def unexplained_channels(clean: xr.Dataset) -> list[str]:
    """Channels with observations that were not denoised although they were not said to be left raw."""
    suite, left_raw = suite_of(clean), set(re.findall(r"[A-Za-z]\w*", clean.attrs["pc2dae_left_raw"]))
    return [
        name
        for name in suite.names
        if f"{name}_unbounded" not in clean
        and name not in left_raw
        and (np.isfinite(clean[name].values) & (clean[f"qc_{name}"].values & NOT_MEASURED == 0)).any()
    ]


def observations(clean: xr.Dataset, name: str) -> tuple[Array, Mask]:
    """What entered the denoiser, and which of it counts as an observation."""
    raw = clean[f"{name}_raw"].values.astype(np.float64)
    return raw, np.isfinite(raw) & (clean[f"qc_{name}"].values & NOT_MEASURED == 0)


def in_step(clean: xr.Dataset, name: str) -> tuple[Array, Mask]:
    """The observations at the time of the air: earlier by the channel's delay, in whole samples."""
    raw, seen = observations(clean, name)
    early = round(clean[name].attrs.get("delay_s", 0.0) * suite_of(clean).rate_hz)
    at = np.arange(len(raw)) + early
    inside = (at >= 0) & (at < len(raw))
    at = np.clip(at, 0, len(raw) - 1)
    return np.where(inside, raw[at], np.nan), seen[at] & inside


def scale(clean: xr.Dataset, name: str) -> float:
    """A channel's scale: how far its observations spread; how large they are where they do not."""
    raw, seen = observations(clean, name)
    spread = float(np.ptp(raw[seen])) if seen.any() else 0.0
    return spread if spread > 0 else float(np.abs(raw[seen]).max(initial=1.0))


def noise_sigma(clean: xr.Dataset, name: str, *, profile: str = "flight") -> float:
    """The noise of the whole record, or the largest that a live stream has known; 0 where there is none."""
    raw, seen = observations(clean, name)
    if profile != "live":
        return _sigma(raw, seen)
    return max(suite_of(clean)[name].noise_sigma or 0.0, largest_trailing_noise(raw.tobytes(), seen.tobytes()))


@lru_cache(maxsize=64)
def largest_trailing_noise(raw_bytes: bytes, seen_bytes: bytes) -> float:
    """Of one channel; remembered because all models ask for it."""
    raw, seen = np.frombuffer(raw_bytes), np.frombuffer(seen_bytes, dtype=bool)
    parts = [slice(max(stop - TRAILING, 0), stop) for stop in (*range(5, WARM_UP), *range(WARM_UP, len(raw), STEP))]
    return max(_sigma(raw[part], seen[part]) for part in parts)


def _sigma(raw: Array, seen: Mask) -> float:
    """From all observations or, where that is more, from those that do not repeat the one before.

    A logger that repeats a slow sensor would otherwise seem to have no noise at all.
    """
    again = np.concatenate(([False], raw[1:] == raw[:-1]))
    both = noise_level(np.stack([raw, raw]), np.stack([seen, seen & ~again]))
    return float(np.nan_to_num(both.sigma).max())


def outside_raw_range(clean: xr.Dataset, name: str, *, profile: str = "flight") -> int:
    """How many estimates lie more than 3 σ outside the observations they can be made from.

    Those are the 255 samples before, and as many after as the model reaches. Estimates of the air may lie further by
    τ times the steepest slope, and their σ is amplified.
    """
    raw, seen = in_step(clean, name)
    after = REACH_AFTER[clean.attrs["pc2dae_model"]]
    low, high = range_within_reach(raw, seen, after=after)
    tau = clean[name].attrs.get("t90_s", 0.0) / np.log(10.0) * suite_of(clean).rate_hz
    slope = np.abs(np.diff(raw, prepend=raw[0]))
    steepest = np.nan_to_num(range_within_reach(slope, np.isfinite(slope), after=after)[1])
    sigma = noise_sigma(clean, name, profile=profile)
    margin = SIGMAS * sigma * np.hypot(1 + tau, tau) + tau * steepest + AGREEMENT * scale(clean, name)
    estimate = clean[f"{name}_unbounded"].values
    return int(np.sum((estimate < low - margin) | (estimate > high + margin)))


def missing_mismatches(clean: xr.Dataset, name: str) -> int:
    """How many samples have an estimate with no observation within reach, or none although there is one."""
    raw, seen = in_step(clean, name)
    low, _ = range_within_reach(raw, seen, after=REACH_AFTER[clean.attrs["pc2dae_model"]])
    is_missing = np.isnan(low)
    return int(sum((np.isnan(clean[v].values) != is_missing).sum() for v in (name, f"{name}_unbounded")))


def bad_uncertainties(clean: xr.Dataset, name: str) -> int:
    """How many finite estimates have an uncertainty that is not a finite number ≥ 0."""
    estimate, sigma = clean[name].values, clean[f"{name}_uncertainty"].values
    return int(np.sum(np.isfinite(estimate) & ~(np.isfinite(sigma) & (sigma >= 0))))


def below_bound(clean: xr.Dataset, name: str) -> int:
    """How many bounded estimates lie below the channel's lower bound."""
    return int(np.sum(clean[name].values < suite_of(clean)[name].lower_bound))


def below_lower_limit(clean: xr.Dataset, name: str) -> int:
    """How many noise-free readings lie below a saturated sample, or are more certain than a fifth of it."""
    raw, seen = observations(clean, name)
    is_limit = seen & (clean[f"qc_{name}"].values & SATURATED != 0)
    is_ambient = f"{name}_response" in clean
    reading = clean[f"{name}_response" if is_ambient else f"{name}_unbounded"].values
    low = is_limit & (reading < raw)
    height = np.abs(raw - suite_of(clean)[name].lower_bound)
    certain = is_limit & (clean[f"{name}_uncertainty"].values < 0.2 * height) if not is_ambient else low
    return int(np.sum(low | certain))


def raised_without_flag(clean: xr.Dataset, name: str) -> int:
    """How many estimates the bound raises by more than twice their uncertainty without saying so."""
    raised = clean[name].values - clean[f"{name}_unbounded"].values > 2.0 * clean[f"{name}_uncertainty"].values
    return int(np.sum(raised & (clean[f"qc_{name}"].values & BELOW_BOUND == 0)))


def departure(clean: xr.Dataset, name: str, *, profile: str = "flight") -> float:
    """The largest |estimate − observation| in σ of the noise; NaN where the channel has no noise."""
    raw, seen = observations(clean, name)
    sigma = noise_sigma(clean, name, profile=profile)
    distance = np.abs(clean[f"{name}_unbounded"].values - raw)[seen]
    finite = distance[np.isfinite(distance)]
    return float(finite.max() / sigma) if sigma > 0 and len(finite) else np.nan


def range_within_reach(raw: Array, seen: Mask, *, after: int, before: int = REACH_BEFORE) -> tuple[Array, Array]:
    """Smallest and largest observation from `before` samples earlier to `after` samples later; NaN where none is."""
    observed = pd.Series(np.concatenate([np.where(seen, raw, np.nan), np.full(after, np.nan)]))
    window = observed.rolling(before + after + 1, min_periods=1)
    return window.min().to_numpy()[after:], window.max().to_numpy()[after:]


def faults(clean: xr.Dataset, *, profile: str = "flight") -> list[str]:
    """Everything that is wrong with a denoised flight, one line per channel and kind; empty if nothing is."""
    found = [f"{name}: observed, but neither denoised nor left raw" for name in unexplained_channels(clean)]
    for name in denoised_names(clean):
        counts = {
            "estimates outside the range of the samples within reach": outside_raw_range(clean, name, profile=profile),
            "estimates missing or made up": missing_mismatches(clean, name),
            "uncertainties not finite or negative": bad_uncertainties(clean, name),
            "estimates below the bound": below_bound(clean, name),
            "noise-free readings below a lower limit": below_lower_limit(clean, name),
            "estimates raised to the bound without a flag": raised_without_flag(clean, name),
        }
        found += [f"{name}: {count:,} {what}" for what, count in counts.items() if count]
    return found


def is_one_line(error: Exception) -> bool:
    """Whether an error is a sentence for a person."""
    text = str(error)
    return bool(text.strip()) and "\n" not in text and "Traceback" not in text and "internal error" not in text


def comparable_only(clean: xr.Dataset) -> xr.Dataset:
    """The flight without the channels that no emission ratio may use: gases that are not mole fractions.

    Particles are a mass per volume of air by definition.
    """
    suite = suite_of(clean)
    families = [
        family.model_copy(update={"channel": tuple(c for c in family.channel if _may_be_compared(suite, c.name))})
        for family in suite.family
    ]
    kept = suite.model_copy(update={"family": tuple(f for f in families if f.channel)})
    return clean.assign_attrs(suite=kept.model_dump_json(exclude_defaults=True))


def has_incomparable(clean: xr.Dataset) -> bool:
    """Whether some channel of a species that ratios are made of has a unit that they cannot use."""
    suite = suite_of(clean)
    return not all(_may_be_compared(suite, name) for name in suite.names)


def _may_be_compared(suite: Suite, name: str) -> bool:
    channel = suite[name]
    species = species_of(channel)
    if species is None:
        return True
    return channel.units.endswith("g m-3") if species in PARTICLES else channel.units in PPB


def ratio_units(ratios: pd.DataFrame) -> set[tuple[str, str]]:
    """Each ratio's name and unit."""
    return {(str(row.ratio), str(row.units)) for row in ratios.itertuples()}


def mapping_of(suite: Suite) -> dict[str, Any]:
    """A suite as the web page's form describes a table."""
    keys = ("name", "units", "lower_bound", "valid_min", "valid_max", "t90_s", "detection_limit")
    channels = [
        {key: getattr(c, key) for key in keys} | {"column": c.column or c.name, "family": suite.family_of(c.name)}
        for c in suite.channels
    ]
    mapping = {
        "time_column": suite.time.column,
        "zone": suite.time.zone,
        "time_format": suite.time.format,
        "rate_hz": suite.rate_hz,
        "missing": list(suite.missing),
        "channels": channels,
        "environment": dict(suite.environment),
        "motion": dict(suite.motion),
    }
    return json.loads(json.dumps(mapping))  # type: ignore[no-any-return]
