r"""Classical estimates of the air behind a first-order sensor, as rivals of the network; one channel at a time.

The reading x = r + noise of the air u, with the memory a of the sensor from sample to sample (`response.kernels`):

.. math:: r_t = a\,r_{t-1} + (1 - a)\,u_t \quad\Longleftrightarrow\quad u = B r, \quad u_t = (r_t - a\,r_{t-1})/(1 - a)

All but `with_slope` take the reading (time,) above the channel's bound, the mask of its new samples and its t90 [s],
and work at the sensor's own rate; missing samples have no weight. t90 = 0 makes each a mere denoiser.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.ndimage import uniform_filter1d
from scipy.signal import lfilter
from scipy.sparse import diags_array, eye_array

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import clock, observed
from pc2dae.noise import noise_level
from pc2dae.response.kernels import Kernel, memory, respond

PRICES = tuple(np.logspace(-8.0, 8.0, 33))  # λ, from hardly any smoothing to a straight line
_BANDS = 128  # bands in which the spectrum of a record is averaged
_ROUNDS = 5  # fillings of gaps with the estimate itself
_ITERATIONS = 300

Solve = Callable[[Array, Mask, float], Array]  # values, observed, t90 in samples of the sensor's own rate → air


def with_slope(response: Array, t90_s: float, *, rate_hz: float = 1.0) -> Array:
    """y + τ·dy/dt of a denoised reading y, with central differences and the mean lag τ = a/(1 − a) samples.

    >>> with_slope(np.array([0.0, 1.0, 2.0]), float(np.log(10.0) / np.log(2.0))).round(6).tolist()  # a = 1/2
    [1.0, 2.0, 3.0]
    """
    left = memory(t90_s, rate_hz)
    return np.asarray(response + left / (1.0 - left) * np.gradient(response))


def tikhonov(reading: Array, valid: Mask, t90_s: float, *, price: float | None = None, rate_hz: float = 1.0) -> Array:
    """min Σ w(x − r)² + λΣ(Δ²u)², u = Br, w = 1 where observed, λ = `price` or by generalised cross-validation.

    GCV minimises n·Σ w(x − r)²/(n − trace)²; the trace of the smoother is estimated with one random vector of signs
    (Hutchinson 1990, doi:10.1080/03610919008812866). Tikhonov 1963.

    >>> air = 10.0 * np.exp(-0.5 * ((np.arange(120.0) - 60.0) / 4.0) ** 2)
    >>> reading = respond(air, Kernel(5.0))
    >>> bool(reading.max() < 9.0), bool(abs(tikhonov(reading, np.ones(120, bool), 5.0).max() - 10.0) < 0.2)
    (True, True)
    """

    def solve(x: Array, ok: Mask, t90: float) -> Array:
        if len(x) < 4:
            return x
        model = _Penalised(x, ok, memory(t90), order=2)
        if price is not None:
            return model.air(price)
        signs = ok * np.random.default_rng(0).choice([-1.0, 1.0], len(x))
        scores = []
        for candidate in PRICES:
            response, probe = model.responses(candidate, signs)
            freedom = max(ok.sum() - signs @ probe, 1e-9)
            scores.append(float((ok * (model.x - response) ** 2).sum() / freedom**2))
        return model.air(PRICES[int(np.argmin(scores))])

    return _at_own_rate(reading, valid, t90_s, rate_hz, solve)


def joint_rts(reading: Array, valid: Mask, t90_s: float, *, rate_hz: float = 1.0) -> Array:
    """Smoothed ambient level of the state (u, r): u a random walk of variance q, r its response, x = r + N(0, R).

    The mean of the Rauch–Tung–Striebel smoother (1965, doi:10.2514/3.3166) minimises Σ w(x − r)² + (R/q)Σ(Δu)²: one
    banded system. q and R are those of the largest likelihood; with M = W + λK the matrix of that system for λ = R/q,
    −2 log L = (n − 1) log R + log|M| − (N − 1) log λ, R = Σ w x(x − r)/(n − 1), n of N samples observed.

    >>> air = 10.0 * np.exp(-0.5 * ((np.arange(120.0) - 60.0) / 4.0) ** 2)
    >>> reading = respond(air, Kernel(5.0))
    >>> bool(reading.max() < 9.0), bool(abs(joint_rts(reading, np.ones(120, bool), 5.0).max() - 10.0) < 0.2)
    (True, True)
    """

    def solve(x: Array, ok: Mask, t90: float) -> Array:
        if len(x) < 3:
            return x
        model = _Penalised(x, ok, memory(t90), order=1)
        return model.air(min(PRICES, key=model.unlikelihood))

    return _at_own_rate(reading, valid, t90_s, rate_hz, solve)


def wiener(reading: Array, valid: Mask, t90_s: float, *, rate_hz: float = 1.0) -> Array:
    """U = S/(S + N)·X/H, with S = max(P − N, 0) the response's spectrum: P of the record minus N of the noise.

    H = (1 − a)/(1 − a·e^(−iω)); N = σ²(1 + 2ρ cos ω) from the noise level and its lag-1 correlation; P averaged over
    bands. Gaps are filled with the estimated response, in a few rounds. Wiener 1949.

    >>> air = 10.0 * np.exp(-0.5 * ((np.arange(120.0) - 60.0) / 4.0) ** 2)
    >>> reading = respond(air, Kernel(5.0))
    >>> bool(reading.max() < 9.0), bool(abs(wiener(reading, np.ones(120, bool), 5.0).max() - 10.0) < 0.2)
    (True, True)
    """

    def solve(x: Array, ok: Mask, t90: float) -> Array:
        noise = noise_level(x[None], ok[None])
        sigma, lag1 = np.nan_to_num(noise.sigma[0]), np.clip(np.nan_to_num(noise.lag1[0]), -0.5, 0.5)
        size, left = len(x), memory(t90)
        filled = np.interp(np.arange(size), np.flatnonzero(ok), x[ok])
        turn = np.exp(-2j * np.pi * np.fft.rfftfreq(2 * size))
        expected = 2 * size * sigma**2 * np.maximum(1.0 + 2.0 * lag1 * turn.real, 0.0)
        for _ in range(1 if ok.all() else _ROUNDS):
            spectrum = np.fft.rfft(np.append(filled, np.linspace(filled[-1], filled[0], size)))  # no step at the ends
            power = uniform_filter1d(np.abs(spectrum) ** 2, max(size // _BANDS, 3), mode="mirror")
            spectrum[1:] *= np.maximum(1.0 - expected / np.maximum(power, 1e-300), 0.0)[1:]
            filled = np.where(ok, filled, np.fft.irfft(spectrum, 2 * size)[:size])
        return np.asarray(np.fft.irfft(spectrum * (1.0 - left * turn) / (1.0 - left), 2 * size)[:size])

    return _at_own_rate(reading, valid, t90_s, rate_hz, solve)


def richardson_lucy(reading: Array, valid: Mask, t90_s: float, *, rate_hz: float = 1.0) -> Array:
    """u ← u · Aᵀ(w x₊/Au) / Aᵀw, A the sensor, from a constant until the residual is as small as the noise.

    Air ≥ 0 without any penalty; stopping early is what keeps noise out. Richardson 1972, doi:10.1364/JOSA.62.000055;
    Lucy 1974, doi:10.1086/111605.

    >>> air = 10.0 * np.exp(-0.5 * ((np.arange(120.0) - 60.0) / 4.0) ** 2)
    >>> reading = respond(air, Kernel(5.0))
    >>> found = richardson_lucy(reading, np.ones(120, bool), 5.0)
    >>> bool(reading.max() < 9.0), bool(abs(found.max() - 10.0) < 0.2), bool(found.min() >= 0.0)
    (True, True, True)
    """

    def solve(x: Array, ok: Mask, t90: float) -> Array:
        seen, weight, left = np.maximum(x, 0.0), ok.astype(np.float64), memory(t90)
        least = float(np.nan_to_num(noise_level(x[None], ok[None]).sigma[0])) ** 2 * ok.sum()
        air = np.full(len(x), seen.sum() / ok.sum())
        reach = np.maximum(_transposed(weight, left), 1e-12)
        for _ in range(_ITERATIONS):
            response = respond(air, Kernel(t90))
            if (weight * (x - response) ** 2).sum() <= least:
                break
            air = air * _transposed(weight * seen / np.maximum(response, 1e-300), left) / reach
        return air

    return _at_own_rate(reading, valid, t90_s, rate_hz, solve)


def _at_own_rate(reading: Array, valid: Mask, t90_s: float, rate_hz: float, solve: Solve) -> Array:
    """`solve` on a sensor's own samples; each is the mean of the air since the one before. NaN without any sample."""
    x, ok = observed(reading, valid)
    if not ok.any():
        return np.full(x.shape, np.nan)
    stride, phase = clock(ok)
    own = slice(phase, None, stride)
    steps = np.arange(len(x))
    air = solve(x[own], ok[own], t90_s * rate_hz / stride)
    return np.interp(steps, steps[own] - (stride - 1) / 2, air)


