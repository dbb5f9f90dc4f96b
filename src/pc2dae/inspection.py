"""What is in a flight: the statistics of the paper's section III and more, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.flags import BAD
from pc2dae.flight.schema import (
    INTERPOLATED,
    MISSING,
    STALE,
    STARTUP,
    TAPE_ADVANCE,
    channel_arrays,
    check_flight,
    observed,
)
from pc2dae.noise import Noise, noise_level
from pc2dae.qc import judge_families, shares
from pc2dae.response.t90 import ResponseTime, response_times
from pc2dae.suite import ENVIRONMENT, Suite

MOVING_M_S = 0.1  # the paper's threshold
EDGE_M = (1.0, 10.0)  # plume gradients of the paper
_NOT_RUNNING = STARTUP | TAPE_ADVANCE
_SHORTEST_GAP_S = 5.0


def inspect_flight(flight: xr.Dataset, *, keep: Sequence[str] = (), exclude: Sequence[str] = ()) -> dict[str, Any]:
    """Everything that can be said of a flight without a model: shares are 0–1, times in s, lengths in m."""
    suite = check_flight(flight)
    stamps = flight["time"].values
    noise = noise_level(*channel_arrays(flight, suite))
    verdicts = judge_families(flight, noise=noise, keep=keep, exclude=exclude)
    speed = _speed(flight)
    found = response_times(flight)
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
        "families": [
            {"family": v.family, "kept": v.kept, "reason": v.reason, "figures": _plain(v.figures)} for v in verdicts
        ],
        "motion": _motion(flight, speed),
        "environment": _environment(flight),
        "history": str(flight.attrs.get("history", "")).splitlines(),
    }


def campaign(flights: Sequence[xr.Dataset], reports: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The paper's statistics over all flights together; `reports` are those of `inspect_flight`, in the same order.

    Shares are in percent, as the paper gives them; negative shares are those of channels in families that stay.
    """
    suite = check_flight(flights[0])
    kept = _kept_by_most(reports)
    rows = [(f.name, c.name) for f in suite.family for c in f.channel]
    negative: dict[str, list[float]] = {}
    missing = []
    for family, name in rows:
        if family not in kept:
            continue
        values, valid = _pooled(flights, name)
        negative.setdefault(family, []).append(100 * float(np.mean(values[valid] < 0)) if valid.any() else np.nan)
        absent, running = (np.concatenate([_absent(flight, name)[i] for flight in flights]) for i in (0, 1))
        missing.append(100 * float(np.mean(absent[running])) if running.any() else 100.0)
    speed = np.concatenate([_speed(flight) for flight in flights])
    speed = speed[np.isfinite(speed)]
    measured = {family: [s for s in found if np.isfinite(s)] for family, found in negative.items()}
    out = {"samples": float(sum(flight.sizes["time"] for flight in flights))}
    if any(measured.values()):
        out["negative_pct"] = float(np.mean([share for found in measured.values() for share in found]))
        out |= {f"negative_{family}_pct": float(np.mean(found)) for family, found in measured.items() if found}
    if missing:
        out["missing_pct"] = float(np.mean(missing))
    if len(speed):
        out |= {
            "speed_mean_m_s": float(speed.mean()),
            "speed_median_m_s": float(np.median(speed)),
            "speed_max_m_s": float(speed.max()),
            "moving_pct": 100 * float(np.mean(speed > MOVING_M_S)),
        }
    ekf = [r["motion"]["gps_ekf_difference"] for r in reports if r["motion"].get("gps_ekf_difference") is not None]
    if ekf:
        out["gps_ekf_difference_pct"] = 100 * float(np.max(ekf))
    cells = [c for c in rows if suite.instrument_of(c[1]).startswith("afe") and c[0] in kept]
    by_cell = [[r["channels"][n]["t90_s"] for r in reports if r["channels"][n]["t90_s"] is not None] for _, n in cells]
    t90 = [float(np.median(found)) for found in by_cell if found]
    if t90:
        out |= {f"ec_t90_{q}_s": float(np.quantile(t90, p)) for q, p in (("q1", 0.25), ("median", 0.5), ("q3", 0.75))}
        if len(speed):
            out["blur_mean_m"] = float(np.median(t90)) * out["speed_mean_m_s"]
            out["blur_max_m"] = float(np.median(t90)) * out["speed_max_m_s"]
    for name in ENVIRONMENT[:2]:
        values = np.concatenate([f[name].values for f in flights if name in f] or [np.empty(0)])
        if np.isfinite(values).any():
            out |= {f"{name}_min": float(np.nanmin(values)), f"{name}_max": float(np.nanmax(values))}
    for excluded in [f for f in suite.family if f.name not in kept]:
        below = []
        for channel in excluded.channel:
            values, valid = _pooled(flights, channel.name)
            if channel.detection_limit is not None and valid.any():
                below.append(float(np.mean(values[valid] < channel.detection_limit)))
        if below:
            out[f"below_detection_{excluded.name}_pct"] = 100 * float(np.mean(below))
    return out


