"""Flag bits as people read them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pc2dae.flight.schema import FLAGS

Bits = NDArray[np.int32]


def marked(where: ArrayLike, flag: int) -> Bits:
    """The bits of one flag, set where `where` is true."""
    return np.where(np.asarray(where, dtype=bool), flag, 0).astype(np.int32)


def meanings(bits: int) -> tuple[str, ...]:
    """The names of the flags that are set in one value."""
    return tuple(name for name, flag in FLAGS.items() if bits & flag)


def shares(bits: ArrayLike) -> dict[str, float]:
    """The share of samples that carry each flag, of those flags that occur at all."""
    values = np.asarray(bits, dtype=np.int64)
    found = {name: float(np.mean((values & flag) != 0)) for name, flag in FLAGS.items()} if values.size else {}
    return {name: share for name, share in found.items() if share > 0}
