"""Simulated electrochemical cells: true properties and factory calibration sheets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pc2dae.arrays import Array

Sheet = dict[str, Any]

# WEe, WE0, AEe, AE0 [mV], gain [mV/nA], sensitivity [mV/ppb] typical of real sheets (FIELD 3.5).
FACTORY = {
    "no": ("NO-A4", 271.0, 19.0, 256.0, 23.0, 0.80, 0.408),
    "no2": ("NO2-A43F", 293.0, -5.0, 300.0, -5.0, -0.73, 0.196),
    "o3": ("OX-A431", 411.0, -6.0, 406.0, -3.0, -0.73, 0.340),
    "so2": ("SO2-A4", 271.0, -2.0, 272.0, 2.0, 0.80, 0.367),
    "co": ("CO-A4", 280.0, 71.0, 273.0, -8.0, 0.80, 0.272),
}
SERIAL_PREFIX = {"no": 130, "no2": 212, "o3": 214, "so2": 134, "co": 132}
BOARDS = {"a": ("no", "no2", "o3", "so2", "co"), "b": ("no", "no2", "o3", "co")}

# t90 in the flow chamber [s]; paper: median 4, quartiles 3 and 12.
T90 = {
    "no_a": 2.6,
    "no_b": 3.0,
    "co_a": 3.0,
    "co_b": 3.3,
    "no2_a": 4.0,
    "no2_b": 4.6,
    "so2_a": 12.0,
    "o3_a": 11.9,
    "o3_b": 14.5,
}
# White noise, one sigma at 1 Hz (data sheets, FIELD 3.5).
NOISE_PPB = {"no": 24.0, "no2": 7.0, "o3": 5.5, "so2": 8.0, "co": 10.0}
# Typical zero shift between calibration and flight.
ZERO_PPB = {"no": 14.0, "no2": 8.0, "o3": 28.0, "so2": 5.0, "co": 110.0}
FIXED_ZERO, DAILY_ZERO = 0.6, 0.3  # in units of ZERO_PPB: the same in all flights, and different in each
# Relative cross-sensitivities from data sheets; those of real cells are up to 3 times larger.
CROSS = {
    "no": {"no2": 0.02},
    "no2": {"o3": 0.04, "no": 0.01},
    "o3": {"co": 0.0004},
    "so2": {"no2": -0.2, "o3": -0.03},
    "co": {"no": 0.03},
}


@dataclass(frozen=True)
class GasCell:
    """One electrochemical cell."""

    gas: str
    unit: str
    sensor_type: str
    sheet: Sheet  # factory calibration
    sensitivity: float  # ratio of true to factory sensitivity
    no2_sensitivity: float  # ratio of true to factory NO2 sensitivity (OX cell)
    cross: dict[str, float]  # relative cross-sensitivities to other gases
    t90_s: float
    zero_slope: float  # uncompensated temperature drift of the zero [ppb/degC]
    wetting: float  # response to humidity changes [ppb per %/min]

    @property
    def channel(self) -> str:
        """Channel name in the suite, such as "co_a"."""
        return f"{self.gas}_{self.unit}"


def make_cells(seed: int, *, perfect_sheets: bool = False) -> dict[str, GasCell]:
    """Random cells by channel name; the same payload is used for a whole campaign."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 7)))
    cells = {}
    for unit, gases in BOARDS.items():
        for gas in gases:
            sheet = _sheet(rng, gas)
            ageing = float(np.clip(rng.normal(0.92, 0.10), 0.7, 1.15))
            cross_factor = float(np.clip(np.exp(rng.normal(0.2, 0.45)), 0.5, 3.0))
            ox = float(np.clip(rng.normal(1.0, 0.12), 0.75, 1.3))
            slope, wetting = rng.normal(0, 0.06, 2)
            t90 = T90[f"{gas}_{unit}"] * float(np.exp(rng.normal(0, 0.03)))
            perfect = perfect_sheets
            cell = GasCell(
                gas=gas,
                unit=unit,
                sensor_type=FACTORY[gas][0],
                sheet=sheet,
                sensitivity=1.0 if perfect else ageing,
                no2_sensitivity=1.0 if perfect else ageing * ox,
                cross={} if perfect else {other: share * cross_factor for other, share in CROSS[gas].items()},
                t90_s=t90,
                zero_slope=0.0 if perfect else float(slope) * ZERO_PPB[gas],
                wetting=0.0 if perfect else float(wetting) * ZERO_PPB[gas],
            )
            cells[cell.channel] = cell
    return cells


@dataclass(frozen=True)
class Ageing:
    """Slow change of one cell at each time step."""

    gain: Array  # sensitivity relative to that of the campaign's flights
    zero_ppb: Array  # shift of the zero since factory calibration


def fixed_zeros(seed: int, cells: dict[str, GasCell]) -> dict[str, float]:
    """Zero shift of each cell that lasts for the whole campaign, in units of `ZERO_PPB`."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 8)))
    return dict(zip(cells, rng.normal(0, FIXED_ZERO, len(cells)), strict=True))


def _sheet(rng: np.random.Generator, gas: str) -> Sheet:
    """Random factory sheet; sensitivities span a range of 30 % between cells of one type."""
    sensor_type, wee, we0, aee, ae0, gain, sensitivity = FACTORY[gas]
    wee, aee = (round(v + rng.normal(0, 3)) for v in (wee, aee))
    we0, ae0 = (round(v + rng.normal(0, 1.5), 1) for v in (we0, ae0))
    sensitivity = round(sensitivity * rng.uniform(0.85, 1.15), 3)
    sheet: Sheet = {
        "serial_number": f"{SERIAL_PREFIX[gas]}{rng.integers(100_000, 999_999)}",
        "sensor_type": sensor_type,
        "we_electronic_zero_mv": wee,
        "we_sensor_zero_mv": we0,
        "we_total_zero_mv": round(wee + we0, 1),
        "ae_electronic_zero_mv": aee,
        "ae_sensor_zero_mv": ae0,
        "ae_total_zero_mv": round(aee + ae0, 1),
        "we_sensitivity_na_ppb": round(sensitivity / gain, 4),
        "pcb_gain": gain,
        "we_sensitivity_mv_ppb": sensitivity,
    }
    if gas == "o3":
        no2 = round(sensitivity * rng.uniform(0.82, 0.98), 3)
        sheet |= {"we_cross_sensitivity_no2_na_ppb": round(no2 / gain, 4), "we_cross_sensitivity_no2_mv_ppb": no2}
    else:
        sheet |= {"we_cross_sensitivity_no2_na_ppb": None, "we_cross_sensitivity_no2_mv_ppb": None}
    return sheet
