"""Two records of one quantity that are shifted against each other until they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pc2dae.align.pressure_lag import lagged
from pc2dae.arrays import Array
from pc2dae.response.kernels import smoothed

STEP_S = 0.25  # grid on which the two records are compared
SMOOTH_S = 1.5  # both are smoothed equally, so that the noise of neither biases the shift
REACH_S = 60.0  # searched around the best guess: no offset, or that of `align.distant_shift`
MIN_S = 120.0  # shortest overlap
MOST_POINTS = 100_000  # compared: three days at 3 s
LEAST_LOG_ODDS = 11.5  # of an agreement against chance: 1e-3 for the 120 shifts that are tried …
FAR_LOG_ODDS = 14.0  # … and for ten times as many, of an offset beyond REACH_S, …
SAME_SIZE = (0.8, 1.25)  # … whose records must also have the same amplitude
LEAST_LEAD = 16.0  # in units of the residual variance (4 sigma): what the best shift explains over any 4 s or more away
LAG_GAIN = 12.0  # … above which a lag explains more than the shift alone
LAGS_S = (2.0, 5.0, 12.0, 30.0, 80.0)
_MARGIN_S = 3 * max(LAGS_S) + REACH_S + 10.0  # of the reference around the points, for every shift that is tried


@dataclass(frozen=True)
class ClockPair:
    """Two records of one quantity, smoothed equally, prepared for shifting against each other."""

    begin_s: float  # time of the first point that is compared
    x: Array  # the reference, every `STEP_S`, sorted by phase: (step within a stride, stride)
    first: int  # where in the unsorted reference the first point is
    stride: int  # … and how far apart the points are
    y: Array  # at these points, without its slow part
    trend: Array  # orthonormal slow functions of these points

    @property
    def span_s(self) -> float:
        """Time between the first and the last point."""
        return (len(self.y) - 1) * self.stride * STEP_S

    def part(self, start: int, stop: int) -> ClockPair:
        """The points from `start` to `stop`, with a slow part of their own."""
        trend = _slow_waves(stop - start, self.stride * STEP_S)
        first, y = self.first + start * self.stride, self.y[start:stop]
        begin_s = self.begin_s + start * self.stride * STEP_S
        return ClockPair(begin_s, self.x, first, self.stride, y - trend @ (trend.T @ y), trend)

    def explained(self, shifts_s: Array) -> Array:
        """Sum of squares of y that the reference explains with a positive factor, at each shift."""
        return np.concatenate([self._explained(some) for some in np.array_split(shifts_s, len(shifts_s) // 16 + 1)])

    def _explained(self, shifts_s: Array) -> Array:
        seen = np.stack([self._shifted(float(s)) for s in shifts_s])
        power = np.einsum("sp,sp->s", seen, seen) - ((seen @ self.trend) ** 2).sum(axis=1)
        product = np.maximum(seen @ self.y, 0.0)  # y has no slow part
        return np.asarray(np.divide(product**2, power, where=power > 0, out=np.zeros(len(power))))

    def _shifted(self, shift_s: float) -> Array:
        """The reference at the points, later by a shift; linear between its steps."""
        whole = int(np.floor(shift_s / STEP_S))
        part, start = shift_s / STEP_S - whole, self.first - whole
        return self._every(start) if part == 0 else (1 - part) * self._every(start) + part * self._every(start - 1)

    def _every(self, start: int) -> Array:
        """The reference at the points, from a step on."""
        stride, step = divmod(start, self.stride)
        return self.x[step, stride : stride + len(self.y)]

    def _fitted(self, shift_s: float) -> tuple[Array, float]:
        """The reference, shifted and without its slow part, and the factor by which it fits y best."""
        seen = self._shifted(shift_s)
        seen = seen - self.trend @ (self.trend.T @ seen)
        power = float(seen @ seen)
        return seen, float(seen @ self.y) / power if power > 0 else 0.0

    def shift(self, *, may_lag: bool, is_far: bool = False) -> tuple[float, float] | str:
        """Best shift and its standard error [s], or the reason of failure; stricter around a guess (`is_far`)."""
        shifts = np.arange(-REACH_S, REACH_S + 0.1, 1.0)
        scores = self.explained(shifts)
        top = int(np.argmax(scores))
        if top in (0, len(shifts) - 1):
            return "no agreement"
        best = _peak(self.explained, float(shifts[top]))
        total = float(self.y @ self.y)
        width = 0.5
        earlier, explained, later = self.explained(best + np.array([-width, 0.0, width])).tolist()
        # Smoothing and slow errors correlate neighbouring points, so there are fewer independent data than points.
        variance = (
            max(total - explained, 1e-12 * total) / max(len(self.y) - self.trend.shape[1] - 2, 1) * self._ties(best)
        )
        away = scores[np.abs(shifts - best) >= 4.0]
        needed = FAR_LOG_ODDS if is_far else LEAST_LOG_ODDS
        if self._log_odds(best) < needed or explained - away.max() < LEAST_LEAD * variance:
            return "no agreement"
        if is_far and not SAME_SIZE[0] < self._fitted(best)[1] < SAME_SIZE[1]:
            return "no agreement"
        if may_lag:
            lag = max(self._lagged_gain(best, tau) for tau in LAGS_S)
            if lag - explained > LAG_GAIN * variance:
                return "the sensors respond at different speeds"
        curvature = (2 * explained - earlier - later) / width**2
        if curvature <= 0:
            return "no agreement"
        return best, float(np.sqrt(2 * variance / curvature))

    def _lagged_gain(self, shift_s: float, tau_s: float) -> float:
        """The largest sum of squares explained near the shift with a first-order lag applied to either record."""
        gains, whole = [], self.x.T.ravel()
        for x, way in ((lagged(whole, tau_s, STEP_S), 1.0), (whole + tau_s * np.gradient(whole, STEP_S), -1.0)):
            other = replace(self, x=_by_phase(np.asarray(x), self.stride))
            best = _peak(other.explained, shift_s - way * tau_s, 2.0 + tau_s)
            gains.append(float(other.explained(np.array([best]))[0]))
        return max(gains)

    def _log_odds(self, shift_s: float) -> float:
        """How unlikely it is that independent records leave so little scatter: -n/2 log(1 - r²), r their correlation.

        n is the number of independent points, count/Σ ρx·ρy with the autocorrelation of either record (Bartlett 1946).
        """
        seen, factor = self._fitted(shift_s)
        left = self.y - factor * seen
        scatter = max(float(left @ left) / float(self.y @ self.y), 1e-12)
        count = len(seen)
        spectra = np.abs(np.fft.rfft(np.stack([seen, self.y]), 2 * count)) ** 2
        ties = np.fft.irfft(spectra)[:, : count // 2]
        return -count / max(2 * float(np.prod(ties / ties[:, :1], axis=0).sum()) - 1, 1.0) / 2 * float(np.log(scatter))

    def _ties(self, shift_s: float) -> float:
        """Number of points per independent one, from the residual's lag-1 correlation: (1 + ρ)/(1 − ρ)."""
        seen, factor = self._fitted(shift_s)
        r = self.y - seen * factor
        rho = float(np.clip(r[1:] @ r[:-1] / max(float(r @ r), 1e-300), 0.0, 0.95))
        return (1 + rho) / (1 - rho)


