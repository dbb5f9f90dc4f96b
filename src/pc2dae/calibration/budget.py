"""What a calibration leaves uncertain: zero, drift, gain and cross-sensitivity of a channel, kept in its attributes.

None of these average out over a plume as noise does. The zero is constant over a flight and cancels in an excess over
background, its drift does not; gain and cross terms are proportional to the gases.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Array, Floats

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Budget:
    """Standard uncertainties of one calibrated channel."""

    zero: float  # constant over the flight [channel's units]
    drift: float  # slow change of the zero during the flight [channel's units]
    gain: float  # relative [1]
    anchor: float = 0.0  # concentration at which the zero was fixed, where an error of the gain has no effect
    cross: dict[str, float] = field(default_factory=dict)  # channel: of the coefficient [own units per its units]

    def attributes(self) -> dict[str, Any]:
        """The budget as attributes of the channel's variable."""
        return {
            "zero_uncertainty": self.zero,
            "drift_uncertainty": self.drift,
            "gain_uncertainty": self.gain,
            "gain_anchor": self.anchor,
            "cross_uncertainty": json.dumps(self.cross),
        }

    def parts(self, value: Floats, others: dict[str, Floats]) -> dict[str, Array]:
        """Standard uncertainty of each part at concentrations `value`, with those of the interfering channels."""
        cross = [u * np.nan_to_num(np.asarray(others[n], np.float64)) for n, u in self.cross.items() if n in others]
        return {
            "zero": np.full(np.shape(value), self.zero),
            "drift": np.full(np.shape(value), self.drift),
            "gain": np.asarray(self.gain * np.abs(np.asarray(value) - self.anchor), np.float64),
            "cross": np.sqrt(sum((c**2 for c in cross), np.zeros(np.shape(value)))),
        }


def budget_of(flight: xr.Dataset, name: str) -> Budget | None:
    """The budget in a channel's attributes; None where it is not calibrated."""
    attrs = flight.variables[name].attrs
    if "gain_uncertainty" not in attrs:
        return None
    zero, drift, gain = (float(attrs[f"{part}_uncertainty"]) for part in ("zero", "drift", "gain"))
    return Budget(zero, drift, gain, float(attrs["gain_anchor"]), json.loads(attrs["cross_uncertainty"]))
