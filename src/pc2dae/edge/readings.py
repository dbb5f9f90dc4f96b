"""The last readings of a calibrated stream, and the concentrations that they stand for."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Bits, Floats
from pc2dae.calibration.series import CalibrationSeries, Times
from pc2dae.calibration.terms import LiveTerms
from pc2dae.edge.engine import Engine
from pc2dae.edge.ring import Ring
from pc2dae.flags import BELOW_BOUND, BELOW_DETECTION, MISSING, OUTSIDE_CALIBRATION


class Readings(Ring):
    """Columns of readings, with what the ones after them depend on: held readings and environment."""

    def __init__(self, engine: Engine, calibration: CalibrationSeries, keep: int) -> None:
        payload = calibration.readings
        super().__init__(len(payload.names), keep)
        self.engine, self.calibration, self.names = engine, calibration, payload.names
        self.rows = [self.names.index(name) for name in calibration.own]
        self.terms = LiveTerms(payload.rate_hz)
        limits = [calibration.suite[name].detection_limit for name in calibration.own]
        self.detection = np.array([-np.inf if limit is None else limit for limit in limits])
        self.series: dict[tuple[str, ...], CalibrationSeries] = {}  # by the channels observed so far
        size = self.values.shape[1]
        self.held: Array = np.full((len(self.names), size), np.nan)  # last observation of each channel
        self.conditions: Array = np.full((len(self.terms.state), size), np.nan)

    @property
    def arrays(self) -> dict[str, Floats]:
        """All arrays, by name."""
        names = ("values", "seen", "bits", "count", "environment", "held", "conditions")
        return {f"reading_{name}": getattr(self, name) for name in names}

    def calibrated(self, at: int, microseconds: int) -> tuple[Floats, Bits]:
        """Concentrations and flags (channel) of the column at index `at`, from itself and the one before."""
        held, conditions = (x[:, at - 1] if at else np.full(len(x), np.nan) for x in (self.held, self.conditions))
        self.held[:, at] = np.where(self.seen[:, at], self.values[:, at], held)
        self.terms.state = conditions
        self.terms(self.environment[:, at])
        self.conditions[:, at] = self.terms.state
        now, last = ({n: x[[row], at] for row, n in enumerate(self.names)} for x in (self.values, self.held))
        values, bits = self.values[:, at].copy(), self.bits[:, at].copy()
        values[self.rows] = np.nan
        for name, (air, outside) in self._known(at).air(now, last, self._terms(), _times(microseconds)).items():
            row = self.names.index(name)
            values[row] = air[0]
            bits[row] &= ~(BELOW_BOUND | BELOW_DETECTION)  # of the reading
            bits[row] |= OUTSIDE_CALIBRATION if outside[0] and np.isfinite(air[0]) else 0
        bits[self.rows] |= np.where(values[self.rows] < self.detection, BELOW_DETECTION, 0).astype(np.int32)
        return values, np.where(np.isfinite(values), bits, bits | MISSING).astype(np.int32)

    def uncertainty(self, at: int, microseconds: int, estimate: Floats) -> Floats:
        """What the calibration leaves uncertain in the estimates of the column at index `at`; 0 without one.

        Conditions and age are those of this second, for a whole flight its medians.
        """
        self.terms.state = self.conditions[:, at]
        terms, times = self._terms(), _times(microseconds)
        found: Array = np.zeros(len(estimate))
        values = {name: np.array(x) for name, x in zip(self.engine.suite.names, estimate, strict=True)}
        for row, name in enumerate(values):
            if name in self.calibration.own:
                series = self._known(at) if name in self._known(at).own else self.calibration
                parts = series.budget(name, terms, times).parts(values[name], values)
                found[row] = np.sqrt(sum(part**2 for part in parts.values()))
        return found

    def _known(self, at: int) -> CalibrationSeries:
        """The calibrations for channels observed up to the column at index `at`; other gases count as in the middle."""
        names = tuple(name for name, x in zip(self.names, self.held[:, at], strict=True) if np.isfinite(x))
        if names not in self.series:
            series = self.calibration
            self.series[names] = CalibrationSeries(series.calibrations, series.readings, measured=names)
        return self.series[names]

    def _terms(self) -> dict[str, Floats]:
        return {term: np.array([x]) for term, x in self.terms.terms.items()}


def _times(microseconds: int) -> Times:
    return np.array([microseconds], "datetime64[us]").astype("datetime64[ns]")
