"""The second stage: from a flight to clean concentrations.

Not `denoise.py`: importing a module of that name would replace the function `pc2dae.denoise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.ambient import LagLeft, estimate_air
from pc2dae.arrays import Mask
from pc2dae.denoiser import Denoiser, Estimate, estimates_air
from pc2dae.edge.limits import raise_to_limits
from pc2dae.errors import FlightError, ModelError, nearest
from pc2dae.flags import SATURATED
from pc2dae.flight.schema import add_history, channel_arrays, suite_of
from pc2dae.ingestion import PathText, calibrate_flight, given_suite, prepare, with_loading_corrected, with_response
from pc2dae.noise import Noise, noise_level
from pc2dae.registry import Progress, load_model
from pc2dae.suite import Channel, Family, Suite
from pc2dae.windows.arrays import arrays_of, at_centres, blend, with_estimate

if TYPE_CHECKING:
    from pc2dae.calibration.curve import Calibration
    from pc2dae.calibration.intervals import Interval
    from pc2dae.response.payload import PayloadResponse

PROFILES = ("flight", "live")  # noise level from the whole flight, or as in a stream


def denoise(
    flight: xr.Dataset,
    *,
    model: str | Path | Denoiser | None = None,
    suite: str | Path | Suite | None = None,
    target: str | None = None,
    calibration: PathText | Calibration | Sequence[PathText | Calibration] = (),
    response: PathText | PayloadResponse | None = None,
    zero: Sequence[Interval] = (),
    rezero: bool = False,
    strength: float = 1.0,
    profile: str = "flight",
    correct_loading: bool = False,
    standard_conditions: bool = False,
    keep: Sequence[str] = (),
    exclude: Sequence[str] = (),
    progress: Progress | None = None,
) -> xr.Dataset:
    """Denoise a flight: channels hold clean values at or above their bound, the input is kept as `<name>_raw`.

    `calibration`, `zero` (air of known concentration) and `rezero` (to the suite's background) are applied first.
    `response` is what is known of the payload's response, from `find_response` or a file of it.

    `target` is `ambient` (the air, without the sensor's lag where that is known; the default of adaptive models) or
    `response` (the noise-free reading, the only one that other models estimate).

    `model` is a shipped name (default `adaptive`, live `adaptive-short`), a checkpoint folder, an ONNX file, a filter's
    name or a denoiser; `suite` overrides the flight's own; `strength` blends from 0 (raw, bounded) to 1; profile `live`
    reproduces a stream; `correct_loading` corrects black carbon for the loading of its filter; `standard_conditions`
    gives concentrations per volume at 273.15 K and 1013.25 hPa instead of those of the air. The quality verdict
    decides whether a family is denoised or left raw, unless `keep` or `exclude` name it. A channel without a usable
    sample becomes NaN.
    """
    from pc2dae.calibration.apply import with_reading_flags
    from pc2dae.calibration.compensate import corrected_as_live
    from pc2dae.flight.conditions import at_standard_conditions
    from pc2dae.plumes.combined import with_species
    from pc2dae.qc import screen, without_observation
    from pc2dae.response.t90 import sampling_offset_s

    if not 0.0 <= strength <= 1.0:
        raise ModelError(f"strength {strength:g} is not between 0 and 1", hint="1 is the model's estimate, 0 is raw")
    if profile not in PROFILES:
        raise ModelError(f"unknown profile '{profile}'", hint=nearest(profile, PROFILES))
    if flight.attrs.get("level") == "denoised":
        raise FlightError("the flight is denoised already", hint="pass the flight it was made from")
    if (given := given_suite(suite)) is not None:
        flight = flight.assign_attrs(suite=given.model_dump_json(exclude_defaults=True))
    source = model if model is not None else "adaptive-short" if profile == "live" else "adaptive"
    denoiser = load_model(source, profile=profile, progress=progress) if isinstance(source, str | Path) else source
    air = denoiser if estimates_air(denoiser, target=target, strength=strength) else None
    ready = with_loading_corrected(prepare(flight)) if correct_loading else prepare(flight)
    if profile == "live" and any(c.is_ndir for c in suite_of(ready).channels):
        ready = with_reading_flags(screen(corrected_as_live(ready)), ready)
    ready = with_response(calibrate_flight(ready, calibration, zero=zero, rezero=rezero), response)
    if standard_conditions:
        ready = at_standard_conditions(ready)
    measured = suite_of(ready)
    noise = _noise(ready, measured)
    chosen = choose_families(ready, denoiser, noise=noise, keep=keep, exclude=exclude)
    kept = chosen.kept
    noise = noise.rows([measured.names.index(name) for name in kept.names])
    lags: dict[str, dict[str, Any]] = {}
    left: dict[str, LagLeft] = {}
    if air is None:
        estimate = _reading(denoiser, ready, kept, noise, strength)
    else:
        air, estimate, left = estimate_air(air, ready, kept, noise)
        lags = air.lag_attributes(kept, estimate, noise)
    if profile == "flight" and strength == 1.0:  # a stream, and a blend with raw data, are as sampled
        offsets = np.array([sampling_offset_s(ready, kept, name) for name in kept.names])
        estimate = at_centres(estimate, offsets, np.array([name in lags for name in kept.names]), kept.rate_hz)
    delay = np.zeros(len(kept.names), np.intp) if air is None else air.lags(kept).whole
    estimate = _at_limits(estimate, ready, kept, delay)
    kept_lags = {name: lag.attributes for name, lag in left.items()}
    clean = with_estimate(ready, kept, estimate, noise, lags=lags, left=kept_lags, unusable=chosen.unusable)
    empty = without_observation(ready, [*kept.names, *(channel.name for channel in chosen.unusable)])
    left_raw = [f"{', '.join(c.name for c in family.channel)} ({why})" for family, why in chosen.left_raw.items()]
    left_raw += [f"{name} (no usable sample: {why})" for name, why in empty.items()]
    for channel in measured.channels:
        clean.variables[channel.name].attrs.pop("not_denoised", None)
    for family, why in chosen.left_raw.items():
        for channel in family.channel:
            clean.variables[channel.name].attrs["not_denoised"] = why
    clean.attrs |= {
        "pc2dae_model": denoiser.name,
        "pc2dae_model_sha256": getattr(denoiser, "sha256", "") or "none",
        "pc2dae_strength": strength,
        "pc2dae_left_raw": "; ".join(left_raw) or "none",
        "pc2dae_lag_not_corrected": "; ".join(f"{n} ({lag.reason})" for n, lag in left.items()) or "none",
    }
    line = f"denoised {', '.join(f.name for f in kept.family)} with {denoiser.name}, strength {strength:g}"
    line += f"; left raw: {'; '.join(left_raw)}" if left_raw else ""
    return with_species(add_history(clean, line, level="denoised"))


def _noise(flight: xr.Dataset, suite: Suite) -> Noise:
    """The noise of the channels; a clipped plume has none."""
    values, seen = channel_arrays(flight, suite)
    return noise_level(values, seen & ~_is_saturated(flight, suite))


def _is_saturated(flight: xr.Dataset, suite: Suite) -> Mask:
    return np.stack([(flight.variables[f"qc_{name}"].values & SATURATED) != 0 for name in suite.names])


def _reading(denoiser: Denoiser, flight: xr.Dataset, suite: Suite, noise: Noise, strength: float) -> Estimate:
    """The estimate of the noise-free reading, blended with raw data."""
    values, environment, valid = arrays_of(flight, suite)
    estimate = denoiser.prepare(flight, suite)(values, environment, valid)
    return blend(estimate, values, valid, noise=noise.sigma[:, None], strength=strength)


def _at_limits(estimate: Estimate, flight: xr.Dataset, suite: Suite, delay: NDArray[np.intp]) -> Estimate:
    """The estimate at or above saturated samples, which are lower limits."""
    values, seen = channel_arrays(flight, suite)
    return raise_to_limits(estimate, suite, values, seen & _is_saturated(flight, suite), delay)


@dataclass(frozen=True)
class ChosenFamilies:
    """What of a flight is denoised, and why the rest is not."""

    kept: Suite
    unusable: list[Channel]  # logged, but without any usable value
    left_raw: dict[Family, str]  # with the reason


def choose_families(
    flight: xr.Dataset,
    denoiser: Denoiser,
    *,
    noise: Noise | None = None,
    keep: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> ChosenFamilies:
    """The families that the quality verdict, the request and the model's training allow to denoise."""
    from pc2dae.edge.runtime import matching
    from pc2dae.qc import judge_families

    suite = suite_of(flight)
    suite.only([*keep, *exclude])  # an unknown family is an error
    verdicts = judge_families(flight, noise=noise, keep=keep, exclude=exclude)
    out = [v for v in verdicts if not v.kept and (v.family in exclude or v.omits(suite))]
    excluded = {v.family: v.reason for v in out}
    kept = [family.name for family in suite.family if family.name not in excluded]
    if not kept:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in excluded.items())
        raise FlightError(f"no family of this flight is usable ({reasons})", hint="run `pc2dae inspect`")
    families = {family.name: family for family in suite.family}
    unmeasured = [families[v.family] for v in out if v.is_unmeasured and v.family not in exclude]
    unusable = [f for f in unmeasured if any(np.isfinite(flight.variables[c.name].values).any() for c in f.channel)]
    chosen = suite.only(kept)
    trained: Suite | None = getattr(denoiser, "suite", None)
    if trained is not None:
        chosen = matching(chosen, trained, model=denoiser.name)
        known = {family.name for family in chosen.family}
        excluded |= {name: f"'{denoiser.name}' was not trained for it" for name in kept if name not in known}
    return ChosenFamilies(
        chosen,
        [channel for family in unusable for channel in family.channel],
        {families[name]: reason for name, reason in excluded.items() if families[name] not in unusable},
    )
