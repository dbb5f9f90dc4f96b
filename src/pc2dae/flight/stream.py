"""The output of a reader: one instrument's records as stamped, before gridding or correction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask


@dataclass(frozen=True)
class Stream:
    """The records of one instrument.

    `instrument` is the kind ("ma200", "afe", "scd30", "li830", "pms5003", "bme280", "ardupilot", …) and `unit`
    distinguishes several of a kind ("a", "b", "1", "2"; empty for a single one): together `key`, as in `sources`.
    `columns` hold numbers under this project's names (readers map those of the file); text and status are in `notes`.
    """

    instrument: str
    unit: str
    time: NDArray[np.datetime64]  # datetime64[ns], UTC, one per row, as stamped: may repeat, skip or go back
    columns: dict[str, Array]  # each as long as `time`; NaN where the file has no number
    units: dict[str, str]  # of every column
    clock: str = "rtc"  # "gps" if stamps come from GPS, "rtc" if from the instrument's own clock
    rows_read: int = 0  # data rows in the file, kept or not
    repairs: tuple[str, ...] = ()  # what was repaired or left out, one line each, with counts
    calibration: dict[str, Any] | None = None  # factory sheet (electrochemical boards)
    source: str = ""  # file name
    serial: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """As in a suite's sources: "afe/a", "bme280"."""
        return f"{self.instrument}/{self.unit}" if self.unit else self.instrument

    @property
    def repeats(self) -> Mask:
        """Rows that equal the one before in every column."""
        repeats = np.arange(len(self.time)) > 0
        for values in self.columns.values():
            repeats[1:] &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
        return repeats
