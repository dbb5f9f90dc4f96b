"""Sensors of one species beside each other: how far they differ beyond their stated uncertainty.

Two sensors in the same air should agree within their stated uncertainty. What is left over is an error that the
stated uncertainty does not contain, most often a zero or a gain. It is taken as a random effect with one variance per
flight, τ², estimated after DerSimonian and Laird (1986, doi:10.1016/0197-2456(86)90046-2), and added to each sensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Array, Floats
from pc2dae.calibration.budget import budget_of
from pc2dae.plumes.background import running_level, window_of
from pc2dae.plumes.encounters import extents, widened
from pc2dae.plumes.signals import Signal
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

_FACTOR = 2.0  # standard uncertainties of a difference from which it is a disagreement
_WINDOWS = 5  # of the background of one sensor, in that of a group: levels are compared more closely than plumes need
_SLOW = 5.0  # times the fastest sensor's t90: slower sensors are compared in clean air only, and not combined
_LEAST_SNR = 10.0  # of the integrated excess, to compare gains


@dataclass(frozen=True)
class SensorDifference:
    """A difference between sensors, its stated standard uncertainty, and the standard deviation between sensors.

    For two sensors, between² = (difference² − uncertainty²)/2, so that with it their difference is one standard
    uncertainty; 0 if the difference is below two standard uncertainties.
    """

    size: float = 0.0
    uncertainty: float = 0.0
    between: float = 0.0


@dataclass(frozen=True)
class SensorComparison:
    """Sensors of one species, compared."""

    names: tuple[str, ...]
    units: str
    level: SensorDifference  # in clean air [units]
    gain: SensorDifference  # in plumes, relative [1]

    @property
    def disagree(self) -> bool:
        """Whether a difference exceeds the stated uncertainty."""
        return self.level.between > 0 or self.gain.between > 0

    def line(self) -> str:
        """The disagreement in one line."""
        return f"{', '.join(self.names[:-1])} and {self.names[-1]} differ {self.sizes()}"

    def sizes(self) -> str:
        """By how much the sensors differ."""
        said = []
        if self.level.between > 0:
            size, stated = short(self.level.size), short(self.level.uncertainty)
            said.append(f"{size} {self.units} in clean air (stated uncertainty {stated} {self.units})")
        if self.gain.between > 0:
            size, stated = short(100 * np.expm1(self.gain.size)), short(100 * self.gain.uncertainty)
            said.append(f"{size} % in plumes (stated {stated} %)")
        return f"by {' and by '.join(said)}"

    def wider(self) -> str:
        """By how much each sensor's standard uncertainty is widened."""
        parts = [f"{short(self.level.between)} {self.units}"] if self.level.between > 0 else []
        parts += [f"{short(100 * self.gain.between)} % of the excess"] if self.gain.between > 0 else []
        return " and ".join(parts)


def short(value: float) -> str:
    """A number with two significant digits, or whole.

    >>> short(0.1234), short(12.6), short(-1234.5)
    ('0.12', '13', '-1234')
    """
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


def groups(suite: Suite) -> list[tuple[str, ...]]:
    """Channels that measure the same air in the same units, by `duplicate_of`.

    >>> from pc2dae.suite import load_suite
    >>> groups(load_suite("black-kite"))[2:4]
    [('no_a', 'no_b'), ('no2_a', 'no2_b')]
    """
    root = {name: name for name in suite.names}
    for first, second in suite.duplicates():
        old, new = root[second], root[first]
        root = {name: new if r == old and suite[name].units == suite[new].units else r for name, r in root.items()}
    measured = [name for name in suite.names if suite[name].difference_of is None]
    found = [tuple(n for n in measured if root[n] == head) for head in dict.fromkeys(root.values())]
    return [group for group in found if len(group) > 1]


