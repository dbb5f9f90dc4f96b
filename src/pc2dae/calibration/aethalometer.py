"""Filter photometers: black carbon from attenuation, and dual-spot loading compensation.

Attenuation increases as particles accumulate on the filter: ATN = −100·ln(I/I0). The sensitivity decreases with filter
loading, which is quantified with two spots at different flow rates (Drinovec et al. 2015,
doi:10.5194/amt-8-1965-2015). Averaging over attenuation increments (ONA) is a denoiser: see `filters.ona`.
"""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from pc2dae.arrays import Array
from pc2dae.flight.schema import add_history, check_flight

# AethLabs MA series: mass attenuation cross-section [m2 g-1] by wavelength [nm]; 3-mm spots, scattering factor 1.3.
MASS_ATTENUATION = {375.0: 24.069, 470.0: 19.070, 528.0: 17.028, 625.0: 14.091, 880.0: 10.120}
_SPOT_M2 = np.pi * 0.0015**2
_C_REF = 1.3
_LOADED = 3.0  # minimum attenuation for a measurable difference between spots
_NEW_SPOT = 1.0  # drop in attenuation that indicates a tape advance


def black_carbon(attenuation: ArrayLike, flow_ml_min: ArrayLike, *, wavelength_nm: float, step_s: float = 1.0) -> Array:
    """BC [ng m-3] from attenuation: BC = A·ΔATN / (100·σ·C·F·Δt); NaN for the first sample of a spot.

    Args:
        attenuation: Attenuation of one spot [1].
        flow_ml_min: Flow through the spot [mL min-1].
        wavelength_nm: One of the five wavelengths of the MA series [nm].
        step_s: Sample interval [s].
    """
    atn = np.asarray(attenuation, dtype=np.float64)
    rise = np.diff(atn, prepend=np.nan)
    rise[rise < -_NEW_SPOT] = np.nan
    flow = np.asarray(flow_ml_min, dtype=np.float64) * 1e-6 / 60.0  # m3 s-1
    carbon: Array = _SPOT_M2 * rise / (100.0 * MASS_ATTENUATION[wavelength_nm] * _C_REF * flow * step_s) * 1e9
    return carbon


def loading_factor(attenuation_1: ArrayLike, attenuation_2: ArrayLike, flow_1: ArrayLike, flow_2: ArrayLike) -> float:
    """Loading factor k [1] of a filter from its two spots: ln(1 − k·ATN1) / ln(1 − k·ATN2) = F1 / F2.

    NaN with fewer than 10 samples above ATN1 = 3. Both flows must have the same unit.
    """
    atn = np.array([attenuation_1, attenuation_2], dtype=np.float64)
    flow = np.array([flow_1, flow_2], dtype=np.float64)
    use = np.isfinite(atn).all(axis=0) & np.isfinite(flow).all(axis=0) & (atn[0] > _LOADED) & (atn[1] > 0)
    if use.sum() < 10:
        return np.nan
    a1, a2 = atn[:, use]
    ratio = float(np.median(flow[0, use] / flow[1, use]))
    limit = 0.9 / float(max(a1.max(), a2.max()))

    def misfit(k: float) -> float:
        if abs(k) < 1e-9:
            return float(np.sum((a1 - ratio * a2) ** 2))
        return float(np.sum(((np.log1p(-k * a1) - ratio * np.log1p(-k * a2)) / k) ** 2))

    return float(minimize_scalar(misfit, bounds=(-0.01, min(0.05, limit)), method="bounded").x)


def unloaded(carbon: ArrayLike, attenuation: ArrayLike, k: float) -> Array:
    """Loading-corrected BC: BC / (1 − k·ATN); valid for k·ATN < 0.9, NaN otherwise.

    >>> unloaded([1000.0], [50.0], 0.005)
    array([1333.33333333])
    """
    share = k * np.asarray(attenuation, dtype=np.float64)
    return np.asarray(carbon, dtype=np.float64) / np.where(share < 0.9, 1.0 - share, np.nan)


def correct_loading(flight: xr.Dataset) -> xr.Dataset:
    """Correct the dual-spot channels of a flight for filter loading; k is stored in the channel attributes.

    Not part of `compensate`: the paper uses the two spots as reported by the instrument.
    """
    suite = check_flight(flight)
    done = flight.copy()
    found: dict[str, float] = {}
    for name in suite.names:
        source = suite.sources.get(name)
        if source is None:
            continue
        lamp, _, spot = source.column.partition("_bc")
        needed = [source.variable(column) for column in (f"{lamp}_atn1", f"{lamp}_atn2", "flow1", "flow2")]
        if spot not in ("1", "2") or not set(needed) <= set(map(str, flight.variables)):
            continue
        k = loading_factor(*(flight[variable].values for variable in needed))
        if np.isfinite(k):
            values = unloaded(flight[name].values, flight[source.variable(f"{lamp}_atn{spot}")].values, k)
            done[name] = ("time", values, dict(flight[name].attrs) | {"loading_k": k})
            found[lamp] = round(k, 5)
    return add_history(done, f"filter loading corrected, k = {json.dumps(found)}")
