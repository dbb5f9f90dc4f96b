"""Corrections based on sensor physics: factory calibration, filter loading, zero offset."""

from pc2dae.calibration.compensate import compensate, without_sheet
from pc2dae.calibration.electrochemical import (
    cell_uncertainty,
    coefficients,
    compensate_cell,
    outside_table,
    temperature_factor,
)

__all__ = [
    "cell_uncertainty",
    "coefficients",
    "compensate",
    "compensate_cell",
    "outside_table",
    "temperature_factor",
    "without_sheet",
]