def _channels(
    flight: xr.Dataset, suite: Suite, noise: Noise, found: dict[str, ResponseTime], speed: Array
) -> dict[str, dict[str, Any]]:
    values, valid = channel_arrays(flight, suite)
    table = {}
    for row, channel in enumerate(suite.channels):
        name, seen = channel.name, values[row][valid[row]]
        bits = flight[f"qc_{name}"].values
        absent, running = _absent(flight, name)
        t90 = found.get(name)
        quantiles = np.quantile(seen, [0.0, 0.5, 0.99, 1.0]) if len(seen) else np.full(4, np.nan)
        below = np.mean(seen < channel.lower_bound) if len(seen) else np.nan
        entry = {
            "family": suite.family_of(name),
            "units": channel.units,
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


def _absent(flight: xr.Dataset, name: str) -> tuple[Mask, Mask]:
    """Where a channel has no sample of its own, and where its instrument was running at all."""
    bits = flight[f"qc_{name}"].values
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
        both = np.isfinite(speed) & np.isfinite(flight[ekf].values)
        if both.any() and speed[both].mean() > 0:
            out["gps_ekf_difference"] = abs(float(flight[ekf].values[both].mean() / speed[both].mean()) - 1.0)
    if "altitude" in flight and np.isfinite(flight["altitude"].values).any():
        out["climb_m"] = float(np.nanmax(flight["altitude"].values) - np.nanmin(flight["altitude"].values))
    return out


def _environment(flight: xr.Dataset) -> dict[str, list[float]]:
    out = {}
    for name in ENVIRONMENT:
        if name in flight and np.isfinite(flight[name].values).any():
            out[name] = [float(np.nanmin(flight[name].values)), float(np.nanmax(flight[name].values))]
    return out


def _gaps(flight: xr.Dataset, suite: Suite) -> list[dict[str, Any]]:
    """Stretches of at least 5 s in which no channel at all has a value."""
    silent = np.logical_and.reduce([~np.isfinite(flight[name].values) for name in suite.names])
    edges = np.flatnonzero(np.diff(silent.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    stamps = flight["time"].values
    return [
        {"start": f"{np.datetime_as_string(stamps[a], unit='s')}Z", "duration_s": float((b - a) / suite.rate_hz)}
        for a, b in edges.tolist()
        if (b - a) / suite.rate_hz >= _SHORTEST_GAP_S
    ]


def _speed(flight: xr.Dataset) -> Array:
    if "ground_speed" in flight:
        return np.asarray(flight["ground_speed"].values, dtype=np.float64)
    return np.full(flight.sizes["time"], np.nan)


def _pooled(flights: Sequence[xr.Dataset], name: str) -> tuple[Array, Mask]:
    return (
        np.concatenate([np.asarray(flight[name].values, dtype=np.float64) for flight in flights]),
        np.concatenate([observed(flight, name) for flight in flights]),
    )


def _kept_by_most(reports: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    names = [f["family"] for f in reports[0]["families"]]
    votes = {n: sum(f["kept"] for r in reports for f in r["families"] if f["family"] == n) for n in names}
    return tuple(n for n in names if votes[n] > len(reports) / 2)


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no NaN: what is not known is null."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in entry.items()}
