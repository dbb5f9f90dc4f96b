"""Result of simulating one instrument: its log and the true readings of its channels."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.flight.stream import Stream
from pc2dae.simulate.clocks import Clock


@dataclass(frozen=True)
class InstrumentRecord:
    """Log, clock and truth of one simulated instrument."""

    stream: Stream
    clock: Clock
    response: dict[str, Array] = field(default_factory=dict)  # channel → noise-free reading, per true second
    instant: dict[str, Array] = field(default_factory=dict)  # the same without lag, mean of each true second
    faults: dict[str, NDArray[np.int32]] = field(default_factory=dict)  # channel → flag bits, per true second
    t90_s: dict[str, float] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)  # further attributes of the truth
