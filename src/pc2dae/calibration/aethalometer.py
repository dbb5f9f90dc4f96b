"""Filter photometers: correction of filter loading.

Attenuation increases as particles accumulate on the filter: ATN = −100·ln(I/I0). The sensitivity decreases with filter
loading, which is measured with two spots at different flow rates (Drinovec et al. 2015,
doi:10.5194/amt-8-1965-2015). Averaging over attenuation increments (ONA) is a denoiser: see `filters.ona`.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from pc2dae.arrays import Array
from pc2dae.errors import FlightError
from pc2dae.flight.schema import add_history, check_flight
from pc2dae.golden_section import least

_LOADED = 3.0  # minimum attenuation for a measurable difference between spots


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

    return least(misfit, -0.01, min(0.05, limit), tolerance=1e-7)


def unloaded(carbon: ArrayLike, attenuation: ArrayLike, k: float) -> Array:
    """Loading-corrected BC: BC / (1 − k·ATN); valid for k·ATN < 0.9, NaN otherwise.

    >>> unloaded([1000.0], [50.0], 0.005)
    array([1333.33333333])
    """
    share = k * np.asarray(attenuation, dtype=np.float64)
    return np.asarray(carbon, dtype=np.float64) / np.where(share < 0.9, 1.0 - share, np.nan)


def unloaded_single_spot(carbon: ArrayLike, attenuation: ArrayLike) -> Array:
    """Loading-corrected BC of an instrument with one spot: BC / (0.88·exp(−ATN/100) + 0.12).

    Kirchstetter and Novakov (2007), Atmos. Environ. 41, 1874, for fresh soot; less is needed in aged or organic smoke.
    The attenuation of a new filter may be slightly negative: it counts as 0.

    >>> unloaded_single_spot([1000.0, 1000.0], [0.0, 143.0]).round()
    array([1000., 3025.])
    """
    atn = np.maximum(np.asarray(attenuation, dtype=np.float64), 0.0)
    return np.asarray(carbon, dtype=np.float64) / (0.88 * np.exp(-atn / 100.0) + 0.12)


def correct_loading(flight: xr.Dataset) -> xr.Dataset:
    """Correct the filter photometer channels of a flight for filter loading; the formula is stored in the attributes.

    Two spots determine k of their filter; a single spot takes `unloaded_single_spot`. The effect depends on the
    aerosol, so that half of the correction is stored as standard uncertainty. Values before are kept as
    `<name>_uncalibrated`. Not part of `compensate`: the paper uses the spots as reported by the instrument.
    """
    suite = check_flight(flight)
    done: dict[str, xr.Variable] = {}
    found: list[str] = []
    left: list[str] = []
    for name in suite.names:
        source = suite.sources.get(name)
        atn = None if source is None else flight.variables.get(source.variable(source.column.replace("bc", "atn")))
        if source is None or atn is None or "bc" not in source.column:
            continue
        if "loading_correction" in flight[name].attrs:
            raise FlightError(f"the filter loading of {name} is corrected already", hint="leave out --correct-loading")
        before = flight[name].values.astype(np.float64)
        lamp, _, spot = source.column.partition("_bc")
        if spot in ("1", "2"):
            needed = [source.variable(column) for column in (f"{lamp}_atn1", f"{lamp}_atn2", "flow1", "flow2")]
            there = set(needed) <= set(map(str, flight.variables))
            k = loading_factor(*(flight[variable].values for variable in needed)) if there else np.nan
            if not np.isfinite(k):
                left.append(name)
                continue
            after, formula = unloaded(before, atn.values, k), f"BC / (1 - {k:.5f} ATN)"
        else:
            after, formula = unloaded_single_spot(before, atn.values), "BC / (0.88 exp(-ATN/100) + 0.12)"
        units = {"units": suite[name].units}
        done[name] = xr.Variable("time", after, dict(flight[name].attrs) | {"loading_correction": formula})
        text = f"standard uncertainty of {name}: half of its correction for filter loading"
        done[f"{name}_calibration_uncertainty"] = xr.Variable(
            "time", np.abs(after - before) / 2, units | {"long_name": text}
        )
        if f"{name}_uncalibrated" not in flight:
            done[f"{name}_uncalibrated"] = xr.Variable(
                "time", before, units | {"long_name": f"{name} before calibration"}
            )
        found.append(f"{name} = {formula}")
    if not found and not left:
        raise FlightError(
            "no filter loading to correct: no black carbon channel with its attenuation",
            hint="leave out --correct-loading",
        )
    for channel in suite.channels:
        if channel.difference_of is not None and done.keys() & set(channel.difference_of):
            first, second = (done.get(name, flight.variables[name]).values for name in channel.difference_of)
            done[channel.name] = xr.Variable("time", first - second, flight[channel.name].attrs)
    unknown = [f"{', '.join(left)} not corrected (too little to determine)"] if left else []
    line = f"filter loading corrected: {'; '.join([*(found or ['none']), *unknown])}"
    return add_history(flight.assign(done), line, kind="change")
