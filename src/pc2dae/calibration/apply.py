"""Calibrations applied to a flight: readings become concentrations with a budget of what remains uncertain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.curve import Calibration
from pc2dae.calibration.inverse import Inverse
from pc2dae.calibration.series import CalibrationSeries
from pc2dae.calibration.terms import environment_of, environment_terms, held
from pc2dae.errors import CalibrationError
from pc2dae.flags import BELOW_BOUND, BELOW_DETECTION, MISSING, OUTSIDE_CALIBRATION, STALE
from pc2dae.flight.schema import add_history, environment_array, observed, suite_of
from pc2dae.response.t90 import cross_terms
from pc2dae.suite import Suite

_OF_AIR = np.int32(MISSING | BELOW_DETECTION | BELOW_BOUND | OUTSIDE_CALIBRATION)  # flags that calibration changes


def calibrated(flight: xr.Dataset, calibrations: Sequence[Calibration]) -> xr.Dataset:
    """The flight with calibrated channels; what was before is kept as `<name>_uncalibrated`.

    Between several calibrations concentrations are interpolated in time, beyond the first and last they are held.
    """
    if flight.attrs.get("level") == "denoised":
        raise CalibrationError("the flight is denoised already", hint="pass the flight it was made from")
    suite = suite_of(flight)
    for calibration in calibrations:
        _check(flight, suite, calibration)
    series = CalibrationSeries(calibrations, suite, measured=[n for n in suite.names if observed(flight, n).any()])
    terms, times = environment_terms(environment_array(flight), suite.rate_hz), flight["time"].values
    readings = {name: flight[name].values.astype(np.float64) for name in series.own}
    found = series.air(readings, {name: _filled(flight, name) for name in series.own}, terms, times)
    new: dict[str, Any] = {}
    for name, (air, outside) in found.items():
        own = [series.calibrations[k] for k in series.own[name]]
        about = {
            "units": series.units[name],
            "calibration": "; ".join(c.label for c in own),
            "calibrated_by": json.dumps([c.facts for c in own]),
            "signal_cross": json.dumps(_signal_cross(flight, series.nearest(name, times), name)),
            "calibration_cross": json.dumps(series.latest_cross(name)),
        }
        new |= with_air(flight, name, air, about | series.budget(name, terms, times).attributes(), outside=outside)
    done = flight.assign(new).assign_attrs(suite=series.suite.model_dump_json(exclude_defaults=True))
    return add_history(done, f"calibrated {', '.join(found)} with {series.label}", kind="change")


def with_reading_flags(flight: xr.Dataset, before: xr.Dataset) -> xr.Dataset:
    """The flight, screened after calibration, with the flags of its readings except those that depend on the air.

    A range, a spike or a flat line is of the reading: clean air that a sensor reports as 0 is not stuck because its
    zero was shifted.
    """
    found = {}
    for qc in (f"qc_{name}" for name in suite_of(flight).names):
        bits = flight[qc].values & _OF_AIR | before[qc].values & ~_OF_AIR
        found[qc] = flight[qc].copy(data=np.where(bits & MISSING, bits & ~np.int32(STALE), bits))
    return flight.assign(found)


def sheet_identity(flight: xr.Dataset, suite: Suite, name: str) -> str:
    """Hash of the factory sheet of the board behind a channel, empty without one: readings depend on it."""
    sheets = json.loads(flight.attrs.get("calibration", "{}"))
    sheet = sheets.get(suite.instrument_of(name))
    return "" if sheet is None else hashlib.sha256(json.dumps(sheet, sort_keys=True).encode()).hexdigest()[:16]


def _check(flight: xr.Dataset, suite: Suite, calibration: Calibration) -> None:
    for name in sorted(set(calibration.channels) & set(suite.names)):
        curve = calibration.channels[name]
        if "gain_uncertainty" in flight[name].attrs:
            raise CalibrationError(f"{name} is calibrated already ({flight[name].attrs.get('calibration')})",
                                   hint="pass the flight it was made from")  # fmt: skip
        identity = sheet_identity(flight, suite, name)
        if curve.identity and identity and curve.identity != identity:
            raise CalibrationError(f"{name}: the calibration was made with another factory sheet: another instrument",
                                   hint="calibrate this payload, or pass its own file")  # fmt: skip
        for term in curve.environment:
            if environment_of(term) not in flight:
                raise CalibrationError(f"{name}: its calibration depends on {environment_of(term)}, which the flight"
                                       " does not have", hint="add it to the suite's environment")  # fmt: skip


def _filled(flight: xr.Dataset, name: str) -> Array:
    """Readings with those that are no observation replaced by the last one, since other channels depend on them."""
    return held(flight[name].values.astype(np.float64), observed(flight, name))


def _signal_cross(flight: xr.Dataset, inverse: Inverse, name: str) -> dict[str, float]:
    """The interferences in the cell's own signal, with those that its factory sheet has subtracted already.

    The lag acts on this signal: s_i = c_i + Σ K_ij c_j, K from the rows of (1 + K_sheet) G.
    """
    row = inverse.matrix[inverse.names.index(name)].copy()
    uncalibrated = {}
    for other, gain in cross_terms(flight, name):
        if other in inverse.names:
            row = row + gain * inverse.matrix[inverse.names.index(other)]
        else:
            uncalibrated[other] = gain
    parts = dict(zip(inverse.names, row, strict=True)) | uncalibrated
    own = parts.pop(name)
    return {other: float(part / own) for other, part in parts.items() if part != 0}


def with_air(
    flight: xr.Dataset, name: str, air: Array, about: dict[str, Any], *, outside: Mask | bool = False
) -> dict[str, Any]:
    """A channel with the values of the air, its flags, and the reading before, as `<name>_uncalibrated`."""
    attrs = dict(flight[name].attrs)
    bits = flight[f"qc_{name}"].values & ~np.int32(BELOW_BOUND | BELOW_DETECTION)
    bits = np.where(outside & np.isfinite(air), bits | np.int32(OUTSIDE_CALIBRATION), bits).astype(np.int32)
    before = attrs | {"long_name": f"{attrs.get('long_name', name)}, before calibration"}
    kept = f"{name}_uncalibrated"  # there already if the reading was corrected for pressure
    return {
        kept: flight.variables.get(kept, ("time", flight[name].values, before)),
        name: ("time", air, attrs | about),
        f"qc_{name}": ("time", bits, dict(flight[f"qc_{name}"].attrs)),
    }
