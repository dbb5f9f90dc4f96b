"""Electrochemical cells: concentration [ppb] from electrode voltages [mV] according to Alphasense AAN 803-05.

All four algorithms of the application note and Eq. (1) of the paper have the common form

    WEc = offset(T) + (WEu − WEe) − n(T) · (AEu − AEe)   [mV],    concentration = WEc / sensitivity   [ppb]

| algorithm  | n(T)           | offset(T)                   |
|------------|----------------|-----------------------------|
| 1          | nT             | 0                           |
| 2          | kT · WE0 / AE0 | 0                           |
| 3          | k'T            | −(WE0 − AE0)                |
| 4          | 0              | −WE0 − k''T · gain          |
| equation-1 | n(T)           | [κ0 + κ1 · (T − T0)] / β(T) |

where WEu, AEu are the logged voltages, WEe, AEe the electronic zeros of the board and WE0, AE0 the sensor zeros in
clean air. Eq. (1), κ0 + κ1 · (T − T0) + β(T) · [(WEu − WEe) − n(T) · (AEu − AEe)], has 1 / β(T) as its sensitivity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pc2dae.arrays import Array, Mask
from pc2dae.errors import SuiteError, nearest

Algorithm = int | Literal["equation-1"]  # 1 to 4 of the note, or Eq. (1) of the paper

TEMPERATURE_NODES = (-30.0, -20.0, -10.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0)  # degC

# AAN 803-05 (March 2019), Table 3, A-series. k''T is a current [nA], multiplied by the board's gain to give mV.
_FACTORS: Mapping[str, Mapping[int, tuple[float, ...]]] = MappingProxyType({
    "CO-A4": {
        1: (1.0, 1.0, 1.0, 1.0, -0.2, -0.9, -1.5, -1.5, -1.5),
        2: (-1.1, -1.1, -1.1, -1.1, 0.2, 1.0, 1.7, 1.7, 1.7),
        3: (1.9, 2.9, 2.7, 3.9, 2.1, 1.0, -0.6, -0.3, -0.5),
        4: (13.0, 12.0, 16.0, 11.0, 4.0, 0.0, -15.0, -18.0, -36.0),
    },
    "NO-A4": {
        1: (1.7, 1.7, 1.6, 1.5, 1.5, 1.5, 1.5, 1.6, 1.7),
        2: (1.1, 1.1, 1.1, 1.0, 1.0, 1.0, 1.0, 1.1, 1.1),
        3: (0.7, 0.7, 0.7, 0.7, 0.8, 1.0, 1.2, 1.4, 1.6),
        4: (-25.0, -25.0, -25.0, -25.0, -16.0, 0.0, 56.0, 200.0, 615.0),
    },
    "NO2-A43F": {
        1: (0.8, 0.8, 1.0, 1.2, 1.6, 1.8, 1.9, 2.5, 3.6),
        2: (0.4, 0.4, 0.6, 0.7, 0.9, 1.0, 1.1, 1.4, 2.0),
        3: (0.2, 0.2, 0.2, 0.2, 0.7, 1.0, 1.3, 2.1, 3.5),
        4: (-4.0, -4.0, -4.0, -4.0, -2.0, 0.0, 10.0, 35.0, 132.0),
    },
    "OX-A431": {
        1: (1.0, 1.2, 1.2, 1.6, 1.7, 2.0, 2.1, 3.4, 4.6),
        2: (0.5, 0.6, 0.6, 0.8, 0.9, 1.0, 1.1, 1.7, 2.3),
        3: (0.1, 0.1, 0.2, 0.3, 0.7, 1.0, 1.7, 3.0, 4.0),
        4: (-5.0, -5.0, -4.0, -3.0, 0.5, 0.0, 9.0, 42.0, 134.0),
    },
    "SO2-A4": {
        1: (1.3, 1.3, 1.3, 1.2, 0.9, 0.4, 0.4, 0.4, 0.4),
        2: (3.3, 3.3, 3.3, 3.0, 2.3, 1.0, 1.0, 1.0, 1.0),
        3: (1.5, 1.5, 1.5, 1.5, 1.0, 1.0, 1.0, 1.0, 1.0),
        4: (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 25.0, 45.0),
    },
})  # fmt: skip
# Default gain of A4-series boards [mV/nA], if not given on the sheet.
_GAIN = {"CO-A4": 0.8, "NO-A4": 0.8, "NO2-A43F": -0.73, "OX-A431": -0.73, "SO2-A4": 0.8}
# AAN 803-05, Table 2: first recommended algorithm for each cell.
RECOMMENDED: Mapping[str, int] = MappingProxyType({"CO-A4": 1, "NO-A4": 3, "NO2-A43F": 1, "OX-A431": 3, "SO2-A4": 4})


def temperature_factor(sensor_type: str, algorithm: int, temperature_c: ArrayLike) -> Array:
    """Temperature factor of AAN 803-05, Table 3: linear between nodes, constant outside the table.

    Args:
        sensor_type: Cell, as in "CO-A4".
        algorithm: 1 to 4: nT [1], kT [1], k'T [1] or k''T [nA].
        temperature_c: Temperature of the cell [degC]; the table spans −30 to 50 (see `outside_table`).

    >>> temperature_factor("NO-A4", 3, [20.0, 25.0, 60.0]).tolist()
    [1.0, 1.1, 1.6]
    """
    if sensor_type not in _FACTORS:
        raise SuiteError(f"no temperature table for sensor type '{sensor_type}'", hint=nearest(sensor_type, _FACTORS))
    if algorithm not in _FACTORS[sensor_type]:
        raise SuiteError(f"AAN 803 has no algorithm {algorithm}", hint="choose 1, 2, 3 or 4")
    factor: Array = np.interp(
        np.asarray(temperature_c, np.float64), TEMPERATURE_NODES, _FACTORS[sensor_type][algorithm]
    )
    return factor


def outside_table(temperature_c: ArrayLike) -> Mask:
    """Mask of temperatures outside the table, where the factor is extrapolated and unreliable.

    Args:
        temperature_c: Temperature of the cell [degC].

    >>> outside_table([-31.0, 20.0, 51.0]).tolist()
    [True, False, True]
    """
    temperature = np.asarray(temperature_c, np.float64)
    return (temperature < TEMPERATURE_NODES[0]) | (temperature > TEMPERATURE_NODES[-1])


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of the common form (see module docstring) for one cell at given temperatures."""

    offset_mv: Array  # temperature baseline [mV]
    n: Array  # factor of the auxiliary electrode [1]
    we_zero_mv: float  # WEe
    ae_zero_mv: float  # AEe
    sensitivity_mv_ppb: float | Array

    def corrected(self, we_mv: ArrayLike, ae_mv: ArrayLike) -> Array:
        """WEc [mV] from logged electrode voltages [mV]."""
        we, ae = np.asarray(we_mv, np.float64), np.asarray(ae_mv, np.float64)
        return self.offset_mv + (we - self.we_zero_mv) - self.n * (ae - self.ae_zero_mv)

    def working_electrode(self, wec_mv: ArrayLike, ae_mv: ArrayLike) -> Array:
        """WEu [mV] that corresponds to WEc [mV], the inverse of `corrected`."""
        wec, ae = np.asarray(wec_mv, np.float64), np.asarray(ae_mv, np.float64)
        return wec - self.offset_mv + self.we_zero_mv + self.n * (ae - self.ae_zero_mv)


