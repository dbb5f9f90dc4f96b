"""Figures of a calibration: estimate beside the reference, residuals, expanded uncertainty, plateaus of known gas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Array
from pc2dae.calibration.calibrate import Colocation, species_name
from pc2dae.calibration.curve import Curve
from pc2dae.calibration.intervals import Plateau
from pc2dae.calibration.scores import TARGETS, expanded_uncertainty
from pc2dae.report.drawing import INK, LOOKS, Drawing, new_figure, styled
from pc2dae.suite import conversion
from pc2dae.view.formatting import units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Z90 = 1.6449
_BLUE, _ORANGE = LOOKS[0][0], LOOKS[1][0]
_DOTS: dict[str, Any] = {"marker": ".", "s": 22, "linewidth": 0, "color": _BLUE, "alpha": 0.35, "rasterized": True}
_BINS = 12
_LEAST_IN_BIN = 5
_HIGHEST_PERCENT = 120.0
_ENVIRONMENT = {"temperature": "temperature [°C]", "humidity": "relative humidity [%]"}


def series(found: Colocation, name: str) -> Drawing:
    """Reference and estimate with its 90 % interval along the scored part."""
    scored, estimate = found.scored, found.estimate[name]
    reach = _Z90 * found.sigma[name]
    figure = _crisp(12.0, 3.4)
    axes = figure.subplots()
    axes.fill_between(scored.time, estimate - reach, estimate + reach, color=_BLUE, alpha=0.3, linewidth=0,
                      label="90 % interval")  # fmt: skip
    axes.plot(scored.time, scored.air[name], color=INK, linewidth=1.1, label="reference")
    axes.plot(scored.time, estimate, color=_BLUE, linewidth=1.0, label="estimate")
    shown = np.concatenate([scored.air[name], estimate])
    low, high = np.nanquantile(shown, [0.001, 0.999])
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=9)
    axes.set_ylim(low - 0.1 * (high - low), high + 0.25 * (high - low))
    axes.margins(x=0.005)
    _dates(styled(axes, ylabel=f"{name} [{units(scored.units[name])}]", xlabel="time, UTC"))
    return Drawing(f"series-{name}", figure)


def scatter(found: Colocation, name: str) -> Drawing:
    """Estimate against reference, with the line of equality and the regression of the estimate."""
    air, estimate = _both(found, name)
    unit = units(found.scored.units[name])
    figure = _crisp(5.6, 5.0)
    axes = figure.subplots()
    axes.scatter(air, estimate, **_DOTS)
    low, high = float(min(air.min(), estimate.min())), float(max(air.max(), estimate.max()))
    room = 0.03 * (high - low)
    ends = np.array([low - room, high + room])
    axes.plot(ends, ends, color=INK, linewidth=1.0, linestyle="--", label="1 : 1")
    if np.ptp(air) > 0:
        slope, intercept = np.polyfit(air, estimate, 1)
        axes.plot(ends, slope * ends + intercept, color=_ORANGE, linewidth=1.6, label="regression")
    axes.legend(loc="upper left", fontsize=9)
    axes.set_aspect("equal")
    styled(axes, xlim=ends, ylim=ends, xlabel=f"reference [{unit}]", ylabel=f"estimate [{unit}]")
    return Drawing(f"scatter-{name}", figure)


def residuals(found: Colocation, name: str) -> Drawing:
    """Estimate minus reference against temperature and humidity, if measured, and time, with medians of bins."""
    scored = found.scored
    error = found.estimate[name] - scored.air[name]
    known = [term for term in _ENVIRONMENT if np.isfinite(scored.terms.get(term, np.nan)).any()]
    figure = _crisp(12.0, 3.2)
    panels = np.atleast_1d(figure.subplots(1, len(known) + 1, sharey=True))
    for axes, term in zip(panels, known, strict=False):
        _against(axes, scored.terms[term], error)
        styled(axes, xlabel=_ENVIRONMENT[term])
    hours = (scored.time - scored.time[0]) / np.timedelta64(3600, "s")
    days = hours[-1] > 72
    _against(panels[-1], hours / 24 if days else hours, error)
    styled(panels[-1], xlabel=f"{'days' if days else 'hours'} since {str(scored.time[0])[:16].replace('T', ' ')} UTC")
    styled(panels[0], ylabel=f"estimate − reference [{units(scored.units[name])}]")
    return Drawing(f"residuals-{name}", figure)


def uncertainty(found: Colocation, name: str) -> Drawing:
    """Expanded relative uncertainty (k = 2) against concentration, with the EU's objective where there is one."""
    air, estimate = _both(found, name)
    unit = found.scored.units[name]
    top = float(air.max())
    at = np.linspace(max(0.02 * top, float(np.quantile(air, 0.02)), 1e-9), top, 200)
    percent = expanded_uncertainty(air, estimate, at)
    figure = _crisp(5.6, 5.0)
    axes = figure.subplots()
    axes.plot(at, percent, color=_BLUE, linewidth=1.8, label="expanded uncertainty (k = 2)")
    target = TARGETS.get(species_name(name))
    factor = None if target is None else conversion(unit, target.units)
    if target is not None and factor is not None:
        limit = target.eu_limit / factor[0]
        axes.axhline(target.eu_percent, color=_ORANGE, linewidth=1.4, linestyle="--",
                     label=f"EU objective, {target.eu_percent:g} % at {limit:.3g} {units(unit)}")  # fmt: skip
    axes.legend(loc="upper right", fontsize=9)
    high = min(_HIGHEST_PERCENT, 1.1 * max(float(percent.max()), 40.0))
    styled(axes, ylim=(0, high), xlabel=f"concentration [{units(unit)}]", ylabel="uncertainty [%]")
    return Drawing(f"uncertainty-{name}", figure)