def on_common_background(signals: Mapping[str, Signal], suite: Suite) -> dict[str, Signal]:
    """The signals, those of duplicates over the mean of air that is clean for all of the group.

    The clean air of a noisy sensor alone contains faint smoke that a better one sees, and its background is higher.
    """
    found = dict(signals)
    for group in groups(suite):
        names = [name for name in group if name in signals]
        if len(names) > 1:
            clean = np.all([signals[n].outside for n in names], axis=0)
            for name in names if clean.any() else ():
                signal = signals[name]
                x = signal.excess + signal.level
                level = running_level(x, clean, window=_WINDOWS * window_of(signal.rate_hz))
                found[name] = replace(signal, excess=x - level, level=level)
    return found


def compare(flight: xr.Dataset, suite: Suite, signals: Mapping[str, Signal]) -> list[SensorComparison]:
    """Each group of duplicates with a signal, compared in clean air and in plumes."""
    found = []
    for group in groups(suite):
        names = tuple(name for name in group if name in signals)
        if len(names) > 1:
            level = _levels(flight, {name: signals[name] for name in names})
            alike = {name: signals[name] for name in of_like_speed(flight, suite, names)}
            gain = _gains(flight, alike, suite.rate_hz) if len(alike) > 1 else SensorDifference()
            found.append(SensorComparison(names, suite[names[0]].units, level, gain))
    return found


def between(values: Floats, variances: Floats) -> SensorDifference:
    """SensorDifference of sensors (sensor, …) with stated variances (sensor,); rms over further axes, as levels drift.

    Q = Σ w (x − x̄)², w = 1/variance, x̄ = Σ w x / Σ w; τ² = (Q − (k − 1)) / (Σ w − Σ w²/Σ w) if Q > 4 (k − 1).

    >>> found = between(np.array([40.0, 60.0]), np.array([8.0, 8.0]))
    >>> found.size, found.uncertainty, round(found.between**2)
    (20.0, 4.0, 192)
    """
    x = np.asarray(values, np.float64).reshape(len(values), -1)
    w = 1.0 / np.maximum(np.asarray(variances, np.float64), 1e-30)
    scatter = float(np.mean(w @ (x - w @ x / w.sum()) ** 2))
    order = np.argsort(x.mean(axis=1))
    ends = [order[0], order[-1]]
    size = float(np.sqrt(np.mean((x[ends[1]] - x[ends[0]]) ** 2)))
    spare = len(x) - 1
    tau2 = (scatter - spare) / (w.sum() - (w**2).sum() / w.sum()) if scatter > _FACTOR**2 * spare else 0.0
    return SensorDifference(size, float(np.sqrt((1 / w[ends]).sum())), float(np.sqrt(tau2)))


def _levels(flight: xr.Dataset, signals: Mapping[str, Signal]) -> SensorDifference:
    """SensorDifference of the backgrounds over the time in which all sensors measured."""
    seen = np.all([signal.seen for signal in signals.values()], axis=0)
    if not seen.any():
        return SensorDifference()
    variances = [level_variance(flight, name, signal) for name, signal in signals.items()]
    return between(np.stack([signal.level[seen] for signal in signals.values()]), np.array(variances))


def level_variance(flight: xr.Dataset, name: str, signal: Signal) -> float:
    """Stated variance of a channel's background: systematic parts do not average out over clean air, noise does."""
    clean = signal.outside & signal.seen
    averaged = _WINDOWS * window_of(signal.rate_hz)  # by a median, of which the variance is π/2 times that of a mean
    systematic = flight.variables.get(f"{name}_systematic_uncertainty")
    steady = np.nan_to_num(systematic.values[clean]) if systematic is not None and clean.any() else np.zeros(1)
    return float(np.mean(steady**2)) + signal.sum_variance * np.pi / 2 / min(max(int(clean.sum()), 1), averaged)


