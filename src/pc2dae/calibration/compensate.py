"""Compensation stage: convert electrode voltages to concentrations and compute difference channels."""

from __future__ import annotations

import json
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
)
from pc2dae.errors import SuiteError
from pc2dae.flags import MISSING, NOT_MEASURED, THERMAL_TRANSIENT
from pc2dae.flight.schema import add_history, check_flight
from pc2dae.suite import Source, Suite

Variables = dict[str, xr.Variable]  # variables of a flight; cheaper to modify one by one than a dataset

_CELL = {"o3": "OX"}  # ozone is measured by an OX (O3 + NO2) cell; other cells are named after their gas


def compensate(flight: xr.Dataset) -> xr.Dataset:
    """Compute electrochemical channels from WE, AE and temperature, and difference channels.

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
    return add_history(flight.assign(new), line, level="compensated")


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
    no2 = _no2(done, suite, source.key) if gas == "o3" else None
    algorithm: Algorithm | None = "equation-1" if suite.compensation == "equation-1" else None
    ppb = compensate_cell(we, ae, temperature, sheet, kind, algorithm=algorithm, no2_ppb=no2)
    clamped: NDArray[np.int32] = np.where(outside_table(temperature), THERMAL_TRANSIENT, 0).astype(np.int32)
    bits: NDArray[np.int32] = done[f"qc_{name}"].values | clamped
    _put(done, name, ppb, bits)
    method = f"AAN 803-05 algorithm {RECOMMENDED[kind]}" if algorithm is None else "Eq. (1) of the PC2DAE paper"
    done[name].attrs["comment"] = f"{kind}, {method}" + (
        ", NO2 subtracted" if no2 is not None else ", sum of O3 and NO2" if gas == "o3" else ""
    )
    done[f"{name}_calibration_uncertainty"] = xr.Variable(
        "time",
        cell_uncertainty(ppb, ae, temperature, sheet, kind, algorithm=algorithm),
        {
            "units": suite[name].units,
            "long_name": f"standard uncertainty of {name} from sensitivity and cell temperature, excluding noise",
        },
    )


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


def _no2(done: Variables, suite: Suite, board: str) -> Array | None:
    """NO2 [ppb] from the same board, or from another board if it has none."""
    cells = [name for name in suite.names if name in suite.sources and suite.sources[name].column == "no2"]
    found = [name for name in cells if np.isfinite(done[name].values).any()]
    found.sort(key=lambda name: suite.sources[name].key != board)
    return done[found[0]].values.astype(np.float64) if found else None


def _cell_sheet(board: Mapping[str, Any], source: Source) -> Mapping[str, Any]:
    wanted = _CELL.get(source.column, source.column.upper())
    sensors = board.get("sensors", [])
    for sensor in sensors:
        if str(sensor.get("sensor_type", "")).upper().partition("-")[0] == wanted:
            return dict(sensor)
    available = ", ".join(str(sensor.get("sensor_type")) for sensor in sensors) or "none"
    raise SuiteError(f"the calibration sheet of {source.key} has no {wanted} cell", hint=f"it lists {available}")
