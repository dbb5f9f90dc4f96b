"""What each instrument's other columns say about its channels: constants of the makers, used by the quality checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class InstrumentRules:
    """When an instrument's reading is unreliable; a rule whose column is None does not apply."""

    status: str | None = None  # column of a status word, with these bits:
    starting_bit: int = 0
    saturated_bit: int = 0
    spent_atn: float | None = None  # filter photometer: attenuation (`<lamp>_atn1` of `<lamp>_bc1`) of a spent filter
    tape_position: str | None = None  # column that changes with each new spot
    cell_temperature: str | None = None  # [degC] of a heated cell, which must reach
    ready_c: float = 0.0
    board_temperature: str | None = None  # [degC] of an electrochemical cell: fast changes disturb it
    warm_up_s: float | None = None  # zeros and gaps that end within this time are the start-up


RULES: Mapping[str, InstrumentRules] = MappingProxyType({
    # A filter is spent where it reads half of the true value. AE51: 0.88·exp(−ATN/100) + 0.12 = 0.5 (Kirchstetter and
    # Novakov 2007, Atmos. Environ. 41, 1874). MA200: 1 − k·ATN = 0.5 for k = 0.005 (Drinovec et al. 2015,
    # doi:10.5194/amt-8-1965-2015); its tape advances at an attenuation that the operator sets.
    "ae51": InstrumentRules(spent_atn=84.0),
    "ma200": InstrumentRules(
        status="status", starting_bit=2, saturated_bit=16, spent_atn=100.0, tape_position="tape_position"
    ),
    "li830": InstrumentRules(cell_temperature="cell_temperature", ready_c=50.0),  # held at 51.5 degC when calibrated
    "pms5003": InstrumentRules(warm_up_s=30.0),  # data sheet
    "afe": InstrumentRules(board_temperature="temperature"),
})  # fmt: skip