def _gains(flight: xr.Dataset, signals: Mapping[str, Signal], rate_hz: float) -> SensorDifference:
    """Relative difference of the excess, integrated over plumes and so independent of each sensor's lag."""
    clearest = max(signals.values(), key=lambda s: float(np.max(np.nan_to_num(s.excess / s.limit))))
    margin = int(np.ceil(max(s.width_s for s in signals.values()) * rate_hz)) + 2
    inside = [part for part in extents(clearest.excess, clearest.limit) if clearest.saw_rise(part[0])]
    parts = widened(inside, margin, len(clearest.excess))
    pieces = [[signal.over(part) for part in parts] for signal in signals.values()]
    sums = np.array([sum(piece.value for piece in row) for row in pieces])
    sigma = np.sqrt([sum(piece.random**2 for piece in row) for row in pieces])
    if not parts or not np.all(sums > _LEAST_SNR * sigma):
        return SensorDifference()
    budgets = [budget_of(flight, name) for name in signals]
    gain = np.array([0.0 if budget is None else budget.gain for budget in budgets])
    return between(np.log(sums), (sigma / sums) ** 2 + gain**2)


def widen(flight: xr.Dataset, comparison: SensorComparison, signals: Mapping[str, Signal]) -> dict[str, Any]:
    """The disagreeing channels with their uncertainty widened by τ, in plumes also by the difference of gain.

    A channel without a stated uncertainty is only labelled.
    """
    new: dict[str, Any] = {}
    for name in comparison.names:
        attrs = dict(flight.variables[name].attrs) | {
            "disagreement": comparison.line(),
            "between_sensor_level": comparison.level.between,
            "between_sensor_gain": comparison.gain.between,
        }
        total = flight.variables.get(f"{name}_uncertainty")
        if total is not None:
            extra = np.hypot(comparison.level.between, comparison.gain.between * signals[name].excess)
            random = flight.variables.get(f"{name}_random_uncertainty", total)
            systematic = np.sqrt(np.maximum(total.values**2 - random.values**2, 0) + extra**2)
            plain = {k: v for k, v in total.attrs.items() if k in ("units", "family", "standard_name")}
            parts = {"random": random.values, "systematic": systematic, "disagreement": extra}
            for part, sigma in parts.items():
                about = plain | {"long_name": f"one-sigma {part} standard uncertainty of {name}"}
                new[f"{name}_{part}_uncertainty"] = ("time", sigma, about)
            if "error_correlation_s" in total.attrs:
                new[f"{name}_random_uncertainty"][2]["error_correlation_s"] = total.attrs["error_correlation_s"]
            covers = {"comment": f"{total.attrs.get('comment', 'noise')}; disagreement with duplicates is"}
            new[f"{name}_uncertainty"] = ("time", np.hypot(random.values, systematic), total.attrs | covers)
            beside = [f"{name}_uncertainty", *(f"{name}_{part}_uncertainty" for part in parts)]
            attrs["ancillary_variables"] = " ".join([f"qc_{name}", *beside])
        new[name] = ("time", flight.variables[name].values, attrs)
    return new


def own_uncertainty(flight: xr.Dataset, name: str) -> Array | None:
    """A channel's stated standard uncertainty without what its disagreement with duplicates has added."""
    total, added = (flight.variables.get(f"{name}_{kind}") for kind in ("uncertainty", "disagreement_uncertainty"))
    if total is None or added is None:
        return None if total is None else np.asarray(total.values, np.float64)
    return np.asarray(np.sqrt(np.maximum(total.values**2 - added.values**2, 0.0)), np.float64)


def of_like_speed(flight: xr.Dataset, suite: Suite, names: Sequence[str]) -> list[str]:
    """The sensors that are not more than five times slower than the fastest one, or than a sample."""
    t90 = {n: float(flight.variables[n].attrs.get("t90_s", suite[n].t90_s or 0.0)) for n in names}
    fastest = max(min(t90.values()), 1 / suite.rate_hz)
    return [n for n in names if t90[n] <= _SLOW * fastest]