def coefficients(
    temperature_c: ArrayLike, sheet: Mapping[str, Any], sensor_type: str, *, algorithm: Algorithm | None = None
) -> Coefficients:
    """Offset, auxiliary factor, electronic zeros and sensitivity of a cell.

    Args:
        temperature_c: Temperature of the cell [degC].
        sheet: Factory sheet of the cell: zeros [mV], sensitivity [mV/ppb], or [nA/ppb] and gain [mV/nA].
        sensor_type: Cell, as in "CO-A4".
        algorithm: 1 to 4 or "equation-1"; default: the one the note recommends for the cell.

    >>> sheet = {"we_electronic_zero_mv": 280, "we_sensor_zero_mv": 40, "ae_electronic_zero_mv": 270,
    ...          "ae_sensor_zero_mv": 30, "we_sensitivity_mv_ppb": 0.4}
    >>> cell = coefficients(20.0, sheet, "NO-A4")
    >>> float(cell.n), float(cell.offset_mv)
    (1.0, -10.0)
    """
    if algorithm is None:
        algorithm = RECOMMENDED.get(sensor_type, 1)
    if algorithm == "equation-1":
        return _equation_1(temperature_c, sheet, sensor_type)
    factor = temperature_factor(sensor_type, algorithm, temperature_c)
    we0, ae0 = _number(sheet, "we_sensor_zero_mv"), _number(sheet, "ae_sensor_zero_mv")
    zero = np.zeros_like(factor)
    if algorithm == 1:
        offset, n = zero, factor
    elif algorithm == 2:
        if ae0 == 0:
            raise SuiteError(
                f"algorithm 2 divides by ae_sensor_zero_mv, which is 0 on the sheet of {sensor_type}",
                hint="use algorithm 1 or 3",
            )
        offset, n = zero, factor * we0 / ae0
    elif algorithm == 3:
        offset, n = zero - (we0 - ae0), factor
    else:
        offset, n = -we0 - factor * abs(_number({"pcb_gain": _GAIN[sensor_type]} | dict(sheet), "pcb_gain")), zero
    return Coefficients(
        offset_mv=offset,
        n=n,
        we_zero_mv=_number(sheet, "we_electronic_zero_mv"),
        ae_zero_mv=_number(sheet, "ae_electronic_zero_mv"),
        sensitivity_mv_ppb=sensitivity(sheet, "we_sensitivity"),
    )


