"""Random synthetic scenes for training channel-agnostic networks.

Scenes are not modelled on a particular payload. A scene has latent smoke series of various types (bumps, steps, puffs,
fractal filaments, single-sample spikes, slow waves). Each channel mixes some of them with its own gain, sign, delay,
response and background, and is measured with its own noise, rate, quantisation, gaps and spikes. The response of half
of the channels is known, with an error of 2 to 20 % in t90 and of 0.2 s in the delay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from pc2dae.arrays import Array, Mask
from pc2dae.response.kernels import LN10, Kernel, respond

LOWEST_SNR, HIGHEST_SNR = 0.2, 120.0  # range of P98 − P2 of a channel's signal in units of its noise
_MEANS = 0.7  # share of channels that report means of a second; others its end
_LATE_S = 0.33  # by which the inverse of a sensor that reports means is late, if not corrected
OVERSAMPLING = 4  # steps per sample, so that narrow plumes and edges are realistically averaged or missed


class SceneRow(NamedTuple):
    """One channel of a scene."""

    air: Array  # reading without noise and, where the response is known, without lag
    clean: Array  # noise-free reading
    noisy: Array
    valid: Mask  # False if missing or a known repeat
    bound: float  # lower bound of true values
    kernel: Kernel | None  # its response as far as it is known
    doubt: float  # relative standard uncertainty of the known t90


@dataclass(frozen=True)
class Scene:
    """A random payload in a random atmosphere; arrays are (channel, time)."""

    air: Array
    clean: Array
    noisy: Array
    valid: Mask
    bound: Array  # (channel,)
    kernels: tuple[Kernel | None, ...]
    doubt: Array  # (channel,)


def random_scene(rng: np.random.Generator, channels: int, length: int, *, highest_snr: float = HIGHEST_SNR) -> Scene:
    """Generate a scene of `channels` channels and `length` samples at 1 Hz."""
    steps = length * OVERSAMPLING
    hidden = np.stack([_smoke(rng, steps) for _ in range(rng.integers(1, 4))])
    rows = [_channel(rng, hidden, length, highest_snr) for _ in range(channels)]
    if channels > 1 and rng.random() < 0.5:
        _duplicate(rng, rows)
    if channels > 1 and rng.random() < 0.1:
        _copy(rng, rows)
    air, clean, noisy, valid, bound, kernels, doubt = zip(*rows, strict=True)
    series = [np.stack(column) for column in (air, clean, noisy, valid)]
    return Scene(series[0], series[1], series[2], series[3], np.array(bound), kernels, np.array(doubt))


# ── smoke ────────────────────────────────────────────────────────────────────


def _smoke(rng: np.random.Generator, steps: int) -> Array:
    """Latent series ≥ 0 with maximum 1: sum of one to three types, or one modulated by another."""
    kinds = rng.choice(len(_KINDS), size=rng.integers(1, 4), p=_SHARES)
    parts = [_KINDS[k](rng, steps) for k in kinds]
    total = sum(_unit(part) * rng.lognormal(0.0, 0.7) for part in parts)
    if len(parts) > 1 and rng.random() < 0.3:
        total = _unit(parts[0]) * (0.2 + _unit(parts[1]))
    return _unit(np.asarray(total))


def _unit(series: Array) -> Array:
    return series / max(float(series.max()), 1e-9)


def _times(rng: np.random.Generator, steps: int, per_minute: float) -> Array:
    count = rng.poisson(per_minute * steps / OVERSAMPLING / 60) + 1
    centres = rng.uniform(0, steps, count)
    if rng.random() < 0.4:  # transects come in groups
        centres = np.sort(centres)[rng.integers(0, count, count)] + rng.normal(
            0, rng.uniform(5, 60) * OVERSAMPLING, count
        )
    return centres


def _add(series: Array, start: int, piece: Array) -> None:
    low, high = max(start, 0), min(start + len(piece), len(series))
    if high > low:
        series[low:high] += piece[low - start : high - start]


def _bumps(rng: np.random.Generator, steps: int) -> Array:
    """Gaussian plumes with widths from a fraction of a second to minutes."""
    series = np.zeros(steps)
    centre_width = rng.uniform(np.log(0.3), np.log(60))
    for centre in _times(rng, steps, rng.uniform(0.1, 3)):
        width = np.exp(centre_width + rng.normal(0, 0.7)) * OVERSAMPLING
        half = int(min(4 * width, steps)) + 1
        offset = np.arange(-half, half + 1)
        _add(series, int(centre) - half, rng.lognormal(0, 0.8) * np.exp(-0.5 * (offset / width) ** 2))
    return series


def _blocks(rng: np.random.Generator, steps: int) -> Array:
    """Plumes with sharp edges and internal turbulence."""
    series = np.zeros(steps)
    edge = rng.uniform(0.1, 4) * OVERSAMPLING
    for centre in _times(rng, steps, rng.uniform(0.1, 2)):
        length = int(rng.uniform(1, 5) * np.exp(rng.uniform(0, np.log(30))) * OVERSAMPLING) + 2
        _add(series, int(centre), np.full(length, rng.lognormal(0, 0.8)))
    series = lfilter([1 - np.exp(-1 / edge)], [1, -np.exp(-1 / edge)], series)
    return np.asarray(series * np.exp(rng.uniform(0, 0.5) * _coloured(rng, steps, rng.uniform(0.5, 2))))


def _puffs(rng: np.random.Generator, steps: int) -> Array:
    """Sharp rise and slow decay, or the reverse."""
    drops = np.zeros(steps)
    where = np.clip(_times(rng, steps, rng.uniform(0.2, 4)).astype(int), 0, steps - 1)
    drops[where] = rng.lognormal(0, 0.8, len(where))
    tau = np.exp(rng.uniform(np.log(0.5), np.log(40))) * OVERSAMPLING
    series = np.asarray(lfilter([1.0], [1, -np.exp(-1 / tau)], drops))
    return series[::-1] if rng.random() < 0.3 else series


def _filaments(rng: np.random.Generator, steps: int) -> Array:
    """Fractal, intermittent filaments: coloured noise above a threshold."""
    field = _coloured(rng, steps, rng.uniform(0.8, 2.4))
    return np.maximum(field - rng.uniform(-0.5, 2.0), 0) ** rng.uniform(0.8, 2.5)


def _wandering(rng: np.random.Generator, steps: int) -> Array:
    """Continuously varying air: coloured noise, sometimes log-normal."""
    field = _coloured(rng, steps, rng.uniform(1.0, 2.8))
    return np.exp(rng.uniform(0.3, 1.2) * field) if rng.random() < 0.6 else field - field.min()


def _steps(rng: np.random.Generator, steps: int) -> Array:
    """Step changes, such as span gas or layers crossed during a climb."""
    where = np.sort(rng.integers(0, steps, rng.integers(1, 12)))
    levels = np.maximum(rng.normal(0, 1, len(where) + 1), 0)
    return np.repeat(levels, np.diff(np.concatenate(([0], where, [steps]))))


def _spikes(rng: np.random.Generator, steps: int) -> Array:
    """Narrow spikes of one or two samples, such as engine exhaust."""
    series = np.zeros(steps)
    where = np.clip(_times(rng, steps, rng.uniform(0.2, 8)).astype(int), 0, steps - 1)
    series[where] = rng.lognormal(0, 1, len(where))
    width = rng.integers(1, 2 * OVERSAMPLING)
    return np.asarray(lfilter(np.ones(width), [1.0], series))


_KINDS = (_bumps, _blocks, _puffs, _filaments, _wandering, _steps, _spikes)
_SHARES = np.array([0.22, 0.18, 0.14, 0.18, 0.14, 0.04, 0.10])


def _coloured(rng: np.random.Generator, steps: int, slope: float) -> Array:
    """Gaussian noise of unit variance with power ∝ f^−slope above one cycle per outer scale."""
    size = 1 << (steps - 1).bit_length()
    frequency = np.fft.rfftfreq(size, 1 / OVERSAMPLING)
    outer = 1 / np.exp(rng.uniform(np.log(20), np.log(600)))
    amplitude = (frequency**2 + outer**2) ** (-slope / 4)
    amplitude[0] = 0
    shape = len(frequency)
    field = np.fft.irfft(amplitude * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)), size)[:steps]
    return np.asarray((field - field.mean()) / (field.std() + 1e-12))


# ── channels ─────────────────────────────────────────────────────────────────


def _channel(rng: np.random.Generator, hidden: Array, length: int, highest_snr: float) -> SceneRow:
    air, signal, kernel, doubt = _response(rng, _mixture(rng, hidden), length)
    span = max(float(np.quantile(signal, 0.98) - np.quantile(signal, 0.02)), 0.03 * float(np.ptp(signal))) or 1.0
    sigma = span / np.exp(rng.uniform(np.log(LOWEST_SNR), np.log(highest_snr)))
    background = _background(rng, length, sigma, span)
    air, clean = air + background, signal + background
    bound = 0.0 if rng.random() < 0.8 else -rng.uniform(5, 300) * sigma
    if clean.min() < bound or air.min() < bound:
        if kernel is None and rng.random() < 0.5:
            air = clean = np.maximum(clean, bound)
        else:
            lift = bound - min(air.min(), clean.min())
            air, clean = air + lift, clean + lift
    noisy = clean + _noise(rng, clean, sigma)
    return _logged(rng, SceneRow(air, clean, noisy, np.ones(length, dtype=bool), bound, kernel, doubt), sigma)


def _mixture(rng: np.random.Generator, hidden: Array) -> Array:
    """Mixture of latent series with drifting gains, occasionally with smoke specific to this channel."""
    steps = hidden.shape[1]
    share = 0.7 if rng.random() < 0.85 else 0.0  # 0: channel shares no signal with the others
    gains = rng.lognormal(0, 1, len(hidden)) * (rng.random(len(hidden)) < share)
    mixed = gains @ hidden
    if rng.random() < 0.4:  # emission ratios vary with combustion phase
        mixed = mixed * np.exp(rng.uniform(0.1, 0.6) * _slow(rng, steps))
    if not gains.any() or rng.random() < 0.15:
        mixed = mixed + rng.lognormal(-0.5, 0.7) * _smoke(rng, steps)
    if rng.random() < 0.1:
        mixed = -mixed  # titration: decreases where other channels increase
    return np.asarray(mixed)


def _slow(rng: np.random.Generator, steps: int) -> Array:
    knots = rng.normal(0, 1, max(steps // (OVERSAMPLING * int(rng.uniform(40, 300))), 1) + 2)
    return np.interp(np.linspace(0, len(knots) - 1, steps), np.arange(len(knots)), knots)


def _response(rng: np.random.Generator, mixed: Array, length: int) -> tuple[Array, Array, Kernel | None, float]:
    """Delay, lag and sampling of one sensor: the series to be estimated, the reading, and what is known of its lag."""
    if rng.random() < 0.5:
        true = _kernel(rng)
        doubt = float(np.exp(rng.uniform(np.log(0.02), np.log(0.2))))
        known = replace(true, t90_s=true.t90_s * rng.lognormal(0, doubt))
        is_mean = rng.random() < _MEANS
        reading = _delayed(respond(mixed, true, OVERSAMPLING), rng.normal(0, 0.2) - (_LATE_S if is_mean else 0.0))
        reading = _sampled(reading, length, is_mean=is_mean)
        return mixed.reshape(length, OVERSAMPLING).mean(axis=1), reading, known, doubt
    if rng.random() < 0.5:
        mixed = _delayed(mixed, rng.exponential(1.5))
    if rng.random() < 0.7:
        mixed = respond(mixed, Kernel(_tau(rng) * LN10), OVERSAMPLING)
    reading = _sampled(mixed, length, is_mean=rng.random() < _MEANS)
    return reading, reading, None, 0.0


def _tau(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(0.4), np.log(25))))


def _kernel(rng: np.random.Generator) -> Kernel:
    t90, kind = _tau(rng) * LN10, rng.random()
    if kind < 0.1:
        return Kernel(min(t90, 25.0), "gaussian")
    if kind < 0.2:
        return Kernel(t90, "two_step", t90 * rng.uniform(5, 50), rng.uniform(0.02, 0.1))
    return Kernel(t90)


def _delayed(series: Array, delay_s: float) -> Array:
    """The series later by `delay_s`, in whole steps; the first or last value continues."""
    at = np.arange(len(series)) - round(delay_s * OVERSAMPLING)
    return np.asarray(series[np.clip(at, 0, len(series) - 1)])


def _sampled(series: Array, length: int, *, is_mean: bool) -> Array:
    cells = series.reshape(length, OVERSAMPLING)
    return np.asarray(cells.mean(axis=1) if is_mean else cells[:, -1]).copy()


def _background(rng: np.random.Generator, length: int, sigma: float, span: float) -> Array:
    level = 0.0 if rng.random() < 0.3 else float(np.exp(rng.uniform(np.log(0.2), np.log(500)))) * sigma
    knots = rng.normal(0, 1, rng.integers(2, 8)).cumsum()
    drift = np.interp(np.linspace(0, len(knots) - 1, length), np.arange(len(knots)), knots)
    size = rng.choice([0.0, 0.3, 2.0]) * sigma * rng.random() + rng.choice([0.0, 0.05]) * span
    return level + size * (drift - drift.min()) if level or rng.random() < 0.5 else np.zeros(length)


def _noise(rng: np.random.Generator, clean: Array, sigma: float) -> Array:
    """Noise of a random type, with a standard deviation of about `sigma` in clean air."""
    length = len(clean)
    shape = rng.random()
    if shape < 0.25:
        degrees = rng.uniform(3, 6)
        noise = rng.standard_t(degrees, length + 1) / np.sqrt(degrees / (degrees - 2))
    elif shape < 0.30:
        noise = rng.laplace(0, np.sqrt(0.5), length + 1)
    else:
        noise = rng.standard_normal(length + 1)
    memory = rng.random()
    if memory < 0.2:  # differenced, as in an aethalometer
        share = rng.uniform(0.3, 1.0) if rng.random() < 0.4 else 1.0
        noise = (noise[1:] - share * noise[:-1]) / np.sqrt(1 + share**2)
    elif memory < 0.3:  # internal averaging of the instrument
        share = rng.uniform(0.1, 0.6)
        noise = (noise[1:] + share * noise[:-1]) / np.sqrt(1 + share**2)
    else:
        noise = noise[1:]
    if rng.random() < 0.15:  # 1/f
        pink = _coloured(rng, length, 1.0)
        noise = noise + rng.uniform(0.1, 0.5) * pink
    if rng.random() < 0.35:  # signal-dependent: counting and gain noise
        excess = np.maximum(clean - np.quantile(clean, 0.1), 0) / sigma
        noise = noise * np.sqrt(1 + rng.uniform(0, 0.5) * excess + (rng.uniform(0, 0.1) * excess) ** 2)
    elif rng.random() < 0.1:  # intermittent vibration
        noise = noise * np.exp(rng.uniform(0.1, 0.5) * _slow(rng, length * OVERSAMPLING)[::OVERSAMPLING])
    noise = noise * sigma
    if rng.random() < 0.1:  # spikes; larger ones are removed by quality control
        hit = rng.random(length) < np.exp(rng.uniform(np.log(0.001), np.log(0.015)))
        sign = rng.choice([-1, 1], length) if rng.random() < 0.7 else 1
        noise = noise + hit * sign * sigma * rng.uniform(3, 20)
    return np.asarray(noise)


def _logged(rng: np.random.Generator, row: SceneRow, sigma: float) -> SceneRow:
    """Effects of the logger: quantisation, repeated values and gaps."""
    noisy, length = row.noisy, len(row.noisy)
    valid = np.ones(length, dtype=bool)
    if rng.random() < 0.25:
        step = sigma * np.exp(rng.uniform(np.log(0.1), np.log(5)))
        noisy = np.round(noisy / step) * step
    if row.kernel is None and rng.random() < 0.08:  # linearly interpolated to a finer grid
        every = int(rng.choice([2, 2, 3]))
        noisy = np.interp(np.arange(length), np.arange(0, length, every), noisy[::every])
    elif rng.random() < 0.15:  # slower than the grid: repeats, flagged or not
        every = int(rng.choice([2, 2, 3, 4, 5]))
        phase = int(rng.integers(every))
        held = np.maximum((np.arange(length) - phase) // every * every + phase, 0)
        noisy = noisy[held]
        if row.kernel is not None or rng.random() < 0.7:
            valid &= held == np.arange(length)
    if rng.random() < 0.3:
        valid &= rng.random(length) > rng.uniform(0, 0.06)
    for longest in [40] * rng.poisson(0.4) + [250] * rng.poisson(0.05):
        start = rng.integers(length)
        valid[start : start + int(np.exp(rng.uniform(0, np.log(longest))))] = False
    return row._replace(noisy=noisy, valid=valid)


def _duplicate(rng: np.random.Generator, rows: list[SceneRow]) -> None:
    """Make one channel a duplicate of another: same truth, independent noise."""
    first, second = rng.choice(len(rows), 2, replace=False)
    row = rows[first]
    sigma = float(np.std(np.diff(row.noisy - row.clean))) / np.sqrt(2) * rng.uniform(0.5, 2) + 1e-9
    rows[second] = _logged(rng, row._replace(noisy=row.clean + _noise(rng, row.clean, sigma)), sigma)


def _copy(rng: np.random.Generator, rows: list[SceneRow]) -> None:
    """Make one channel a scaled copy of another, including its noise."""
    first, second = rng.choice(len(rows), 2, replace=False)
    row, gain = rows[first], rng.lognormal(0, 1)
    rows[second] = row._replace(air=gain * row.air, clean=gain * row.clean, noisy=gain * row.noisy,
                                bound=gain * row.bound)  # fmt: skip
