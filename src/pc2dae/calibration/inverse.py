"""From readings to the air: the inverse of a calibration, for whole records and for streams (numpy only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.calibration.budget import Budget
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.calibration.terms import CROSS

_MARGIN = 0.1  # of a range: environment this far beyond it is still taken as inside
_ROUNDING = 1e-12
_GAIN_PER_DAY = 0.0005  # relative change of a gain; data sheets of gas cells allow 10 to 20 % per year


class Inverse:
    """The equations of a calibration's cells, solved for the air."""

    def __init__(self, calibration: Calibration, names: Sequence[str]) -> None:
        self.names = [name for name in names if name in calibration.channels]
        self.curves: dict[str, Curve] = {name: calibration.channels[name] for name in self.names}
        self.matrix: Array = np.diag(np.array([curve.terms["gain"] for curve in self.curves.values()]))
        for row, curve in enumerate(self.curves.values()):
            for other, value in curve.cross.items():
                if other in self.names:
                    self.matrix[row, self.names.index(other)] = value
        self.solution: Array = inverted(self.matrix)

    def air(self, readings: Mapping[str, Floats], terms: Mapping[str, Floats]) -> dict[str, Array]:
        """Concentrations from readings and environment terms; a term that was never measured counts as its centre."""
        known = [
            np.asarray(readings[name], np.float64) - _elsewhere(curve, terms, self.names)
            for name, curve in self.curves.items()
        ]
        return {
            name: np.asarray(sum(w * y for w, y in zip(row, known, strict=True) if w != 0))
            for name, row in zip(self.names, self.solution, strict=True)
        }

    def slope(self, name: str) -> float:
        """Change of a channel's concentration with its own reading."""
        row = self.names.index(name)
        return float(self.solution[row, row])

    def outside(self, name: str, air: Floats, terms: Mapping[str, Floats]) -> Mask:
        """Where a channel's concentration or environment lies outside the range of its calibration."""
        curve = self.curves[name]
        low, high = curve.range["air"]
        outside: NDArray[np.bool_] = np.asarray(air) > high + _MARGIN * (high - low)
        for term in curve.environment:
            low, high = curve.range[term]
            slack = _MARGIN * (high - low)
            x = np.asarray(terms[term])
            outside = outside | ~((x >= low - slack) & (x <= high + slack))
        return outside

    def own_ageing(self, name: str) -> float:
        """What the zero of a channel moves by in a day, with those of the cells it depends on [its units per √day]."""
        weights = self.solution[self.names.index(name)]
        moves = [w * curve.ageing for w, curve in zip(weights, self.curves.values(), strict=True)]
        return float(np.sqrt(np.sum(np.square(moves))))

    def budget(self, name: str, terms: Mapping[str, Floats], *, age_days: float) -> Budget:
        """What remains uncertain of a channel in these conditions, `age_days` away from the calibration.

        An unchecked zero is taken as a random walk, conditions that are not measured as anywhere in their range.
        """
        row = self.names.index(name)
        used = {term: terms[term] for curve in self.curves.values() for term in curve.environment}
        middle = {term: float(np.nanmedian(x)) if np.isfinite(x).any() else np.nan for term, x in used.items()}
        zero, drift = 0.0, 0.0
        for weight, curve in zip(self.solution[row], self.curves.values(), strict=True):
            here = {t: middle[t] if np.isfinite(middle[t]) else curve.centre[t] for t in curve.environment}
            slow = curve.slow**2 + curve.ageing**2 * age_days
            unknown = [k * curve.centre[f"{CROSS}{n}"] for n, k in curve.cross.items() if n not in self.names]
            unknown += [curve.terms[t] * np.ptp(curve.range[t]) / np.sqrt(12) for t in here if np.isnan(middle[t])]
            zero += weight**2 * (curve.baseline_sigma(here) ** 2 + slow + sum(x**2 for x in unknown))
            drift += (weight * curve.wander) ** 2
        own = self.curves[name]
        gain = np.hypot(own.sigma("gain") / abs(own.terms["gain"]), _GAIN_PER_DAY * age_days)
        cross = {
            other: own.sigma(f"{CROSS}{other}") / abs(own.terms["gain"]) for other in own.cross if other in self.names
        }
        return Budget(float(np.sqrt(zero)), float(np.sqrt(drift)), float(gain), own.centre["air"], cross)


def inverted(matrix: Array) -> Array:
    """The inverse, in which a cell that another does not depend on counts exactly 0, whether it was measured or not."""
    inverse = np.asarray(np.linalg.inv(matrix), np.float64)
    return np.where(np.abs(inverse) > _ROUNDING * np.abs(inverse).max(axis=1, keepdims=True, initial=0.0), inverse, 0.0)


def _elsewhere(curve: Curve, terms: Mapping[str, Floats], known: Sequence[str]) -> Floats:
    """What a reading holds besides gain · air and the interferences of known channels: its value in air without any.

    Beyond the range of the calibration the effect of the environment is held, not extrapolated.
    """
    constant = curve.terms["zero"] - curve.terms["gain"] * curve.centre["air"]
    constant -= sum(value * curve.centre[f"{CROSS}{n}"] for n, value in curve.cross.items() if n in known)
    parts = [
        curve.terms[term] * np.nan_to_num(np.clip(terms[term], *curve.range[term]) - curve.centre[term])
        for term in curve.environment
    ]
    return np.asarray(sum(parts, np.zeros(1)) + constant)
