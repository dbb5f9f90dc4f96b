"""Quality flags for people: four kinds of flag, how often each occurs, and where."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pc2dae.flags import BAD, FLAGS, INTERPOLATED, MISSING, STALE, STARTUP, TAPE_ADVANCE

Span = tuple[int, int, int, str, float]  # from [ms], to [ms], kind, names of the flags, share of flagged samples
MOST_SPANS = 300  # per channel
_NOT_MEASURED = MISSING | STARTUP | TAPE_ADVANCE | INTERPOLATED
KINDS = {
    1: "no measurement (missing, start-up, tape advance, filled)",
    2: "rejected (range, spike, flat line)",
    3: "repeat of an older sample",
    4: "use with care (saturated: a lower limit; below detection or bound; thermal transient)",
}
# What each flag means, and what was done with such a sample.
MEANINGS = {
    "missing": "no value was recorded. The estimate there comes from neighbouring samples, if they are near enough.",
    "stale": "the instrument repeated an older value. Not used as a measurement.",
    "out of range": "below what the sensor can report, or too far above to be a reading. Not used as a measurement.",
    "spike": "a jump of single samples that air does not make. Not used as a measurement.",
    "flat line": "the same value for too long. Not used as a measurement.",
    "saturated": "at or beyond the end of the sensor's range. Used, but only a lower limit of what was in the air.",
    "below detection": "below the limit of detection. Used as measured.",
    "thermal transient": "the temperature changed faster than the sensor follows. Used as measured; treat with care.",
    "startup": "the instrument was warming up. Not used as a measurement.",
    "tape advance": "the filter tape was moving. Not used as a measurement.",
    "interpolated": "filled in between neighbouring samples. Not used as a measurement.",
    "below bound": "readings or estimate lie below the physical bound by more than their noise. The estimate is kept "
    "at the bound; integrals and ratios use the unbounded one.",
    "outside calibration": "outside of what the calibration covers. Used, with a larger uncertainty.",
    "filter loaded": "the filter has lost half of its sensitivity, so values read too low. Used as measured unless "
    "the loading was corrected.",
}


def kinds(bits: NDArray[np.int32]) -> NDArray[np.int8]:
    """Which of `KINDS` each sample's flags amount to, the most severe first; 0 = good."""
    chosen = np.select(
        [(bits & _NOT_MEASURED) != 0, (bits & BAD & ~STALE) != 0, (bits & STALE) != 0, bits != 0], [1, 2, 3, 4], 0
    )
    return np.asarray(chosen, dtype=np.int8)


def flag_counts(bits: NDArray[np.int32]) -> dict[str, int]:
    """How many samples carry each flag; unused flags are left out."""
    counts = {name.replace("_", " "): int(np.count_nonzero(bits & bit)) for name, bit in FLAGS.items()}
    return {name: count for name, count in counts.items() if count}


def flag_spans(bits: NDArray[np.int32], time: NDArray[np.int64]) -> list[Span]:
    """Stretches of flags by kind; neighbouring ones are joined until at most `MOST_SPANS` remain."""
    step = int(np.median(np.diff(time))) if len(time) > 1 else 1000
    kind_of = kinds(bits)
    found = runs_of(kind_of)
    near = 0
    while len(joined := _joined(found, near)) > MOST_SPANS:
        near = 2 * near + 1
    return [
        (
            int(time[a]),
            int(time[b - 1]) + step,
            kind,
            _names(bits[a:b], kind),
            round(float(np.mean(kind_of[a:b] == kind)), 3),
        )
        for a, b, kind in joined
    ]


def runs_of(kind: NDArray[np.integer[Any]]) -> list[tuple[int, int, int]]:
    """Stretches of equal numbers other than 0: first sample, one past the last, number."""
    edges = np.flatnonzero(np.diff(kind, prepend=0, append=0))
    return [(int(a), int(b), int(kind[a])) for a, b in pairwise(edges) if kind[a]]


def _joined(found: list[tuple[int, int, int]], near: int) -> list[tuple[int, int, int]]:
    """Stretches of one kind that are at most `near` samples apart, as one."""
    last: dict[int, int] = {}
    out: list[tuple[int, int, int]] = []
    for a, b, kind in found:
        if kind in last and a - out[last[kind]][1] <= near:
            out[last[kind]] = (out[last[kind]][0], b, kind)
        else:
            last[kind] = len(out)
            out.append((a, b, kind))
    return out


def _names(bits: NDArray[np.int32], kind: int) -> str:
    set_here = int(np.bitwise_or.reduce(bits))
    mine = [name for name, bit in FLAGS.items() if set_here & bit and int(kinds(np.array([bit], np.int32))[0]) == kind]
    return ", ".join(name.replace("_", " ") for name in mine) or KINDS[kind]
