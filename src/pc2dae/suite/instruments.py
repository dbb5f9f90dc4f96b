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
    tape_position: str | None = None  # a filter photometer: `<lamp>_bc1` has its attenuation in `<lamp>_atn1`
    cell_temperature: str | None = None  # [degC] of a heated cell, which must reach
    ready_c: float = 0.0
    board_temperature: str | None = None  # [degC] of an electrochemical cell: fast changes disturb it
    warm_up_s: float | None = None  # zeros and gaps that end within this time are the start-up


RULES: Mapping[str, InstrumentRules] = MappingProxyType({
    "ma200": InstrumentRules(status="status", starting_bit=2, saturated_bit=16, tape_position="tape_position"),
    "li830": InstrumentRules(cell_temperature="cell_temperature", ready_c=50.0),  # held at 51.5 degC when calibrated
    "pms5003": InstrumentRules(warm_up_s=30.0),  # data sheet
    "afe": InstrumentRules(board_temperature="temperature"),
})  # fmt: skip