def plateaus(name: str, curve: Curve, group: Sequence[Plateau]) -> Drawing:
    """Mean readings in known gas with the fitted line, and what the line leaves of each over time."""
    value, doubt = (np.array([getattr(p.interval, key) for p in group]) for key in ("value", "uncertainty"))
    reading, sigma = (np.array([getattr(p, key) for p in group]) for key in ("reading", "sigma"))
    gain, zero, centre = curve.terms["gain"], curve.terms["zero"], curve.centre["air"]
    figure = _crisp(12.0, 4.0)
    left, right = figure.subplots(1, 2)
    room = 0.08 * np.ptp(value) or 0.1 * abs(centre) or 1.0
    at = np.array([value.min() - room, value.max() + room])
    left.plot(at, zero + gain * (at - centre), color=_ORANGE, linewidth=1.6, label="fitted line")
    bars: dict[str, Any] = {"fmt": "o", "markersize": 5, "linewidth": 1.2, "capsize": 3, "color": _BLUE}
    left.errorbar(value, reading, xerr=_Z90 * doubt, yerr=_Z90 * sigma, label="plateau, 90 % interval", **bars)
    left.legend(loc="best", fontsize=9)
    styled(left, xlabel=f"known {name} [{units(curve.units)}]", ylabel=f"reading [{units(curve.reading_units)}]")
    rest = centre + (reading - zero) / gain - value
    right.axhline(0, color=INK, linewidth=0.8)
    right.errorbar([p.middle for p in group], rest, yerr=_Z90 * np.hypot(sigma / gain, doubt), **bars)
    _dates(styled(right, xlabel="time, UTC", ylabel=f"calibrated − known [{units(curve.units)}]"))
    return Drawing(f"plateaus-{name}", figure)


def _both(found: Colocation, name: str) -> tuple[Array, Array]:
    """Reference and estimate where there are both."""
    air, estimate = found.scored.air[name], found.estimate[name]
    some = np.isfinite(air) & np.isfinite(estimate)
    return air[some], estimate[some]


def _against(axes: Axes, x: Array, error: Array) -> None:
    some = np.isfinite(x) & np.isfinite(error)
    x, error = x[some], error[some]
    axes.scatter(x, error, **_DOTS)
    axes.axhline(0, color=INK, linewidth=0.8)
    which = np.searchsorted(np.quantile(x, np.linspace(0, 1, _BINS + 1)[1:-1]), x)
    filled = [which == k for k in range(_BINS) if (which == k).sum() >= _LEAST_IN_BIN]
    middle = [(float(np.median(x[part])), float(np.median(error[part]))) for part in filled]
    if middle:
        axes.plot(*zip(*middle, strict=True), color=_ORANGE, linewidth=1.8, marker="o", markersize=4)
    low, high = np.quantile(error, [0.002, 0.998])
    room = 0.15 * (high - low) or 1.0
    axes.set_ylim(min(low, 0.0) - room, max(high, 0.0) + room)


def _dates(axes: Axes) -> None:
    """Short dates along the x axis."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.xaxis.get_offset_text().set_color(INK)


def _crisp(width: float, height: float) -> Figure:
    """A figure whose dots, which are drawn as an image to keep the page small, are sharp in print."""
    figure = new_figure(width, height)
    figure.set_dpi(200)
    return figure
