"""The calibrations of one payload in the order of their times, for the channels of a suite (numpy only)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.calibration.budget import Budget
from pc2dae.calibration.curve import Calibration
from pc2dae.calibration.inverse import Inverse
from pc2dae.errors import CalibrationError
from pc2dae.response.payload import with_response
from pc2dae.suite import Suite, conversion

_DAY = np.timedelta64(86_400, "s")
Times = NDArray[np.datetime64]


class CalibrationSeries:
    """Calibrations of a payload: between two, concentrations are interpolated in time, beyond them they are held."""

    def __init__(
        self, calibrations: Sequence[Calibration], suite: Suite, *, measured: Sequence[str] | None = None
    ) -> None:
        """Calibrations for the channels of `suite`, of which only those `measured` are known; default: all."""
        self.calibrations = sorted(calibrations, key=lambda c: c.middle)
        for calibration in self.calibrations:
            _check(calibration, suite)
        self.inverses = [Inverse(c, suite.names if measured is None else measured) for c in self.calibrations]
        self.own = {
            name: [k for k, inverse in enumerate(self.inverses) if name in inverse.names]
            for name in suite.names
            if any(name in inverse.names for inverse in self.inverses)
        }  # channel: its calibrations
        self.units = {name: self._units(name) for name in self.own}
        self.readings, self.suite = suite, self._calibrated(suite)  # the payload before and after

    def _units(self, name: str) -> str:
        found = sorted({self.calibrations[k].channels[name].units for k in self.own[name]})
        if len(found) > 1:
            raise CalibrationError(f"{name}: the calibrations are in different units, {' and '.join(found)}")
        return found[0]

    def _calibrated(self, suite: Suite) -> Suite:
        """The suite with units of the air, and the responses of co-locations where it does not know them better."""
        latest = {n: self.calibrations[own[-1]].channels[n].response for n, own in self.own.items()}
        known = {
            name: response.model_copy(update={"limit_s": suite[name].t90_limit_s})
            for name, response in latest.items()
            if response is not None and response.improves(suite[name])
        }
        done = _with_units(suite, self.units)
        return with_response(done, known) if known else done

    @property
    def key(self) -> str:
        """Hashes of all files, to match what was made with them."""
        return ",".join(c.digest[:16] for c in self.calibrations)

    @property
    def label(self) -> str:
        """Method, period and hash of each."""
        return "; ".join(c.label for c in self.calibrations)

    def air(
        self, readings: Mapping[str, Floats], held: Mapping[str, Floats], terms: Mapping[str, Floats], times: Times
    ) -> dict[str, tuple[Array, Mask]]:
        """Concentrations of each calibrated channel, and where they lie outside all its calibrations.

        In the equations of other channels a channel counts with `held`: its last observation.
        """
        solved = [inverse.air(held, terms) for inverse in self.inverses]
        found = {}
        for name, own in self.own.items():
            apart = np.asarray(readings[name]) - np.asarray(held[name])  # of a reading that is no observation
            parts = [solved[k][name] + self.inverses[k].slope(name) * apart for k in own]
            air = np.sum([w * x for w, x in zip(self.weights(name, times), parts, strict=True)], axis=0)
            outside = np.all([self.inverses[k].outside(name, air, terms) for k in own], axis=0)
            found[name] = np.asarray(air, np.float64), np.asarray(outside)
        return found

    def weights(self, name: str, times: Times) -> Array:
        """Weight of each calibration of a channel at each time."""
        knots = self._days(name, np.array([self.calibrations[k].middle for k in self.own[name]]))
        at = self._days(name, times)
        return np.stack([np.interp(at, knots, row) for row in np.eye(len(knots))])

    def nearest(self, name: str, times: Times) -> Inverse:
        """The calibration of a channel that counts most in a record."""
        return self.inverses[self.own[name][int(np.argmax(self.weights(name, times).mean(axis=1)))]]

    def budget(self, name: str, terms: Mapping[str, Floats], times: Times) -> Budget:
        """What remains uncertain of a channel in a record's median conditions."""
        return self.nearest(name, times).budget(name, terms, age_days=self._age_days(name, times))

    def latest_cross(self, name: str) -> dict[str, float]:
        """Interferences relative to the own gain in the latest calibration of a channel: all that a stream can use."""
        inverse = self.inverses[self.own[name][-1]]
        row = inverse.matrix[inverse.names.index(name)]
        own = row[inverse.names.index(name)]
        return {n: float(k / own) for n, k in zip(inverse.names, row, strict=True) if n != name and k != 0}

    def _days(self, name: str, times: Times) -> Array:
        return np.asarray((times - self.calibrations[self.own[name][0]].middle) / _DAY)

    def _age_days(self, name: str, times: Times) -> float:
        """Distance of a record from the calibrations of a channel [days].

        Between two it is that of a random walk fixed at both, a·b/(a + b).
        """
        own = [self.calibrations[k] for k in self.own[name]]
        knots = self._days(name, np.array([c.middle for c in own]))
        middle = float(np.median(self._days(name, times)))
        before, after = (middle - knots[knots <= middle]), (knots[knots > middle] - middle)
        if len(before) and len(after):
            a, b = float(before.min()), float(after.min())
            return a * b / (a + b)
        start, end = (np.datetime64(t.replace(tzinfo=None), "ns") for t in own[0 if len(after) else -1].period)
        return max(float((times[0] - end) / _DAY), float((start - times[-1]) / _DAY), 0.0)


def _check(calibration: Calibration, suite: Suite) -> None:
    known = set(calibration.channels) & set(suite.names)
    if not known:
        raise CalibrationError(
            f"the calibration is of {', '.join(calibration.channels)}, of which '{suite.name}' has none",
            hint="it belongs to another payload",
        )
    made, here = (set(re.split(r"[-_ ]", name)) for name in (calibration.suite, suite.name))
    if calibration.suite and not (made <= here or here <= made):  # a folder's suite is named after its instruments
        raise CalibrationError(
            f"the calibration is of payload '{calibration.suite}', not of '{suite.name}'",
            hint="calibrate this payload, or give both suites one name if they describe the same",
        )
    for name in sorted(known):
        expected = calibration.channels[name].reading_units
        if suite[name].units != expected:
            raise CalibrationError(
                f"{name}: the calibration is of readings in {expected}, the flight has {suite[name].units}"
            )


def _with_units(suite: Suite, units: Mapping[str, str]) -> Suite:
    """The suite with calibrated channels: a raw signal becomes a concentration with lower bound 0 and no limits."""
    families = []
    for family in suite.family:
        channels = tuple(
            c if conversion(c.units, units.get(c.name, c.units)) == (1.0, 0.0) else c.model_copy(update={
                "units": units[c.name], "lower_bound": 0.0, "valid_min": None, "valid_max": None,
                "noise_sigma": None, "detection_limit": None,
            }) for c in family.channel
        )  # fmt: skip
        families.append(family.model_copy(update={"channel": channels}))
    return suite.model_copy(update={"family": tuple(families)})
