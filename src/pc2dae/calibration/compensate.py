"""Compensation stage: electrode voltages to concentrations, pressure and humidity of NDIR, difference channels."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.calibration.electrochemical import (
    RECOMMENDED,
    Algorithm,
    cell_uncertainty,
    compensate_cell,
    outside_table,
    sensitivity,
)
from pc2dae.calibration.ndir import (
    NEAR_S,
    correct_ndir,
    correct_with_held_air,
    exponent_uncertainty,
    plausible_air,
)
from pc2dae.errors import SuiteError
from pc2dae.flags import MISSING, NOT_MEASURED, OUTSIDE_CALIBRATION, THERMAL_TRANSIENT
from pc2dae.flight.schema import add_history, check_flight
from pc2dae.suite import ENVIRONMENT, Channel, Source, Suite

Variables = dict[str, xr.Variable]  # variables of a flight; cheaper to modify one by one than a dataset

_CELL = {"o3": "OX"}  # ozone is measured by an OX (O3 + NO2) cell; other cells are named after their gas


def compensate(flight: xr.Dataset) -> xr.Dataset:
    """Compute electrochemical channels from WE, AE and temperature, correct NDIR channels, compute difference channels.

    The suite's `compensation` chooses between AAN 803 and Eq. (1) of the paper. Channels of a board without a
    calibration sheet remain missing, which is recorded in the history.
    """
    suite = check_flight(flight)
    done: Variables = {str(name): variable for name, variable in flight.variables.items()}
    sheets: dict[str, Any] = json.loads(flight.attrs.get("calibration", "{}"))
    computed, left = [], []
    # Ozone last: it requires NO2 from its board.
    for name in sorted(_electrochemical(suite, flight), key=lambda n: suite.sources[n].column == "o3"):
        source = suite.sources[name]
        if source.key not in sheets:
            left.append(name)
            continue
        sheet = _cell_sheet(sheets[source.key], source)
        try:
            _compute(done, suite, name, sheet)
        except SuiteError as error:
            raise SuiteError(f"{name}: {Exception.__str__(error)}", hint=error.hint) from None
        computed.append(name)
    lines = [_correct(done, channel, suite.rate_hz) for channel in suite.channels if is_to_correct(flight, channel)]
    computed += [name for name in suite.names if f"{name}_uncalibrated" in done.keys() - flight.variables.keys()]
    for channel in suite.channels:
        if channel.difference_of is not None and not np.isfinite(flight[channel.name].values).any():
            first, second = channel.difference_of
            bits = (done[f"qc_{first}"].values | done[f"qc_{second}"].values) & np.int32(NOT_MEASURED)
            _put(done, channel.name, done[first].values - done[second].values, bits)
            computed.append(channel.name)
    line = f"compensated: {', '.join(computed) if computed else 'nothing to do'}"
    if left:
        line += f"; no calibration sheet, left missing: {', '.join(left)}"
    new = {name: variable for name, variable in done.items() if variable is not flight.variables.get(name)}
    done_flight = flight.assign(new)
    for correction in lines:
        done_flight = add_history(done_flight, correction, kind="change")
    return add_history(done_flight, line, level="compensated")


def is_to_correct(flight: xr.Dataset, channel: Channel) -> bool:
    """Whether a channel's suite asks for a correction of NDIR readings that was not made before."""
    return channel.is_ndir and f"{channel.name}_uncalibrated" not in flight


