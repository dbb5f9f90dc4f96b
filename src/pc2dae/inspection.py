"""Summary statistics of a flight: those of the paper's section III and more, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.budget import budget_of
from pc2dae.flags import BAD, INTERPOLATED, MISSING, STALE, STARTUP, TAPE_ADVANCE
from pc2dae.flight.movement import movement
from pc2dae.flight.schema import channel_arrays, check_flight, history_of, observed
from pc2dae.noise import Noise, noise_level
from pc2dae.plumes.combined import warnings_of
from pc2dae.qc import judge_families, loaded_filters, shares
from pc2dae.response.known import known_responses
from pc2dae.response.t90 import ResponseTime, response_times
from pc2dae.suite import ENVIRONMENT, Family, Suite

MOVING_M_S = 0.1  # the paper's threshold
EDGE_M = (1.0, 10.0)  # plume gradients of the paper
_NOT_RUNNING = STARTUP | TAPE_ADVANCE
_SHORTEST_GAP_S = 5.0


def inspect_flight(flight: xr.Dataset, *, keep: Sequence[str] = (), exclude: Sequence[str] = ()) -> dict[str, Any]:
    """Statistics of a flight that need no model: shares are 0–1, times in s, lengths in m."""
    suite = check_flight(flight)
    stamps = flight.variables["time"].values
    noise = noise_level(*channel_arrays(flight, suite))
    verdicts = judge_families(flight, noise=noise, keep=keep, exclude=exclude)
    speed = _speed(flight)
    found = {n: r for n, r in response_times(flight).items() if np.isfinite(r.t90_s)}
    return {
        "id": str(flight.attrs.get("id", "")),
        "suite": suite.name,
        "level": str(flight.attrs.get("level", "raw")),
        "start": f"{np.datetime_as_string(stamps[0], unit='s')}Z",
        "end": f"{np.datetime_as_string(stamps[-1], unit='s')}Z",
        "duration_s": float((stamps[-1] - stamps[0]) / np.timedelta64(1, "s")) + 1 / suite.rate_hz,
        "rows": flight.sizes["time"],
        "rate_hz": suite.rate_hz,
        "gaps": _gaps(flight, suite),
        "channels": _channels(flight, suite, noise, found, speed),
        "responses": _responses(flight, suite, found),
        "families": [
            {"family": v.family, "kept": v.kept, "reason": v.reason, "figures": _plain(v.figures)} for v in verdicts
        ],
        "filter_loaded": loaded_filters(flight),
        "warnings": [*warnings_of(flight), *history_of(flight, "warning")],
        "movement": movement(flight),
        "motion": _motion(flight, speed),
        "environment": _environment(flight),
        "history": str(flight.attrs.get("history", "")).splitlines(),
    }


def campaign(flights: Sequence[xr.Dataset], reports: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The paper's statistics over all flights together; `reports` are those of `inspect_flight`, in the same order.

    Shares are in percent, as the paper gives them; negative and missing shares are those of kept families.
    """
    suite = check_flight(flights[0])
    names = _kept_by_most(reports)
    kept = [f for f in suite.family if f.name in names]
    speed = np.concatenate([_speed(flight) for flight in flights])
    speed = speed[np.isfinite(speed)]
    ekf = [r["motion"]["gps_ekf_difference"] for r in reports if r["motion"].get("gps_ekf_difference") is not None]
    return {
        "samples": float(sum(flight.sizes["time"] for flight in flights)),
        **_negative_shares(flights, kept),
        **_missing_share(flights, kept),
        **_speeds(speed),
        **({"gps_ekf_difference_pct": 100 * float(np.max(ekf))} if ekf else {}),
        **_electrochemical_t90(reports, suite, kept, speed),
        **_environment_range(flights),
        **_below_detection(flights, [f for f in suite.family if f not in kept]),
    }


def _negative_shares(flights: Sequence[xr.Dataset], families: Sequence[Family]) -> dict[str, float]:
    shares = {}
    for family in families:
        seen = [values[valid] for values, valid in (_pooled(flights, c.name) for c in family.channel) if valid.any()]
        if seen:
            shares[family.name] = [100 * float(np.mean(values < 0)) for values in seen]
    if not shares:
        return {}
    overall = float(np.mean([share for found in shares.values() for share in found]))
    return {"negative_pct": overall, **{f"negative_{name}_pct": float(np.mean(s)) for name, s in shares.items()}}


