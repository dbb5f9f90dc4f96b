"""What else a reading depends on: temperature, humidity, pressure and how fast they change (numpy only).

A change is x − x̄, with x̄ the first-order mean over τ: the lagged rate of change times τ. Electrochemical cells answer
to changes of humidity (Schuldt et al. 2023, doi:10.5194/amt-16-373-2023) and of temperature.
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.response.kernels import LN10, Kernel, memory, respond
from pc2dae.suite import ENVIRONMENT

LEVELS = {"temperature": "air_temperature", "humidity": "relative_humidity", "pressure": "air_pressure"}
CHANGES_S = {"temperature_change": ("temperature", 1800.0), "humidity_change": ("humidity", 60.0)}  # term: (of, τ)
TERMS = (*LEVELS, *CHANGES_S)
CROSS = "cross:"  # prefix of a term that names an interfering channel


def environment_of(term: str) -> str:
    """The environment variable behind a term."""
    return LEVELS[CHANGES_S[term][0] if term in CHANGES_S else term]


def environment_terms(environment: Floats, rate_hz: float) -> dict[str, Array]:
    """Each term along a record (3, time); a gap holds the last value, and a quantity never measured is NaN."""
    kept = [held(row, np.isfinite(row)) for row in np.asarray(environment, np.float64)]
    found = {term: kept[ENVIRONMENT.index(name)] for term, name in LEVELS.items()}
    for term, (of, tau_s) in CHANGES_S.items():
        found[term] = found[of] - respond(found[of], Kernel(tau_s * LN10), rate_hz)
    return found


class LiveTerms:
    """The same terms of a stream, second by second."""

    def __init__(self, rate_hz: float) -> None:
        self.last: Array = np.full(len(ENVIRONMENT), np.nan)
        self.mean: Array = np.full(len(CHANGES_S), np.nan)
        self.memory = [memory(tau_s * LN10, rate_hz) for _, tau_s in CHANGES_S.values()]

    def __call__(self, environment: Floats) -> dict[str, float]:
        """The terms after the next second's environment (3,)."""
        self.last = np.where(np.isfinite(environment), environment, self.last)
        for k, (of, _) in enumerate(CHANGES_S.values()):
            now = self.last[ENVIRONMENT.index(LEVELS[of])]
            before = self.mean[k] if np.isfinite(self.mean[k]) else now
            self.mean[k] = self.memory[k] * before + (1 - self.memory[k]) * now
        return self.terms

    @property
    def terms(self) -> dict[str, float]:
        """The present terms."""
        found = {term: float(self.last[ENVIRONMENT.index(name)]) for term, name in LEVELS.items()}
        means = zip(CHANGES_S.items(), self.mean, strict=True)
        return found | {term: found[of] - float(mean) for (term, (of, _)), mean in means}

    @property
    def state(self) -> Array:
        """What the next terms depend on (5,)."""
        return np.concatenate([self.last, self.mean])

    @state.setter
    def state(self, state: Array) -> None:
        self.last, self.mean = state[: len(ENVIRONMENT)].copy(), state[len(ENVIRONMENT) :].copy()


def held(row: Array, known: Mask) -> Array:
    """A series with values that are not known replaced by the last one that is; before the first, by the first."""
    if not known.any():
        return row
    last = np.maximum.accumulate(np.where(known, np.arange(len(row)), -1))
    return np.asarray(row[np.where(last < 0, np.argmax(known), last)])