def corrected_as_live(flight: xr.Dataset) -> xr.Dataset:
    """A compensated flight with NDIR channels as in a stream: corrected with the last air, missing before the first."""
    suite = check_flight(flight)
    done: Variables = {str(name): variable for name, variable in flight.variables.items()}
    air = plausible_air(_air(done))
    at = np.arange(air.shape[1])
    last = np.maximum.accumulate(np.where(np.isfinite(air), at, -1), axis=1)
    held = np.where(last < 0, np.nan, np.take_along_axis(air, np.maximum(last, 0), axis=1))
    for channel in suite.channels:
        name = channel.name
        is_calibrated = "gain_uncertainty" in flight[name].attrs
        if not channel.is_ndir or is_calibrated:
            continue
        reading = done.get(f"{name}_uncalibrated", done[name]).values.astype(np.float64)
        values, outside = correct_with_held_air(reading, held, (at - last) / suite.rate_hz, channel)
        flag = np.where(outside, OUTSIDE_CALIBRATION, 0)
        bits: NDArray[np.int32] = done[f"qc_{name}"].values & ~np.int32(OUTSIDE_CALIBRATION) | flag
        _put(done, name, values, bits)
    return flight.assign({name: variable for name, variable in done.items() if variable is not flight.variables[name]})


def without_sheet(flight: xr.Dataset) -> list[str]:
    """Channels that remain missing because their board has no calibration sheet."""
    suite = check_flight(flight)
    sheets = json.loads(flight.attrs.get("calibration", "{}"))
    return [n for n in _electrochemical(suite, flight) if suite.sources[n].key not in sheets]


def _electrochemical(suite: Suite, flight: xr.Dataset) -> list[str]:
    found = [(name, suite.sources[name]) for name in suite.names if name in suite.sources]
    return [name for name, source in found if source.variable(f"{source.column}_we") in flight]


def _compute(done: Variables, suite: Suite, name: str, sheet: Mapping[str, Any]) -> None:
    source = suite.sources[name]
    gas = source.column
    we, ae = (done[source.variable(f"{gas}_{electrode}")].values.astype(np.float64) for electrode in ("we", "ae"))
    temperature = _temperature(done, source)
    kind = str(sheet["sensor_type"])
    partner = _no2(done, suite, source.key) if gas == "o3" else None
    no2 = None if partner is None else done[partner].values.astype(np.float64)
    algorithm: Algorithm | None = "equation-1" if suite.compensation == "equation-1" else None
    ppb = compensate_cell(we, ae, temperature, sheet, kind, algorithm=algorithm, no2_ppb=no2)
    clamped: NDArray[np.int32] = np.where(outside_table(temperature), THERMAL_TRANSIENT, 0).astype(np.int32)
    bits: NDArray[np.int32] = done[f"qc_{name}"].values | clamped
    _put(done, name, ppb, bits)
    method = f"AAN 803-05 algorithm {RECOMMENDED[kind]}" if algorithm is None else "Eq. (1) of the PC2DAE paper"
    done[name].attrs["comment"] = f"{kind}, {method}" + (
        ", NO2 subtracted" if no2 is not None else ", sum of O3 and NO2" if gas == "o3" else ""
    )
    if partner is not None:
        ratio = sensitivity(sheet, "we_cross_sensitivity_no2") / sensitivity(sheet, "we_sensitivity")
        done[name].attrs["signal_cross"] = json.dumps({partner: ratio})
    sigma = cell_uncertainty(ppb, ae, temperature, sheet, kind, algorithm=algorithm)
    words = f"standard uncertainty of {name} from sensitivity and cell temperature, excluding noise"
    done[f"{name}_calibration_uncertainty"] = _described(sigma, suite[name], words)


