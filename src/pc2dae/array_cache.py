"""Cache of results for long series, by content: the steps of a command ask for the same ones again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from hashlib import sha1
from typing import Any, TypeVar

import numpy as np

LONG = 1000  # samples: a stream surveys shorter stretches, each of them once
_MOST = 256  # results kept of each function

T = TypeVar("T")


def cached_by_content(function: Callable[..., T]) -> Callable[..., T]:
    """A function of arrays that computes the result for the same long arrays once; it must not be changed.

    >>> calls = []
    >>> mean = cached_by_content(lambda x: calls.append(len(x)) or x.mean())
    >>> float(mean(np.ones(2000))), float(mean(np.ones(2000))), calls
    (1.0, 1.0, [2000])
    """
    results: OrderedDict[bytes, T] = OrderedDict()

    @wraps(function)
    def found(*arrays: Any) -> T:
        if arrays[0].shape[-1] <= LONG:
            return function(*arrays)
        digest = sha1(usedforsecurity=False)
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        key = digest.digest()
        if (result := results.get(key)) is None:
            results[key] = result = function(*arrays)
            if len(results) > _MOST:
                results.popitem(last=False)
        return result

    return found
