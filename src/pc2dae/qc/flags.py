"""Helpers to set and summarise flag bits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from pc2dae.arrays import Bits
from pc2dae.flags import FLAGS, NOT_MEASURED
from pc2dae.flight.schema import observed

_OFFSET_SHARE = 0.2  # share of samples flagged below_bound that indicates a zero offset of the whole flight


def marked(where: ArrayLike, flag: int) -> Bits:
    """Bits of one flag, set where `where` is true."""
    return np.where(np.asarray(where, dtype=bool), flag, 0).astype(np.int32)


def shares(bits: ArrayLike) -> dict[str, float]:
    """Share of samples with each flag, for flags that occur."""
    values = np.asarray(bits, dtype=np.int64)
    found = {name: float(np.mean((values & flag) != 0)) for name, flag in FLAGS.items()} if values.size else {}
    return {name: share for name, share in found.items() if share > 0}


def has_low_zero(bits: ArrayLike) -> bool:
    """Whether a channel's zero lies below its bound: more than 20 % of samples are flagged below_bound."""
    return shares(bits).get("below_bound", 0.0) > _OFFSET_SHARE


def loaded_filters(flight: xr.Dataset) -> str:
    """Channels with a spent filter that were not corrected for it, with the share of samples: "bc 16 %"."""
    names = [str(n)[3:] for n in flight.data_vars if str(n).startswith("qc_") and str(n)[3:] in flight]
    found = {n: shares(flight.variables[f"qc_{n}"].values).get("filter_loaded", 0.0) for n in names}
    loaded = {
        n: share for n, share in found.items() if share > 0 and "loading_correction" not in flight.variables[n].attrs
    }
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in loaded.items())


def without_observation(flight: xr.Dataset, names: Iterable[str]) -> dict[str, str]:
    """Channels without any usable sample, with the reason: {"so2_a": "100 % out_of_range"}."""
    empty = [name for name in names if not observed(flight, name).any()]
    found = {name: shares(flight.variables[f"qc_{name}"].values & NOT_MEASURED) for name in empty}
    ranked = {name: sorted(flags.items(), key=lambda flag: -flag[1]) for name, flags in found.items()}
    return {
        name: ", ".join(f"{100 * share:.0f} % {flag}" for flag, share in flags) or "100 % missing"
        for name, flags in ranked.items()
    }
