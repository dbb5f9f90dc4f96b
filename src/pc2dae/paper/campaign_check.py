"""Comparison of a simulated campaign with the statistics published in the paper (SCIENCE 5)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.flight.schema import suite_of

TARGETS = ("bc", "gas", "co2")


@dataclass(frozen=True)
class Check:
    """A published statistic, its simulated value and the tolerance."""

    what: str
    published: str
    simulated: float
    low: float  # lower limit of the tolerance
    high: float  # upper limit of the tolerance
    unit: str = ""

    @property
    def holds(self) -> bool:
        """Whether the simulated value is within tolerance."""
        return self.low <= self.simulated <= self.high


def compare(flights: Sequence[xr.Dataset], truths: Sequence[xr.Dataset]) -> list[Check]:
    """Compare `flights` (compensated, on the 1 Hz grid) and their truth with the published statistics."""
    return [*_size(flights), *_negatives(flights), *_signals(flights), *_motion(flights), *_response(flights, truths)]


def _pool(flights: Sequence[xr.Dataset], name: str) -> Array:
    return np.concatenate([np.asarray(flight[name].values, np.float64) for flight in flights])


def _share(values: Array, threshold: float) -> float:
    """Percentage of finite values below `threshold`."""
    finite = values[np.isfinite(values)]
    return float(100 * np.mean(finite < threshold)) if len(finite) else float("nan")


def _family(flights: Sequence[xr.Dataset], family: str) -> list[str]:
    suite = suite_of(flights[0])
    return [channel.name for channel in suite.channels if suite.family_of(channel.name) == family]


def _size(flights: Sequence[xr.Dataset]) -> list[Check]:
    samples = sum(flight.sizes["time"] for flight in flights)
    targets = [name for family in TARGETS for name in _family(flights, family)]
    missing = np.mean([100 * np.mean(np.isnan(_pool(flights, name))) for name in targets])
    return [
        Check("samples at 1 Hz", "7,894", samples, 7_894, 7_894),
        Check("missing", "< 4", float(missing), 0, 4, "%"),
    ]


def _negatives(flights: Sequence[xr.Dataset]) -> list[Check]:
    lines, every = [], []
    for family, published in (("bc", 40.0), ("gas", 34.0), ("co2", 0.0)):
        shares = [_share(_pool(flights, name), 0.0) for name in _family(flights, family)]
        every += shares
        tolerance = 5.0 if published else 0.0
        lines.append(
            Check(
                f"negative, {family}",
                f"≈ {published:g}",
                float(np.mean(shares)),
                published - tolerance,
                published + tolerance,
                "%",
            )
        )
    return [Check("negative, all targets", "30.8", float(np.mean(every)), 25.8, 35.8, "%"), *lines]


def _signals(flights: Sequence[xr.Dataset]) -> list[Check]:
    limits = {channel.name: channel.detection_limit or 0.0 for channel in suite_of(flights[0]).channels}
    below = np.mean([_share(_pool(flights, name), limits[name]) for name in _family(flights, "pm")])
    scd30 = _pool(flights, "co2_scd30")
    bc = _pool(flights, "bc_ir_1")
    minutes = bc[: len(bc) // 60 * 60].reshape(-1, 60)
    minutes = np.nanmean(minutes[np.isfinite(minutes).any(axis=1)], axis=1)
    temperature, humidity = (_pool(flights, name) for name in ("air_temperature", "relative_humidity"))
    lag1 = np.mean([_clean_air_lag1(flight, name) for flight in flights for name in _family(flights, "bc")])
    return [
        Check("PM below detection", "66.8", float(below), 61.8, 71.8, "%"),
        Check("SCD30 stale", "50", float(100 * np.mean(np.diff(scd30[np.isfinite(scd30)]) == 0)), 47, 53, "%"),
        Check("BC, background (median minute)", "< 500", float(np.nanmedian(minutes)), 0, 500, "ng m-3"),
        Check("BC, heaviest smoke", "> 50,000", float(np.nanmax(bc)), 50_000, 1e6, "ng m-3"),
        Check("BC noise, lag-1 autocorrelation", "-0.5", float(lag1), -0.6, -0.4),
        Check("CO2, ambient (median)", "≈ 420", float(np.nanmedian(_pool(flights, "co2_li830"))), 415, 425, "ppm"),
        Check("air temperature, lowest", "15", float(np.nanmin(temperature)), 13.5, 17, "degC"),
        Check("air temperature, highest", "35", float(np.nanmax(temperature)), 33, 36.5, "degC"),
        Check("relative humidity, lowest", "30", float(np.nanmin(humidity)), 27, 34, "%"),
        Check("relative humidity, highest", "70", float(np.nanmax(humidity)), 66, 73, "%"),
    ]


def _clean_air_lag1(flight: xr.Dataset, name: str) -> float:
    """Lag-1 autocorrelation over the half of the one-minute segments with the lowest variance."""
    values = np.asarray(flight[name].values, np.float64)
    pieces = values[: len(values) // 60 * 60].reshape(-1, 60)
    pieces = pieces[np.isfinite(pieces).sum(axis=1) >= 50]
    if len(pieces) == 0:
        return float("nan")
    quiet = pieces[np.argsort(np.nanstd(pieces, axis=1))[: max(1, len(pieces) // 2)]]
    centred = quiet - np.nanmean(quiet, axis=1, keepdims=True)
    return float(np.nanmean(centred[:, 1:] * centred[:, :-1]) / np.nanmean(centred**2))


def _motion(flights: Sequence[xr.Dataset]) -> list[Check]:
    gps, ekf = _pool(flights, "ground_speed"), _pool(flights, "ekf_speed")
    return [
        Check("speed, mean", "1.78", float(np.nanmean(gps)), 1.78 * 0.9, 1.78 * 1.1, "m s-1"),
        Check("speed, median", "0.21", float(np.nanmedian(gps)), 0.21 * 0.9, 0.21 * 1.1, "m s-1"),
        Check("speed, highest", "8.6", float(np.nanmax(gps)), 8.6 * 0.95, 8.6 * 1.05, "m s-1"),
        Check("time above 0.1 m/s", "63.1", 100 - _share(gps, 0.1), 60.1, 66.1, "%"),
        Check("GPS against EKF speed", "≤ 0.4", float(100 * abs(np.nanmean(ekf) / np.nanmean(gps) - 1)), 0, 0.4, "%"),
    ]


def _response(flights: Sequence[xr.Dataset], truths: Sequence[xr.Dataset]) -> list[Check]:
    t90 = np.array([json.loads(truth.attrs["t90_s"])[name] for truth in truths for name in _family(flights, "gas")])
    low, median, high = np.percentile(t90, [25, 50, 75])
    speed = _pool(flights, "ground_speed")
    edges = np.concatenate([np.asarray(json.loads(truth.attrs["edge_width_m"])) for truth in truths])
    return [
        Check("electrochemical t90, lower quartile", "3", float(low), 2, 4, "s"),
        Check("electrochemical t90, median", "4", float(median), 3, 5, "s"),
        Check("electrochemical t90, upper quartile", "12", float(high), 11, 13, "s"),
        Check("blur at mean speed", "7", float(median * np.nanmean(speed)), 5.5, 8.5, "m"),
        Check("blur at highest speed", "34", float(median * np.nanmax(speed)), 27, 41, "m"),
        Check("plume edges, 10–90 % (median)", "1–10", float(np.median(edges)), 1, 10, "m"),
        Check("plume edges, within 1–10 m", "all", float(100 * np.mean((edges >= 1) & (edges <= 10))), 70, 100, "%"),
    ]
