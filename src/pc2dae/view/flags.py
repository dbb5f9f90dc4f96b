"""Quality flags for people: four kinds of flag, how often each occurs, and where."""

from __future__ import annotations

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
        for a, b, kind in joined.tolist()
    ]


def runs_of(kind: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Stretches of equal numbers other than 0 (stretch, 3): first sample, one past the last, number."""
    edges = np.flatnonzero(np.diff(kind, prepend=0, append=0))
    starts, stops = edges[:-1], edges[1:]
    return np.asarray(np.stack([starts, stops, kind[starts]], axis=1)[kind[starts] != 0], np.intp)


def _joined(found: NDArray[np.intp], near: int) -> NDArray[np.intp]:
    """Stretches of one kind that are at most `near` samples apart, as one."""
    parts = [found[:0]]
    for kind in np.unique(found[:, 2]):
        own = found[found[:, 2] == kind]
        first = np.flatnonzero(np.concatenate([[True], own[1:, 0] - own[:-1, 1] > near]))
        last = np.concatenate([first[1:], [len(own)]]) - 1
        parts.append(np.stack([own[first, 0], own[last, 1], own[first, 2]], axis=1))
    joined = np.concatenate(parts)
    return joined[np.argsort(joined[:, 0], kind="stable")]


def _names(bits: NDArray[np.int32], kind: int) -> str:
    set_here = int(np.bitwise_or.reduce(bits))
    mine = [name for name, bit in FLAGS.items() if set_here & bit and _KIND_OF[bit] == kind]
    return ", ".join(name.replace("_", " ") for name in mine) or KINDS[kind]


_KIND_OF = {bit: int(kinds(np.array([bit], np.int32))[0]) for bit in FLAGS.values()}