class _Penalised:
    """min Σ w(x − r)² + λ|D B r|², D differences of some order: (W + λK) r = W x with a banded K."""

    def __init__(self, x: Array, ok: Mask, left: float, *, order: int) -> None:
        self.weight = ok.astype(np.float64)
        self.level = float(x[ok].mean())
        self.x = np.where(ok, x - self.level, 0.0)
        size = len(x)
        gain = np.append(1.0, np.full(size - 1, 1.0 / (1.0 - left)))  # in steady state at the first sample
        self.inverse = diags_array([gain, -left * gain[1:]], offsets=[0, -1], format="csr")
        rough = eye_array(size, format="csr")
        for _ in range(order):
            rough = rough[1:] - rough[:-1]
        rough = rough @ self.inverse
        penalty = (rough.T @ rough).tocsr()
        self.bands = np.zeros((order + 2, size))
        for k in range(order + 2):
            self.bands[order + 1 - k, k:] = penalty.diagonal(k)

    def air(self, price: float) -> Array:
        """u = B r for λ = `price`."""
        return np.asarray(self.inverse @ self.responses(price, self.weight)[0] + self.level)

    def responses(self, price: float, other: Array) -> tuple[Array, Array]:
        """Smoothed x, and `other` (weighted already) smoothed in the same way."""
        both = cho_solve_banded((self._factor(price), False), np.stack([self.x, other], axis=1))
        return both[:, 0], both[:, 1]

    def unlikelihood(self, price: float) -> float:
        """−2 log L of the order-1 model with λ = R/q, R at its most likely value."""
        factor = self._factor(price)
        response = cho_solve_banded((factor, False), self.x)
        count, size = int(self.weight.sum()), len(self.x)
        variance = max(float(self.x @ (self.x - response)) / max(count - 1, 1), 1e-300)
        return float((count - 1) * np.log(variance) + 2 * np.log(factor[-1]).sum() - (size - 1) * np.log(price))

    def _factor(self, price: float) -> Array:
        matrix = price * self.bands
        matrix[-1] += self.weight + 1e-13 * matrix[-1].max()  # solvable with one or two observations
        return np.asarray(cholesky_banded(matrix, check_finite=False))


def _transposed(values: Array, left: float) -> Array:
    """Aᵀ v."""
    back = lfilter([1.0], [1.0, -left], values[::-1])[::-1] * (1.0 - left)
    back[0] /= 1.0 - left  # the first sample stands for all before it
    return np.asarray(back)
