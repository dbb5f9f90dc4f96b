"""Wavelet shrinkage: universal threshold, and BayesShrink with cycle spinning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pywt

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import at_native_rate
from pc2dae.noise import noise_level

_MAD = 0.6745  # median absolute value of a standard normal variable
_LEVELS = 6  # details up to 64 samples; longer scales are plumes and drift

Shrink = Callable[[list[Array], Array], list[Array]]


def universal(values: Array, valid: Mask, *, strength: float = 1.0) -> Array:
    """Soft thresholding at σ·√(2 ln n), db4, 4 levels, σ from the finest details.

    Donoho & Johnstone 1994, doi:10.1093/biomet/81.3.425. The paper specifies neither wavelet nor rule: textbook values.
    """

    def smooth(x: Array, _: Mask) -> Array:
        threshold = np.sqrt(2.0 * np.log(max(x.shape[-1], 2)))

        def shrink(details: list[Array], __: Array) -> list[Array]:
            sigma = np.median(np.abs(details[-1]), axis=-1, keepdims=True) / _MAD
            return [_soft(d, strength * threshold * sigma) for d in details]

        return _shrunk(x, shrink, np.zeros((len(x), 0)), wavelet="db4", levels=4, spins=1)

    return at_native_rate(values, valid, smooth)


def bayes_shrink(values: Array, valid: Mask, *, strength: float = 1.0, spins: int = 16) -> Array:
    """Soft thresholding at σⱼ²/σₓ of each level j, sym8, averaged over `spins` shifts of the record.

    σₓ² = max(mean d² − σⱼ², 0) is the signal variance of the level (Chang, Yu & Vetterli 2000,
    doi:10.1109/83.862633); shifting removes the dependence on the position of the dyadic grid (Coifman & Donoho 1995,
    doi:10.1007/978-1-4612-2544-7_9). The noise of each level accounts for the noise autocorrelation: the differenced
    noise of an aethalometer is mostly at high frequencies.
    """

    def smooth(x: Array, ok: Mask) -> Array:
        def shrink(details: list[Array], noise: Array) -> list[Array]:
            shrunk = []
            for detail, variance in zip(details, noise.T[:, :, None], strict=True):
                signal = np.sqrt(np.maximum(np.mean(detail**2, axis=-1, keepdims=True) - variance, 0.0))
                everything = np.abs(detail).max(axis=-1, keepdims=True)
                threshold = np.divide(variance, signal, where=signal > 0, out=everything.copy())
                shrunk.append(_soft(detail, strength * np.minimum(threshold, everything)))
            return shrunk

        return _shrunk(x, shrink, level_noise(x, ok, levels=_LEVELS), wavelet="sym8", levels=_LEVELS, spins=spins)

    return at_native_rate(values, valid, smooth)


def level_noise(values: Array, valid: Mask, *, levels: int) -> Array:
    """Noise variance of each channel's detail coefficients, (channel, level), coarsest level first.

    Noise of level σ and lag-1 correlation ρ has the spectrum σ²(1 + 2ρ cos ω); detail j spans π/2ʲ … π/2ʲ⁻¹:
    σⱼ² = σ²(1 + 2ρ·[sin(π/2ʲ⁻¹) − sin(π/2ʲ)]·2ʲ/π).
    """
    noise = noise_level(values, valid)
    sigma = np.nan_to_num(noise.sigma)[:, None]
    lag1 = np.clip(np.nan_to_num(noise.lag1), -0.5, 0.5)[:, None]  # range of a first-order moving average
    low = np.pi / 2.0 ** np.arange(levels, 0, -1)
    return np.asarray(sigma**2 * np.maximum(1.0 + 2.0 * lag1 * (np.sin(2 * low) - np.sin(low)) / low, 0.0))


def _shrunk(x: Array, shrink: Shrink, noise: Array, *, wavelet: str, levels: int, spins: int) -> Array:
    """Transform, `shrink` details and invert, averaged over shifts; mirrored ends avoid wrap-around."""
    if x.shape[-1] < 8:
        return x
    margin = min(2**levels, x.shape[-1])
    blocks = max(-(-(x.shape[-1] + 2 * margin) // 2**levels), pywt.Wavelet(wavelet).dec_len)
    size = blocks * 2**levels
    padded = np.pad(x, ((0, 0), (margin, size - x.shape[-1] - margin)), mode="symmetric")
    total = np.zeros_like(padded)
    for shift in range(spins):
        first, *details = pywt.wavedec(
            np.roll(padded, -shift, axis=-1), wavelet, mode="periodization", level=levels, axis=-1
        )
        back = pywt.waverec([first, *shrink(details, noise)], wavelet, mode="periodization", axis=-1)
        total += np.roll(back, shift, axis=-1)
    smoothed: Array = total[:, margin : margin + x.shape[-1]] / spins
    return smoothed


def _soft(x: Array, threshold: Array) -> Array:
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)