def _equation_1(temperature_c: ArrayLike, sheet: Mapping[str, Any], sensor_type: str) -> Coefficients:
    """Eq. (1) of the paper, with the coefficients under 'equation_1' of the cell's sheet."""
    given = sheet.get("equation_1")
    own = given if isinstance(given, Mapping) else {}
    needed = ("kappa_0_ppb", "kappa_1_ppb_per_degc", "reference_degc", "beta_ppb_per_mv")
    if missing := [key for key in needed if key not in own]:
        raise SuiteError(
            f"compensation equation-1 needs {', '.join(missing)} in 'equation_1' of {sensor_type} on the sheet",
            hint="see docs/suite.md, or use compensation aan-803",
        )
    baseline_ppb = _number(own, "kappa_0_ppb") + _number(own, "kappa_1_ppb_per_degc") * (
        np.asarray(temperature_c, np.float64) - _number(own, "reference_degc")
    )
    beta = _at_temperature(own, "beta_ppb_per_mv", temperature_c)
    if (beta <= 0).any():
        raise SuiteError(f"the calibration sheet has beta_ppb_per_mv {own['beta_ppb_per_mv']} for {sensor_type}",
                         hint="a gain must be above zero")  # fmt: skip
    return Coefficients(
        offset_mv=baseline_ppb / beta,
        n=_at_temperature(own, "n", temperature_c) if "n" in own else temperature_factor(sensor_type, 1, temperature_c),
        we_zero_mv=_number(sheet, "we_electronic_zero_mv"),
        ae_zero_mv=_number(sheet, "ae_electronic_zero_mv"),
        sensitivity_mv_ppb=1 / beta,
    )


def _at_temperature(table: Mapping[str, Any], key: str, temperature_c: ArrayLike) -> Array:
    """A coefficient that is one number, or one at each of `TEMPERATURE_NODES`, interpolated like the note's tables."""
    given = table[key] if isinstance(table[key], list) else [table[key]] * len(TEMPERATURE_NODES)
    if len(given) != len(TEMPERATURE_NODES):
        raise SuiteError(f"the calibration sheet has {len(given)} values of '{key}'",
                         hint="write one number, or nine for -30, -20 … 50 degC")  # fmt: skip
    values = [_number({**table, key: value}, key) for value in given]
    return np.asarray(np.interp(np.asarray(temperature_c, np.float64), TEMPERATURE_NODES, values))


def compensate_cell(
    we_mv: ArrayLike,
    ae_mv: ArrayLike,
    temperature_c: ArrayLike,
    sheet: Mapping[str, Any],
    sensor_type: str,
    *,
    algorithm: Algorithm | None = None,
    no2_ppb: ArrayLike | None = None,
) -> Array:
    """Concentration [ppb] of one cell; valid from −30 to 50 degC.

    An OX cell responds to both O3 and NO2. With `no2_ppb`, the NO2 signal, NO2 · (sensitivity to NO2), is subtracted
    before dividing by the sensitivity to O3; otherwise the result is the sum of both, expressed as O3.

    Args:
        we_mv: Working electrode as logged [mV].
        ae_mv: Auxiliary electrode as logged [mV].
        temperature_c: Temperature of the cell [degC].
        sheet: Factory sheet of the cell, as in `coefficients`.
        sensor_type: Cell, as in "CO-A4".
        algorithm: 1 to 4 or "equation-1"; default: the one the note recommends for the cell.
        no2_ppb: NO2 in the same air [ppb], for an OX cell.

    >>> sheet = {"we_electronic_zero_mv": 280, "we_sensor_zero_mv": 40, "ae_electronic_zero_mv": 270,
    ...          "ae_sensor_zero_mv": 30, "we_sensitivity_mv_ppb": 0.4}
    >>> float(compensate_cell(430.0, 300.0, 20.0, sheet, "NO-A4"))  # (−10 + 150 − 1 · 30) mV / 0.4 mV/ppb
    275.0
    """
    cell = coefficients(temperature_c, sheet, sensor_type, algorithm=algorithm)
    corrected = cell.corrected(we_mv, ae_mv)
    if no2_ppb is not None:
        corrected = corrected - np.asarray(no2_ppb, np.float64) * sensitivity(sheet, "we_cross_sensitivity_no2")
    return corrected / cell.sensitivity_mv_ppb


