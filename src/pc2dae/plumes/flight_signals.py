"""The signals of a flight above their backgrounds, by channel and by species, and the intervals of its plumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pc2dae.plumes.baselines import Period, parse_period, within_flight
from pc2dae.plumes.channel_signals import channel_signals
from pc2dae.plumes.detection import RUNNING, THRESHOLD
from pc2dae.plumes.emission import EMITTED, particles_per_mole
from pc2dae.plumes.encounters import runs, widened
from pc2dae.plumes.gas_units import gases_in_ppb
from pc2dae.plumes.signals import Signal, margin_of
from pc2dae.plumes.species_signals import chosen_sensors, species_signals
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class FlightSignals:
    """What integrals, ratios and emission factors are computed from."""

    channels: dict[str, Signal]  # of each channel, in its own units
    species: dict[str, Signal]  # of each species, gases in ppb
    particles: dict[str, Signal]  # in ng per mole of air
    sensors: dict[str, tuple[str, ...]]  # channels that represent each species
    intervals: list[tuple[int, int]]  # [start, stop) of each plume
    unconverted: tuple[str, ...]  # gases that cannot be given in ppb, and why

    @property
    def emitted(self) -> dict[str, Signal]:
        """What emission factors are made of: gases in ppb, particles in ng per mole of air."""
        gases = (name for name in EMITTED if name in self.species and self.species[name].units == "ppb")
        return {name: self.species[name] for name in gases} | self.particles


def flight_signals(
    flight: xr.Dataset,
    suite: Suite,
    *,
    background: str = RUNNING,
    threshold: float = THRESHOLD,
    clean_air: Sequence[Period] = (),
) -> FlightSignals:
    """The signals of a flight; `background`, `threshold` and `clean_air` as in `channel_signals`."""
    if not clean_air and background == RUNNING:
        clean_air = within_flight(map(parse_period, suite.plumes.clean_air), flight.variables["time"].values)
    signals_of = partial(channel_signals, background=background, threshold=threshold, clean_air=clean_air)
    channels = signals_of(flight, suite)
    molar, molar_suite, unconverted = gases_in_ppb(flight, suite)
    species = species_signals(channels if molar is flight else signals_of(molar, molar_suite), molar_suite)
    sensors = chosen_sensors(channels, suite)
    particles = particles_per_mole(species, flight, {name: suite[names[0]] for name, names in sensors.items()})
    intervals = encounter_intervals(species, suite.rate_hz)
    return FlightSignals(channels, species, particles, sensors, intervals, unconverted)


def encounter_intervals(species: Mapping[str, Signal], rate_hz: float) -> list[tuple[int, int]]:
    """Plume intervals of the flight from the tracer (CO, else CO₂, else BC), widened by the slowest response."""
    tracer = tracer_of(species)
    if tracer is None:
        return []
    signal = species[tracer]
    inside = [(int(a), int(b)) for a, b in runs(signal.smoke) if signal.saw_rise(a)]
    reaches = [s.reach_s for name, s in species.items() if name != "o3"]  # ozone is not emitted
    return widened(inside, margin_of(reaches, rate_hz), len(signal.excess))


def tracer_of(species: Mapping[str, Signal]) -> str | None:
    """Species used as plume tracer; None if there is none."""
    return next((name for name in ("co", "co2", "bc") if name in species), None)
