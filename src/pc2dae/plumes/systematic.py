"""Systematic errors of a channel that are proportional to gases: its gain and its cross-sensitivities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pc2dae.arrays import Array
from pc2dae.calibration.assumed import ASSUMED_CROSS, assumed_gain
from pc2dae.calibration.budget import Budget, budget_of
from pc2dae.suite import Channel, Suite
from pc2dae.suite.species import species_of

if TYPE_CHECKING:
    import xarray as xr

# name of the source: standard uncertainty, and the series (time,) that it multiplies. A name stands for one unknown
# number: errors of the same name are fully correlated, between samples, encounters and species.
Sources = dict[str, tuple[float, Array]]


def channel_sources(suite: Suite, name: str, budget: Budget | None, excess: Mapping[str, Array]) -> Sources:
    """Gain and cross terms of a channel, with the excess over background [their units] of all channels by name."""
    channel, shared = suite[name], name
    if budget is None:
        gain, gases, shared = assumed_gain(channel), dict[str, float](), "bc" if species_of(channel) == "bc" else name
        for gas, u in ASSUMED_CROSS.get(species_of(channel) or "", {}).items():
            like = (n for n in excess if species_of(suite[n]) == gas and suite[n].units == channel.units)
            gases |= dict.fromkeys(list(like)[:1], u)  # one sensor of the gas
    else:
        gain, gases = budget.gain, {gas: u for gas, u in budget.cross.items() if gas in excess}
    cross = {f"cross {name} {gas}": (u, excess[gas]) for gas, u in gases.items()}
    return {f"gain {shared}": (gain, excess[name])} | cross


def assumed_text(gains: Mapping[str, float]) -> str:
    """One line about channels that are not calibrated; empty without any.

    >>> assumed_text({"co_a": 0.15, "co_b": 0.15, "co2": 0.03})
    'not calibrated, gain uncertainty assumed: 15 % (co_a, co_b), 3 % (co2)'
    """
    by_size: dict[float, list[str]] = {}
    for name, gain in gains.items():
        by_size.setdefault(gain, []).append(name)
    parts = ", ".join(f"{100 * gain:.0f} % ({', '.join(names)})" for gain, names in by_size.items())
    return f"not calibrated, gain uncertainty assumed: {parts}" if parts else ""


def assumed_gains(flight: xr.Dataset, channels: list[Channel]) -> dict[str, float]:
    """Assumed relative uncertainty of the gain of each of `channels` that is not calibrated."""
    return {c.name: assumed_gain(c) for c in channels if budget_of(flight, c.name) is None}