def clock_pair(tx: Array, x: Array, ty: Array, y: Array) -> ClockPair | None:
    """Two records (seconds, values each), prepared; None if they have too little in common."""
    if min(len(tx), len(ty)) < 2:
        return None
    begin, end = max(tx[0], ty[0]) + 3 * SMOOTH_S, min(tx[-1], ty[-1]) - 3 * SMOOTH_S
    step = max(2 * SMOOTH_S, float(np.median(np.diff(ty))), float(np.median(np.diff(tx))), (end - begin) / MOST_POINTS)
    if end - begin < max(MIN_S, 40 * step) or (end - begin) / STEP_S > 20_000_000:
        return None
    grid = np.arange(begin - _MARGIN_S, end + _MARGIN_S, STEP_S)
    ours, theirs = (smoothed(np.interp(grid, t, v - v.mean()), SMOOTH_S / STEP_S) for t, v in ((tx, x), (ty, y)))
    first, stride = round(_MARGIN_S / STEP_S), int(np.ceil(step / STEP_S))
    pair = ClockPair(
        begin, _by_phase(ours, stride), first, stride, seen := theirs[first:-first:stride], np.empty((len(seen), 0))
    )
    pair = pair.part(0, len(seen))
    return pair if float(pair.y @ pair.y) > 0 else None


def _slow_waves(count: int, step_s: float) -> Array:
    """Orthonormal cosines with periods above 300 s, (point, wave), which are removed from the comparison.

    cos kθ = 2 cos θ · cos (k−1)θ − cos (k−2)θ, several times faster than cosines.
    """
    order = min(max(int(2 * (count - 1) * step_s / 300.0), 1), 60)
    waves = np.ones((order + 1, count))
    waves[1] = np.cos(np.pi / count * (np.arange(count) + 0.5))
    for k in range(2, order + 1):
        waves[k] = 2 * waves[1] * waves[k - 1] - waves[k - 2]
    waves *= np.sqrt(np.where(np.arange(order + 1) == 0, 1, 2) / count)[:, None]
    return waves.T


def _by_phase(x: Array, stride: int) -> Array:
    """A record with all samples that are a stride apart beside each other: (step within a stride, stride)."""
    whole = np.pad(x, (0, -len(x) % stride), mode="edge")
    return np.ascontiguousarray(whole.reshape(-1, stride).T)


def _peak(scores: Callable[[Array], Array], near: float, reach: float = 1.5) -> float:
    """Where the score is highest, on grids that become six times finer."""
    while reach > 5e-4:
        shifts = near + np.linspace(-reach, reach, 13)
        near, reach = float(shifts[np.argmax(scores(shifts))]), reach / 6
    return near