def cell_uncertainty(
    ppb: ArrayLike,
    ae_mv: ArrayLike,
    temperature_c: ArrayLike,
    sheet: Mapping[str, Any],
    sensor_type: str,
    *,
    algorithm: Algorithm | None = None,
    electrode_mv: float = 0.0,
    temperature_error_c: float = 0.5,
    sensitivity_error: float = 0.05,
    no2_sigma_ppb: ArrayLike | None = None,
) -> Array:
    """Standard uncertainty [ppb] of a compensated value, by linear propagation.

    u² = [(1 + n²) u_e² + (∂offset/∂T − AE ∂n/∂T − ppb ∂S/∂T)² u_T² + (S_NO2 u_NO2)²] / S² + (u_S · ppb)²

    Args:
        ppb: Compensated value [ppb].
        ae_mv: Auxiliary electrode as logged [mV].
        temperature_c: Temperature of the cell [degC].
        sheet: Factory sheet of the cell, as in `coefficients`.
        sensor_type: Cell, as in "CO-A4".
        algorithm: 1 to 4 or "equation-1"; default: the one the note recommends for the cell.
        electrode_mv: Noise of one electrode [mV].
        temperature_error_c: Standard uncertainty of the cell's temperature, read by a Pt1000 [degC].
        sensitivity_error: Relative standard uncertainty of the factory sensitivity [1], for a new cell; ageing in the
            field adds far more.
        no2_sigma_ppb: Standard uncertainty of the NO2 that was subtracted [ppb].

    >>> sheet = {"we_electronic_zero_mv": 280, "we_sensor_zero_mv": 40, "ae_electronic_zero_mv": 270,
    ...          "ae_sensor_zero_mv": 30, "we_sensitivity_mv_ppb": 0.4}
    >>> float(cell_uncertainty(200.0, 300.0, 20.0, sheet, "NO-A4", temperature_error_c=0.0))  # 5 % of 200
    10.0
    """
    temperature = np.asarray(temperature_c, np.float64)
    half_k = 0.5
    below, here, above = (
        coefficients(temperature + step, sheet, sensor_type, algorithm=algorithm) for step in (-half_k, 0.0, half_k)
    )
    per_degree = (above.offset_mv - below.offset_mv) - (np.asarray(ae_mv) - here.ae_zero_mv) * (above.n - below.n)
    per_degree = per_degree - np.asarray(ppb) * (above.sensitivity_mv_ppb - below.sensitivity_mv_ppb)
    variance = (1 + here.n**2) * electrode_mv**2 + (per_degree * temperature_error_c) ** 2
    if no2_sigma_ppb is not None:
        variance = variance + (sensitivity(sheet, "we_cross_sensitivity_no2") * np.asarray(no2_sigma_ppb)) ** 2
    uncertainty: Array = np.sqrt(
        variance / here.sensitivity_mv_ppb**2 + (sensitivity_error * np.asarray(ppb, np.float64)) ** 2
    )
    return uncertainty


def sensitivity(sheet: Mapping[str, Any], key: str) -> float:
    """Sensitivity from the sheet [mV/ppb]: `<key>_mv_ppb`, or `<key>_na_ppb` times the board's gain; never zero.

    Args:
        sheet: Factory sheet of the cell.
        key: "we_sensitivity" or "we_cross_sensitivity_no2".

    >>> sensitivity({"we_sensitivity_na_ppb": 0.5, "pcb_gain": 0.8}, "we_sensitivity")
    0.4
    """
    if sheet.get(f"{key}_mv_ppb") is not None:
        value = _number(sheet, f"{key}_mv_ppb")
    else:
        value = _number(sheet, f"{key}_na_ppb") * _number(sheet, "pcb_gain")
    if value == 0:
        raise SuiteError(f"the calibration sheet has {key} 0", hint="a sensitivity must not be zero")
    return value


def _number(sheet: Mapping[str, Any], key: str) -> float:
    value = sheet.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not np.isfinite(value):
        what = f"'{key}' = {value!r}" if key in sheet else f"no '{key}'"
        raise SuiteError(f"the calibration sheet has {what}", hint=nearest(key, [k for k in sheet if k != key]))
    return float(value)
