"""Gases of a flight as mole fractions of one kind, so that their ratios are ratios of molecules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Array
from pc2dae.calibration.ndir import dry_factor
from pc2dae.flight.air import MOLAR_MASS_G
from pc2dae.flight.conditions import air_of, gas_factor, missing_air, scaled_channel, scaled_variables
from pc2dae.flight.schema import environment_array
from pc2dae.suite import Channel, Suite
from pc2dae.suite.species import NG_M3, PPB, species_of

if TYPE_CHECKING:
    import xarray as xr


def gases_in_ppb(flight: xr.Dataset, suite: Suite) -> tuple[xr.Dataset, Suite, tuple[str, ...]]:
    """The flight and its suite with all gases in ppb, dry if one of them is, and a line for each that cannot be.

    A mass is converted at the temperature and pressure it refers to, sample by sample and before any background is
    subtracted, which in mass changes with altitude. A flight that needs no conversion is returned as it is.
    """
    gases = [c for c in suite.channels if species_of(c) in MOLAR_MASS_G and c.units in (*PPB, *NG_M3)]
    dry = {
        c.name for c in gases if str(flight.variables[c.name].attrs.get("standard_name", "")).endswith("_in_dry_air")
    }
    done: dict[str, Channel] = {}
    notes: list[str] = []
    for channel in gases:
        name, factor = channel.name, np.ones(flight.sizes["time"])
        if channel.units in NG_M3:
            air = air_of(flight, channel)
            if missing := missing_air(air):
                notes.append(f"{name} in {channel.units} not converted to ppb, no {missing} of the air:"
                             " no ratio to other gases, no MCE and no emission factors from it")  # fmt: skip
                continue
            factor = gas_factor(channel, channel.units, "ppb", air)  # NaN: treated as not observed
        if dry and name not in dry:
            to_dry = dry_factor(*environment_array(flight))
            if not np.isfinite(to_dry).any():
                notes.append(f"{name} is in moist air, {', '.join(sorted(dry))} in dry air, and the humidity is not"
                             " known: ratios are off by the water vapour, 1 to 3 %")  # fmt: skip
            else:
                factor = factor * interpolated(to_dry)
        if np.any(factor != 1.0):
            flight = flight.assign(scaled_variables(flight, name, factor))
            units = "ppb" if channel.units in NG_M3 else channel.units
            done[name] = scaled_channel(channel, factor).model_copy(update={"units": units})
    families = [f.model_copy(update={"channel": tuple(done.get(c.name, c) for c in f.channel)}) for f in suite.family]
    return flight, suite.model_copy(update={"family": tuple(families)}) if done else suite, tuple(notes)


def interpolated(factor: Array) -> Array:
    """A factor (time,) with its gaps interpolated, so that it can multiply every sample; some of it must be known."""
    known, at = np.isfinite(factor), np.arange(len(factor))
    return np.interp(at, at[known], factor[known])
