"""Classical methods behind the denoiser protocol: plain, clipped, and tuned with the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.denoiser import Denoiser, Estimate, Job
from pc2dae.errors import ModelError, nearest
from pc2dae.filters.kalman import kalman, rts
from pc2dae.filters.matern import matern
from pc2dae.filters.ona import Ona
from pc2dae.filters.penalised import total_variation, whittaker
from pc2dae.filters.plain import constant, moving_average, raw, savitzky_golay
from pc2dae.filters.wavelet import bayes_shrink, universal
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

Smooth = Callable[[Array, Mask], Array | tuple[Array, Array]]


@dataclass(frozen=True)
class Filter:
    """A classical method as a denoiser; its estimate is not restricted to the bound."""

    name: str
    smooth: Smooth
    latency_s: float = np.inf

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Return the filter itself: it needs no preparation."""
        return self._job

    def _job(self, values: Floats, environment: Floats, valid: Mask) -> Estimate:
        estimate = self.smooth(np.asarray(values, np.float64), valid)
        mean, sigma = estimate if isinstance(estimate, tuple) else (estimate, None)
        return Estimate(mean, mean, sigma)


@dataclass(frozen=True)
class Clipped:
    """A denoiser whose value is clipped at the channels' lower bounds."""

    of: Denoiser
    name: str

    @property
    def latency_s(self) -> float:
        """Latency of the wrapped denoiser [s]."""
        return self.of.latency_s

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Prepare the wrapped denoiser and clip its estimate."""
        job = self.of.prepare(flight, suite)
        bound = np.array([[channel.lower_bound] for channel in suite.channels])

        def clipped_job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            estimate = job(values, environment, valid)
            return Estimate(np.maximum(estimate.unbounded, bound), estimate.unbounded, estimate.sigma)

        return clipped_job


@dataclass(frozen=True)
class Oracle:
    """A filter tuned per channel with the truth: the best possible result of its kind."""

    name: str
    candidates: tuple[Denoiser, ...]
    truth: Array
    power: float = 1.0  # of the error that is minimised: 1 for the MAE, 2 for the SNR
    latency_s: float = np.inf

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Prepare all candidate filters."""
        jobs = [candidate.prepare(flight, suite) for candidate in self.candidates]

        def best_job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            estimates = [job(values, environment, valid) for job in jobs]
            scored = valid & np.isfinite(self.truth)
            misses = [np.where(scored, np.abs(estimate.value - self.truth), 0.0) for estimate in estimates]
            errors = [(miss**self.power).sum(axis=-1) for miss in misses]
            choice = np.argmin(np.nan_to_num(np.array(errors), nan=np.inf), axis=0)
            rows = np.arange(len(values))

            def chosen(arrays: Sequence[Floats]) -> Array:
                return np.asarray(np.stack(arrays)[choice, rows], np.float64)

            mean = chosen([estimate.unbounded for estimate in estimates])
            sigmas = [estimate.sigma for estimate in estimates if estimate.sigma is not None]
            return Estimate(mean, mean, chosen(sigmas) if sigmas else None)

        return best_job


def clipped(denoiser: Denoiser) -> Denoiser:
    """`denoiser` with its value clipped at the bound; the unbounded estimate is unchanged."""
    return Clipped(denoiser, f"{denoiser.name}+clip")


FILTERS: dict[str, Denoiser] = {
    "raw": Filter("raw", raw, 0.0),
    "clip": Clipped(Filter("raw", raw, 0.0), "clip"),
    "constant": Filter("constant", constant),
    "ma5": Filter("ma5", partial(moving_average, window=5), 2.0),
    "ma11": Filter("ma11", partial(moving_average, window=11), 5.0),
    "savgol": Filter("savgol", partial(savitzky_golay, window=11), 5.0),
    "wavelet": Filter("wavelet", universal),
    "kalman": Filter("kalman", kalman, 0.0),
    "rts": Filter("rts", rts),
    "whittaker": Filter("whittaker", whittaker),
    "bayesshrink": Filter("bayesshrink", bayes_shrink),
    "matern": Filter("matern", matern),
    "tv": Filter("tv", total_variation),
    "ona": Ona(),
}

_WINDOWS = (1, 3, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129)
_STRENGTHS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0)
_RATIOS = tuple(np.logspace(-5, 2, 8))  # a grid twice as fine changes the error by less than 1 %
_WIDTHS: dict[str, tuple[Denoiser, ...]] = {
    "ma5": tuple(Filter("ma", partial(moving_average, window=w)) for w in _WINDOWS),
    "ma11": tuple(Filter("ma", partial(moving_average, window=w)) for w in _WINDOWS),
    "savgol": tuple(Filter("savgol", partial(savitzky_golay, window=w)) for w in _WINDOWS),
    "wavelet": tuple(Filter("wavelet", partial(universal, strength=s)) for s in _STRENGTHS),
    "kalman": tuple(Filter("kalman", partial(kalman, ratio=q)) for q in _RATIOS),
    "rts": tuple(Filter("rts", partial(rts, ratio=q)) for q in _RATIOS),
    "whittaker": tuple(Filter("whittaker", partial(whittaker, price=p)) for p in np.logspace(-2, 7, 19)),
    "bayesshrink": tuple(Filter("bayesshrink", partial(bayes_shrink, strength=s)) for s in _STRENGTHS),
    "matern": tuple(Filter("matern", partial(matern, length=s)) for s in (1.0, 3.0, 9.0, 27.0, 81.0)),
    "tv": tuple(Filter("tv", partial(total_variation, price=p)) for p in np.logspace(-1, 1.3, 12)),
    "ona": tuple(Ona(rise) for rise in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)),
}


def oracle(name: str, truth: Array) -> Denoiser:
    """Filter `name` with the tuning parameter that minimises each channel's MAE against `truth` (channel, time).

    For benchmarks only: the truth of a real flight is unknown.
    """
    if name not in _WIDTHS:
        raise ModelError(f"filter '{name}' has no tuning parameter", hint=nearest(name, _WIDTHS))
    return Oracle(f"{name}+oracle", _WIDTHS[name], np.asarray(truth, np.float64))