def _missing_share(flights: Sequence[xr.Dataset], families: Sequence[Family]) -> dict[str, float]:
    missing = []
    for name in (c.name for f in families for c in f.channel):
        absent, running = (np.concatenate(part) for part in zip(*(_absent(f, name) for f in flights), strict=True))
        missing.append(100 * float(np.mean(absent[running])) if running.any() else 100.0)
    return {"missing_pct": float(np.mean(missing))} if missing else {}


def _speeds(speed: Array) -> dict[str, float]:
    if not len(speed):
        return {}
    return {
        "speed_mean_m_s": float(speed.mean()),
        "speed_median_m_s": float(np.median(speed)),
        "speed_max_m_s": float(speed.max()),
        "moving_pct": 100 * float(np.mean(speed > MOVING_M_S)),
    }


def _electrochemical_t90(
    reports: Sequence[dict[str, Any]], suite: Suite, families: Sequence[Family], speed: Array
) -> dict[str, float]:
    """Quartiles over cells of each cell's median t90, and how far the platform moves within it."""
    cells = [c.name for f in families for c in f.channel if suite.instrument_of(c.name).startswith("afe")]
    found = [[r["channels"][n]["t90_s"] for r in reports if r["channels"][n]["t90_s"] is not None] for n in cells]
    t90 = [float(np.median(values)) for values in found if values]
    if not t90:
        return {}
    out = {f"ec_t90_{q}_s": float(np.quantile(t90, p)) for q, p in (("q1", 0.25), ("median", 0.5), ("q3", 0.75))}
    if len(speed):
        out["blur_mean_m"] = float(np.median(t90)) * float(speed.mean())
        out["blur_max_m"] = float(np.median(t90)) * float(speed.max())
    return out


def _environment_range(flights: Sequence[xr.Dataset]) -> dict[str, float]:
    out: dict[str, float] = {}
    for name in ENVIRONMENT[:2]:
        values = np.concatenate([f[name].values for f in flights if name in f] or [np.empty(0)])
        if np.isfinite(values).any():
            out |= {f"{name}_min": float(np.nanmin(values)), f"{name}_max": float(np.nanmax(values))}
    return out


def _below_detection(flights: Sequence[xr.Dataset], families: Sequence[Family]) -> dict[str, float]:
    out = {}
    for family in families:
        below = []
        for channel in family.channel:
            values, valid = _pooled(flights, channel.name)
            if channel.detection_limit is not None and valid.any():
                below.append(float(np.mean(values[valid] < channel.detection_limit)))
        if below:
            out[f"below_detection_{family.name}_pct"] = 100 * float(np.mean(below))
    return out


def _channels(
    flight: xr.Dataset, suite: Suite, noise: Noise, found: dict[str, ResponseTime], speed: Array
) -> dict[str, dict[str, Any]]:
    values, valid = channel_arrays(flight, suite)
    table = {}
    for row, channel in enumerate(suite.channels):
        name, seen = channel.name, values[row][valid[row]]
        bits = flight.variables[f"qc_{name}"].values
        absent, running = _absent(flight, name)
        t90 = found.get(name)
        quantiles = np.quantile(seen, [0.0, 0.5, 0.99, 1.0]) if len(seen) else np.full(4, np.nan)
        below = np.mean(seen < channel.lower_bound) if len(seen) else np.nan
        entry = {
            "family": suite.family_of(name),
            "units": channel.units,
            "calibration": None
            if budget_of(flight, name) is None
            else str(flight.variables[name].attrs["calibration"]),
            "observed": float(np.mean(valid[row])),
            "missing": float(np.mean(absent[running])) if running.any() else 1.0,
            "stale": float(np.mean((bits & STALE) != 0)),
            "bad": float(np.mean((bits & (BAD & ~STALE & ~MISSING & ~_NOT_RUNNING)) != 0)),
            "flags": shares(bits),
            "negative": float(np.mean(seen < 0)) if len(seen) else np.nan,
            "below_bound": float(below),
            "minimum": float(quantiles[0]),
            "median": float(quantiles[1]),
            "p99": float(quantiles[2]),
            "maximum": float(quantiles[3]),
            "noise_sigma": float(noise.sigma[row]),
            "noise_lag1": float(noise.lag1[row]),
            "quantisation": float(noise.step[row]),
            "t90_s": t90.t90_s if t90 is not None else np.nan,
            "t90_uncertainty_s": t90.uncertainty_s if t90 is not None else np.nan,
            "t90_reference": t90.reference if t90 is not None else None,
        }
        if t90 is not None and np.isfinite(speed).any():
            entry["blur_mean_m"] = t90.t90_s * float(np.nanmean(speed))
            entry["blur_max_m"] = t90.t90_s * float(np.nanmax(speed))
        table[name] = _plain(entry)
    return table


