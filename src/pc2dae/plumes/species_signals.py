"""Species from the channels that measure them: means of sensors, and sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pc2dae.arrays import Array
from pc2dae.plumes.signals import Sensor, Signal, slowed
from pc2dae.plumes.species import sensors
from pc2dae.plumes.systematic import Sources
from pc2dae.suite import Suite
from pc2dae.suite.species import NG_M3, PPB


def species_signals(signals: dict[str, Signal], suite: Suite) -> dict[str, Signal]:
    """One signal per species: mean of its sensors weighted by 1/σ², gases in ppb; NOₓ = NO + NO₂."""
    chosen = {s: [signals[n] for n in names if n in signals] for s, names in chosen_sensors(signals, suite).items()}
    species = {s: _averaged(s, group) for s, group in chosen.items() if group}
    if "nox" not in species and {"no", "no2"} <= species.keys() and species["no"].units == species["no2"].units:
        slower = max(species["no"].t90_s, species["no2"].t90_s)
        species["nox"] = _added(*(slowed(species[s], slower) for s in ("no", "no2")))
    return species


def chosen_sensors(signals: dict[str, Signal], suite: Suite) -> dict[str, tuple[str, ...]]:
    """Channels that represent each species, by the width of their response."""
    return sensors(suite, {name: signal.width_s for name, signal in signals.items()})


def _averaged(name: str, group: list[Signal]) -> Signal:
    """Weighted mean of sensors, gases in ppb; sensors with units not convertible to the first one's are omitted."""
    first = group[0].units
    kind = next((kind for kind in (PPB, NG_M3) if first in kind), {first: 1.0})
    group = [s for s in group if s.units in kind]
    scales = [kind[s.units] / (1.0 if kind is PPB else kind[first]) for s in group]
    weights = np.array([1.0 / max((s.sigma * k) ** 2, 1e-30) for s, k in zip(group, scales, strict=True)])
    weights /= weights.sum()
    averaged = {name: tuple(map(Sensor, weights.tolist(), scales, group))} if len(group) > 1 else {}
    return replace(_combined(group, weights * scales), averaged=averaged)


def _added(first: Signal, second: Signal) -> Signal:
    averaged = first.averaged | second.averaged
    return replace(_combined([first, second], np.ones(2)), averaged=averaged, summands=(first, second))


def _combined(group: list[Signal], weights: Array) -> Signal:
    """Weighted sum Σ wᵢ·signalᵢ, assuming independent sensor errors."""
    weighted = list(zip(weights, group, strict=True))

    def total(key: str) -> Array | None:
        known = [w * getattr(s, key) for w, s in weighted if getattr(s, key) is not None]
        return np.sum(known, axis=0) if known else None

    def quadrature(key: str) -> Array:
        return np.asarray(np.sqrt(sum((w * getattr(s, key)) ** 2 for w, s in weighted)))

    sources: Sources = {}
    for w, s in weighted:
        for name, (u, series) in s.sources.items():
            before = sources.get(name)  # of another sensor: a source they share
            sources[name] = (w * u, series) if before is None else (1.0, before[0] * before[1] + w * u * series)
    first = group[0]
    return replace(
        first,
        excess=np.asarray(total("excess")), level=np.asarray(total("level")), limit=quadrature("limit"),
        sigma=float(quadrature("sigma")), sum_variance=float(sum(w**2 * s.sum_variance for w, s in weighted)),
        seen=np.all([s.seen for s in group], axis=0), unseen_sigma=quadrature("unseen_sigma"),
        error=quadrature("error"), uncertainty=quadrature("uncertainty"),
        t90_s=max(s.t90_s for s in group), width_s=max(s.width_s for s in group),
        units="ppb" if first.units in PPB else first.units, outside=np.all([s.outside for s in group], axis=0),
        drift=float(quadrature("drift")), sources=sources, residual=total("residual"), removed=total("removed"),
        reach_s=max(s.reach_s for s in group), averaged={}, parts=tuple(group), summands=(),
    )  # fmt: skip