def _correct(done: Variables, channel: Channel, rate_hz: float) -> str:
    """Correct an NDIR channel for pressure and humidity, and describe it in a line.

    Gaps in the air data are interpolated, and flagged beyond 5 s from the nearest ones: mixed with uncorrected values,
    the channel would have steps. Without any air data it is left as it was logged.
    """
    name, reading = channel.name, done[channel.name]
    air = _air(done)
    known = correct_ndir(reading.values, air, channel)[1]
    if channel.dry and channel.pressure_exponent is not None and not known.any():
        line = _correct(done, channel.model_copy(update={"dry": False}), rate_hz)
        return f"{line}; not converted to dry mole fraction: no temperature and humidity of the air"
    at, seen = np.arange(reading.size), np.flatnonzero(known)
    near = NEAR_S * rate_hz
    is_far = np.searchsorted(seen, at - near) == np.searchsorted(seen, at + near, side="right")
    outside = is_far & np.isfinite(reading.values)
    flag: NDArray[np.int32] = np.where(outside, OUTSIDE_CALIBRATION, 0).astype(np.int32)
    bits: NDArray[np.int32] = done[f"qc_{name}"].values | flag
    if not len(seen):
        _put(done, name, reading.values, bits)
        needed = "pressure, temperature and humidity" if channel.dry else "pressure"
        return f"{name} not corrected: no {needed} of the air (flagged outside_calibration)"
    air = np.stack([np.interp(at, seen, row[seen]) for row in air])
    values = correct_ndir(reading.values, air, channel)[0]
    done[f"{name}_uncalibrated"] = _described(reading.values, channel, f"{name} before calibration")
    _put(done, name, values, bits)
    steps = []
    if (exponent := channel.pressure_exponent) is not None:
        done[name].attrs["pressure_exponent"] = exponent
        words = f"standard uncertainty of {name} from its pressure exponent"
        done[f"{name}_calibration_uncertainty"] = _described(exponent_uncertainty(values, air[2]), channel, words)
        steps.append(f"corrected for pressure, ·(1013.25 hPa/P)^{exponent:g}")
    if channel.dry:
        if channel.standard_name is not None:
            done[name].attrs["standard_name"] = re.sub("_in_air$", "_in_dry_air", channel.standard_name)
        steps.append("converted to dry mole fraction")
    far = f"; {int(outside.sum()):,} samples far from any air data" if outside.any() else ""
    return f"{name} {' and '.join(steps)}{far}"


def _air(done: Variables) -> Array:
    """Temperature, humidity and pressure of the air (3, time), NaN where not measured."""
    unknown = np.full(done["time"].size, np.nan)
    return np.stack([done[n].values.astype(np.float64) if n in done else unknown for n in ENVIRONMENT])


def _described(values: Array, channel: Channel, words: str) -> xr.Variable:
    return xr.Variable("time", values, {"units": channel.units, "long_name": words})


def _put(done: Variables, name: str, values: Array, bits: NDArray[np.int32]) -> None:
    """Set values and flags of a channel; non-finite values are flagged missing."""
    clear = np.where(np.isfinite(values), bits & ~np.int32(MISSING), bits | np.int32(MISSING)).astype(np.int32)
    done[name] = xr.Variable("time", values, dict(done[name].attrs))
    done[f"qc_{name}"] = xr.Variable("time", clear, dict(done[f"qc_{name}"].attrs))


def _temperature(done: Variables, source: Source) -> Array:
    """Board temperature [degC], or air temperature where not available."""
    own = source.variable("temperature")
    air = done["air_temperature"].values if "air_temperature" in done else np.full(done["time"].size, np.nan)
    if own not in done:
        return np.asarray(air, dtype=np.float64)
    board = done[own].values.astype(np.float64)
    return np.where(np.isfinite(board), board, air)


def _no2(done: Variables, suite: Suite, board: str) -> str | None:
    """The NO2 channel of the same board, or of another board if it has none."""
    cells = [name for name in suite.names if name in suite.sources and suite.sources[name].column == "no2"]
    found = [name for name in cells if np.isfinite(done[name].values).any()]
    found.sort(key=lambda name: suite.sources[name].key != board)
    return found[0] if found else None


def _cell_sheet(board: Mapping[str, Any], source: Source) -> Mapping[str, Any]:
    wanted = _CELL.get(source.column, source.column.upper())
    sensors = board.get("sensors", [])
    for sensor in sensors:
        if str(sensor.get("sensor_type", "")).upper().partition("-")[0] == wanted:
            return dict(sensor)
    available = ", ".join(str(sensor.get("sensor_type")) for sensor in sensors) or "none"
    raise SuiteError(f"the calibration sheet of {source.key} has no {wanted} cell", hint=f"it lists {available}")