def _responses(flight: xr.Dataset, suite: Suite, found: dict[str, ResponseTime]) -> dict[str, dict[str, Any]]:
    """What is known of each channel's response, and why its lag would not be corrected."""
    known, reasons = known_responses(flight, suite, found=found)
    table: dict[str, dict[str, Any]] = {}
    for name in suite.names:
        if name in reasons:
            table[name] = {"corrected": False, "reason": reasons[name]}
            continue
        response = known[name]
        table[name] = {
            "corrected": True,
            "t90_s": response.kernel.t90_s,
            "t90_uncertainty_s": response.t90_uncertainty_s,
            "kernel": response.kernel.kind,
            "delay_s": response.delay_s,
            "delay_uncertainty_s": response.delay_uncertainty_s,
            "source": response.source,
            "note": response.note,
        }
    return table


def _absent(flight: xr.Dataset, name: str) -> tuple[Mask, Mask]:
    """Masks of missing samples of a channel and of the times when its instrument was running."""
    bits = flight.variables[f"qc_{name}"].values
    return (bits & (MISSING | INTERPOLATED)) != 0, (bits & _NOT_RUNNING) == 0


def _motion(flight: xr.Dataset, speed: Array) -> dict[str, Any]:
    if not np.isfinite(speed).any():
        return {}
    moving = speed[np.isfinite(speed)]
    out: dict[str, Any] = {
        "speed_mean_m_s": float(moving.mean()),
        "speed_median_m_s": float(np.median(moving)),
        "speed_max_m_s": float(moving.max()),
        "share_moving": float(np.mean(moving > MOVING_M_S)),
        "edge_crossing_s": [EDGE_M[0] / float(moving.max()), EDGE_M[1] / float(moving.mean())]
        if moving.any()
        else None,
    }
    ekf = next((str(n) for n in flight.data_vars if str(n).endswith("_ekf_speed")), None)
    if ekf is not None:
        both = np.isfinite(speed) & np.isfinite(flight.variables[ekf].values)
        if both.any() and speed[both].mean() > 0:
            out["gps_ekf_difference"] = abs(float(flight.variables[ekf].values[both].mean() / speed[both].mean()) - 1.0)
    if "altitude" in flight and np.isfinite(flight.variables["altitude"].values).any():
        out["climb_m"] = float(
            np.nanmax(flight.variables["altitude"].values) - np.nanmin(flight.variables["altitude"].values)
        )
    return out


def _environment(flight: xr.Dataset) -> dict[str, list[float]]:
    out = {}
    for name in ENVIRONMENT:
        if name in flight and np.isfinite(flight.variables[name].values).any():
            out[name] = [
                float(np.nanmin(flight.variables[name].values)),
                float(np.nanmax(flight.variables[name].values)),
            ]
    return out


def _gaps(flight: xr.Dataset, suite: Suite) -> list[dict[str, Any]]:
    """Gaps of at least 5 s in which no channel has a value."""
    silent = np.logical_and.reduce([~np.isfinite(flight.variables[name].values) for name in suite.names])
    edges = np.flatnonzero(np.diff(silent.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    stamps = flight.variables["time"].values
    return [
        {"start": f"{np.datetime_as_string(stamps[a], unit='s')}Z", "duration_s": float((b - a) / suite.rate_hz)}
        for a, b in edges.tolist()
        if (b - a) / suite.rate_hz >= _SHORTEST_GAP_S
    ]


def _speed(flight: xr.Dataset) -> Array:
    if "ground_speed" in flight:
        return np.asarray(flight.variables["ground_speed"].values, dtype=np.float64)
    return np.full(flight.sizes["time"], np.nan)


def _pooled(flights: Sequence[xr.Dataset], name: str) -> tuple[Array, Mask]:
    return (
        np.concatenate([np.asarray(flight.variables[name].values, dtype=np.float64) for flight in flights]),
        np.concatenate([observed(flight, name) for flight in flights]),
    )


def _kept_by_most(reports: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    names = [f["family"] for f in reports[0]["families"]]
    votes = {n: sum(f["kept"] for r in reports for f in r["families"] if f["family"] == n) for n in names}
    return tuple(n for n in names if votes[n] > len(reports) / 2)


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Replace non-finite values by None, since JSON has no NaN."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in entry.items()}
