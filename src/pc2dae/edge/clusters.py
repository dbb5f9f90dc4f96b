"""Which channels a network is given together: all of a small suite, clusters of those that change alike of a large one.

The network relates every channel to every other one, which takes time and memory in proportion to the square of their
number. Above 20 channels it runs on clusters of at most 16, so that time is in proportion to the number of channels.
Two channels are alike if their means of 8 samples rise and fall together; the most alike are joined first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pc2dae.arrays import Array, Floats, Mask

Clusters = tuple[tuple[int, ...], ...]  # rows of channels

ALL = 20  # channels up to which all are given together
LARGEST_CLUSTER = 16
EVERY = 256  # samples of a stream after which its clusters are chosen again, from the …
RECENT = 512  # … last samples
EARLY = 64  # the first choice that is based on samples
_BLOCK = 8  # samples


def clusters_of(values: Floats, new: Mask, group: Floats) -> Clusters:
    """Clusters of the channels of a record (channel, time); `group` (channel,) is equal where noise is shared.

    >>> rng = np.random.default_rng(0)
    >>> smoke, dust = np.repeat(rng.gamma(0.5, 9.0, (2, 1, 50)), 8, axis=2)
    >>> record = np.where(np.arange(24)[:, None] % 2, smoke, dust) + rng.normal(size=(24, 400))
    >>> found = clusters_of(record, np.ones((24, 400), bool), np.arange(24.0))
    >>> [sorted({row % 2 for row in rows}) for rows in found]
    [[0], [1]]
    """
    count, is_measured = len(values), new.any(axis=1)
    if count <= ALL:
        return (tuple(range(count)),)
    measured, silent = (tuple(np.flatnonzero(rows).tolist()) for rows in (is_measured, ~is_measured))
    together = (measured,) if 0 < len(measured) <= ALL else _joined(measured, values, new, group)
    return together + tuple(silent[n : n + LARGEST_CLUSTER] for n in range(0, len(silent), LARGEST_CLUSTER))


def _joined(rows: tuple[int, ...], values: Floats, new: Mask, group: Floats) -> Clusters:
    """Clusters of these rows, the most alike together."""
    alike = _alike(values, new)
    alike[group[:, None] == group] = 0.0  # they have nothing to tell each other
    at = np.array(rows, np.intp)
    first, second = (at[index] for index in np.triu_indices(len(rows), 1))
    cluster = {row: [row] for row in rows}
    for pair in np.argsort(-alike[first, second], kind="stable"):
        one, other = cluster[first[pair]], cluster[second[pair]]
        if one is not other and len(one) + len(other) <= LARGEST_CLUSTER:
            one += other
            cluster |= dict.fromkeys(other, one)
    return tuple(sorted({tuple(sorted(members)) for members in cluster.values()}))


def apart(inputs: Sequence[Floats], rows: tuple[int, ...]) -> list[Floats]:
    """The inputs (batch, channel, time) of one cluster."""
    return list(inputs) if len(rows) == inputs[0].shape[1] else [x[:, rows] for x in inputs]


def rejoined(clusters: Clusters, outputs: Sequence[Sequence[Floats]]) -> list[Floats]:
    """The outputs (batch, channel, time) of all clusters, in the order of the channels."""
    if len(clusters) == 1:
        return list(outputs[0])
    order = np.argsort(np.concatenate(clusters))
    return [np.concatenate(parts, axis=1)[:, order] for parts in zip(*outputs, strict=True)]


def chosen_at(sample: int) -> int:
    """The sample of a stream before which the clusters for this one are chosen."""
    latest = sample // EVERY * EVERY
    return EARLY if latest == 0 and sample >= EARLY else latest


def _alike(values: Floats, new: Mask) -> Array:
    """Correlation (channel, channel) of the changes between means of 8 samples, without its sign."""
    count, blocks = len(values), values.shape[1] // _BLOCK
    shape = (count, blocks, _BLOCK)
    seen = new[:, : blocks * _BLOCK].reshape(shape)
    number = seen.sum(axis=2)
    total = np.where(seen, values[:, : blocks * _BLOCK].reshape(shape), 0.0).sum(axis=2)
    change = np.diff(total / np.maximum(number, 1), axis=1)
    change[(number[:, 1:] == 0) | (number[:, :-1] == 0)] = 0.0
    size = np.median(np.abs(change), axis=1, keepdims=True) if blocks > 1 else np.ones((count, 1))
    change = np.arcsinh(change / np.where(size > 0, size, 1.0))  # one strong plume does not decide
    power = np.sqrt(np.maximum((change**2).sum(axis=1), 1e-30))
    found = np.abs(change @ change.T) / (power[:, None] * power)
    return np.asarray(np.round(found, 6))  # as exact as a stream and a flight agree
