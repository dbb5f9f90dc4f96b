"""Clean air that outdoor air cannot be: the sign of a channel that needs calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.plumes.duplicates import level_variance, short
from pc2dae.plumes.signals import Signal
from pc2dae.suite import Channel, Suite
from pc2dae.suite.species import PPB, species_of

if TYPE_CHECKING:
    import xarray as xr

# Range of outdoor air between plumes [ppb], cities included; it is meant to be wide.
_OUTDOOR = {
    # Mean of 2024: 423.9 ppm (WMO Greenhouse Gas Bulletin 21); less over growing crops at noon; up to 619 ppm in a city
    # centre in winter nights (Idso et al. 2002, Atmospheric Environment 36, 1655).
    "co2": (380e3, 600e3),
    # 35–45 ppb in the southern summer to 200–220 ppb in the northern winter (Novelli et al. 1998,
    # doi:10.1029/98JD01366); 600 ppb for weeks beside a street in winter (reference analyser of the JRC, 2020).
    "co": (35.0, 1000.0),
    # The former and present one-hour standards of the US EPA, exceeded on few days a year (40 CFR 50.9, 50.11, 50.17).
    "o3": (0.0, 120.0),
    "no2": (0.0, 100.0),
    "so2": (0.0, 75.0),
    "no": (0.0, 100.0),  # as NO2, of which it is the precursor
}
_FACTOR = 2.0  # standard uncertainties of the level beyond a limit
_ADVICE = "calibrate, or re-zero with --zero"


def implausible(flight: xr.Dataset, suite: Suite, signals: Mapping[str, Signal]) -> list[str]:
    """One line for all channels whose clean air outdoor air cannot be, and one for all that read below zero."""
    strange, negative = [], []
    for name, signal in signals.items():
        channel = suite[name]
        if channel.difference_of is not None:
            continue
        level = float(np.median(signal.level))
        margin = _FACTOR * np.sqrt(level_variance(flight, name, signal))
        low, high = outdoor_range(channel) or (channel.lower_bound, np.inf)
        if level < low - margin and low <= 0:
            negative.append(f"{name} {short(level)} {channel.units}")
        elif level < low - margin or level > high + margin:
            strange.append(f"{name} {short(level)} {channel.units} (outdoor air: {low:g} to {high:g})")
    said = {"implausible": strange, "below zero": negative}
    return [f"clean air reads {what}: {', '.join(names)}: {_ADVICE}" for what, names in said.items() if names]


def outdoor_range(channel: Channel) -> tuple[float, float] | None:
    """Range of outdoor air for a channel, in its units; None if unknown.

    >>> outdoor_range(Channel(name="co2_scd30", units="ppm"))
    (380.0, 600.0)
    """
    limits = _OUTDOOR.get(species_of(channel) or channel.name.lower().split("_")[0])
    if limits is None or channel.units not in PPB:
        return None
    return limits[0] / PPB[channel.units], limits[1] / PPB[channel.units]
