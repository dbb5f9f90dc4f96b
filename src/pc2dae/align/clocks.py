"""Clock offsets of instruments, from quantities that two of them measure (position, pressure, humidity, temperature).

Plume signals are not used: their delay is the sensor's response. A slow thermometer is delayed too: if a lag explains
the two records better than a shift alone, the delay is attributed to the sensor and no clock offset is reported.
A pressure inside an instrument is delayed by less than a second, which `align.pressure_lag` subtracts.
Offsets of up to a minute are searched first; beyond that, up to ten minutes, only position and pressure count, and the
two records must also agree in size. An offset that the user states is applied as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pc2dae.align.clock_faults import LOGGED_TIME
from pc2dae.align.distant_shift import distant_shift
from pc2dae.align.pressure_lag import FINE_S, INSIDE, clock_part, lagged
from pc2dae.arrays import Array
from pc2dae.errors import LogError, nearest_first
from pc2dae.flight.stream import Stream
from pc2dae.response.kernels import smoothed

STEP_S = 0.25  # grid on which the two records are compared
SMOOTH_S = 1.5  # both are smoothed equally, so that the noise of neither biases the shift
REACH_S = 60.0  # searched around the best guess: no offset, or that of `align.distant_shift`
MIN_S = 120.0  # shortest overlap
MOST_POINTS = 100_000  # compared: three days at 3 s
WORST_SIGMA_S = 0.25  # an offset is known if its standard error is below
LEAST_GAIN = 60.0  # in units of the residual variance: what the best shift must explain over no agreement
LEAST_LEAD = 40.0  # … and over any shift 4 s or more away
STRICTER = 2.0  # times both for an offset beyond REACH_S, since twenty times as many were searched
SAME_SIZE = (0.8, 1.25)  # … whose records must also have the same amplitude
LAG_GAIN = 12.0  # … above which a lag explains more than the shift alone
LONG_RECORD_S = 3 * 3600.0  # drift is estimated for longer records
LAGS_S = (2.0, 5.0, 12.0, 30.0, 80.0)
_MARGIN_S = 3 * max(LAGS_S) + REACH_S + 10.0  # of the reference around the points, for every shift that is tried

STATED = "stated offset"  # `by` of an offset from the user
STATED_HINT = "seconds that the instrument's clock is ahead: 95 if it shows 12:01:35 at 12:00:00, negative if behind"

# In order of preference; True if a sensor may lag by more than a second.
QUANTITIES: dict[str, tuple[tuple[str, ...], bool]] = {
    "latitude": (("latitude",), False),
    "longitude": (("longitude",), False),
    "pressure": (("baro_pressure", "pressure", "internal_pressure", "cell_pressure"), False),
    "humidity": (("humidity", "sample_humidity"), True),
    "temperature": (("temperature", "sample_temperature"), True),
}


@dataclass(frozen=True)
class ClockFit:
    """How far a clock is ahead: stamp = true + offset_s + drift_ppm·1e-6·(time since its first stamp)."""

    key: str
    found: bool
    offset_s: float = 0.0
    sigma_s: float = float("nan")
    drift_ppm: float = 0.0
    by: str = ""  # quantity it was derived from, or the reason of failure

    def corrected(self, stream: Stream) -> Stream:
        """The stream on the reference's clock."""
        if not self.found or (self.offset_s == 0.0 and self.drift_ppm == 0.0):
            return stream
        since = (stream.time - stream.time.min()).astype(np.int64) / 1e9
        late = self.offset_s + 1e-6 * self.drift_ppm * since - (cut_s(stream) if stream.instrument != "csv" else 0.0)
        time = stream.time - np.rint(late * 1e9).astype(np.int64).astype("timedelta64[ns]")
        notes = {key: value for key, value in stream.notes.items() if key not in ("stamp", LOGGED_TIME)}  # wrong now
        return replace(stream, time=time, notes=notes)


def cut_s(stream: Stream) -> float:
    """Mean truncation of stamps: half a second if the logger truncates to whole seconds, else 0."""
    return 0.5 if not np.any(stream.time.astype(np.int64) % 1_000_000_000) else 0.0


def find_clocks(streams: Sequence[Stream], stated: Mapping[str, float] | None = None) -> list[ClockFit]:
    """Each stream's clock, in the order given, relative to GPS time if available, else to the best connected stream.

    `stated` are offsets by instrument: how far its clock is ahead [s]. They are applied, not checked.
    """
    fits = {key: ClockFit(key, True, offset_s, by=STATED) for key, offset_s in _checked(streams, stated or {}).items()}
    if len(streams) == 1 and streams[0].clock != "gps":
        return [fits.get(streams[0].key, ClockFit(streams[0].key, True, 0.0, by="itself"))]
    trusted = [stream for stream in streams if stream.clock == "gps"] or [_best_connected(streams)]
    by = "GPS time" if trusted[0].clock == "gps" else "reference"
    fits = {stream.key: ClockFit(stream.key, True, 0.0, 0.0, by=by) for stream in trusted} | fits
    settled = [fits[stream.key].corrected(stream) for stream in streams if stream.key in fits]
    for quantity in QUANTITIES:
        for stream in streams:
            if stream.key in fits and fits[stream.key].found:
                continue
            fit = _first_fit(settled, stream, quantity)
            if fit is not None and (fit.found or stream.key not in fits):
                fits[stream.key] = fit
            if fit is not None and fit.found:
                settled.append(fit.corrected(stream))
    none = "no quantity in common with another instrument"
    return [fits.get(stream.key, ClockFit(stream.key, False, by=none)) for stream in streams]


def _checked(streams: Sequence[Stream], stated: Mapping[str, float]) -> Mapping[str, float]:
    keys = [stream.key for stream in streams]
    for key, offset_s in stated.items():
        if key not in keys:
            raise LogError(f"clock offset of '{key}': no such instrument", hint=nearest_first(key, keys))
        if not np.isfinite(offset_s):
            raise LogError(f"clock offset of '{key}': {offset_s} is not a number of seconds", hint=STATED_HINT)
    return stated


def _best_connected(streams: Sequence[Stream]) -> Stream:
    return max(streams, key=lambda s: (sum(_column(s, q) is not None for q in QUANTITIES), len(s.time)))


def _first_fit(references: Sequence[Stream], stream: Stream, quantity: str) -> ClockFit | None:
    """The clock from the first successful reference, else the first failure; None if none shares the quantity."""
    failure = None
    for reference in references:
        fit = compare(reference, stream, quantity)
        if fit is not None and fit.found:
            return fit
        failure = failure or fit
    return failure


def compare(reference: Stream, stream: Stream, quantity: str) -> ClockFit | None:
    """The stream's clock relative to the reference's from one quantity; None if they do not share it."""
    ours, theirs = _column(reference, quantity), _column(stream, quantity)
    if ours is None or theirs is None:
        return None
    origin = min(reference.time.min(), stream.time.min())
    x = _fresh(reference, ours, origin)
    y = _fresh(stream, theirs, origin)
    far = 0.0 if QUANTITIES[quantity][1] else distant_shift(*x, *y)
    fit = _compared(reference, stream, quantity, x, y, far) if abs(far) > REACH_S else None
    return fit if fit is not None and fit.found else _compared(reference, stream, quantity, x, y, 0.0)


def _compared(
    reference: Stream,
    stream: Stream,
    quantity: str,
    x: tuple[Array, Array],
    y: tuple[Array, Array],
    guess_s: float,
) -> ClockFit:
    """The stream's clock from two records (seconds, values), searched around a guess."""
    by = f"{quantity} of {reference.key}"
    pair = _pair(*x, y[0] - guess_s, y[1])
    if pair is None:
        return ClockFit(stream.key, False, by=f"too little {quantity} in common with {reference.key}")
    may_lag = QUANTITIES[quantity][1]
    if pair.span_s > LONG_RECORD_S and not may_lag:
        line = _drifting(pair, float(y[0][0]) - guess_s, is_far=guess_s != 0)
        if line is not None:
            return ClockFit(stream.key, True, line[0] + guess_s, *line[1:], by=by)
    found = pair.shift(may_lag=may_lag, is_far=guess_s != 0)
    if isinstance(found, str):
        return ClockFit(stream.key, False, by=f"{by}: {found}")
    offset, sigma = found[0] + guess_s, found[1]
    if sigma > WORST_SIGMA_S:
        return ClockFit(stream.key, False, sigma_s=sigma, by=f"{by}: known only to ±{sigma:.1f} s")
    spread = 0.0
    inside = [_column(one, quantity) in INSIDE for one in (reference, stream)]
    if inside == [False, True] and np.median(np.diff(x[0])) <= FINE_S:
        offset, spread = clock_part(*x, *y, offset)
    claimed = offset if abs(offset) > 3 * sigma else 0.0
    return ClockFit(stream.key, True, claimed, float(np.hypot(sigma, spread)), by=by)


def _column(stream: Stream, quantity: str) -> str | None:
    names = QUANTITIES[quantity][0]
    return next((n for n in names if n in stream.columns and np.isfinite(stream.columns[n]).any()), None)


def _fresh(stream: Stream, name: str, origin: np.datetime64) -> tuple[Array, Array]:
    """Seconds since `origin` and values, sorted by time, without rows that repeat the previous one."""
    repeats = np.ones(len(stream.time), dtype=bool)
    for values in stream.columns.values():
        repeats[1:] &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    repeats[:1] = False
    good = ~repeats & np.isfinite(stream.columns[name])
    seconds = (stream.time[good] - origin).astype(np.int64) / 1e9 + cut_s(stream)
    order = np.argsort(seconds, kind="stable")
    return seconds[order], stream.columns[name][good][order]


@dataclass(frozen=True)
class _ClockPair:
    """Two records of one quantity, smoothed equally, prepared for shifting against each other."""

    begin_s: float  # time of the first point that is compared
    x: Array  # the reference, every `STEP_S`
    first: int  # where in it the first point is
    stride: int  # … and how far apart the points are
    y: Array  # at these points, without its slow part
    trend: Array  # orthonormal slow functions of these points

    @property
    def span_s(self) -> float:
        return (len(self.y) - 1) * self.stride * STEP_S

    def part(self, start: int, stop: int) -> _ClockPair:
        """The points from `start` to `stop`, with a slow part of their own."""
        trend = _slow_waves(stop - start, self.stride * STEP_S)
        first, y = self.first + start * self.stride, self.y[start:stop]
        begin_s = self.begin_s + start * self.stride * STEP_S
        return _ClockPair(begin_s, self.x, first, self.stride, y - trend @ (trend.T @ y), trend)

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
        stop = start + (len(self.y) - 1) * self.stride + 1
        return np.asarray(
            (1 - part) * self.x[start : stop : self.stride] + part * self.x[start - 1 : stop - 1 : self.stride]
        )

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
        far = scores[np.abs(shifts - best) >= 4.0]
        needed = variance * (STRICTER if is_far else 1.0)
        if explained < LEAST_GAIN * needed or explained - far.max() < LEAST_LEAD * needed:
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
        gains = []
        for x, way in ((lagged(self.x, tau_s, STEP_S), 1.0), (self.x + tau_s * np.gradient(self.x, STEP_S), -1.0)):
            other = replace(self, x=np.asarray(x))
            best = _peak(other.explained, shift_s - way * tau_s, 2.0 + tau_s)
            gains.append(float(other.explained(np.array([best]))[0]))
        return max(gains)

    def _ties(self, shift_s: float) -> float:
        """Number of points per independent one, from the residual's lag-1 correlation: (1 + ρ)/(1 − ρ)."""
        seen, factor = self._fitted(shift_s)
        r = self.y - seen * factor
        rho = float(np.clip(r[1:] @ r[:-1] / max(float(r @ r), 1e-300), 0.0, 0.95))
        return (1 + rho) / (1 - rho)


def _pair(tx: Array, x: Array, ty: Array, y: Array) -> _ClockPair | None:
    if min(len(tx), len(ty)) < 2:
        return None
    begin, end = max(tx[0], ty[0]) + 3 * SMOOTH_S, min(tx[-1], ty[-1]) - 3 * SMOOTH_S
    step = max(2 * SMOOTH_S, float(np.median(np.diff(ty))), float(np.median(np.diff(tx))), (end - begin) / MOST_POINTS)
    if end - begin < max(MIN_S, 40 * step) or (end - begin) / STEP_S > 20_000_000:
        return None
    grid = np.arange(begin - _MARGIN_S, end + _MARGIN_S, STEP_S)
    ours, theirs = (smoothed(np.interp(grid, t, v - v.mean()), SMOOTH_S / STEP_S) for t, v in ((tx, x), (ty, y)))
    first, stride = round(_MARGIN_S / STEP_S), int(np.ceil(step / STEP_S))
    pair = _ClockPair(begin, ours, first, stride, seen := theirs[first:-first:stride], np.empty((len(seen), 0)))
    pair = pair.part(0, len(seen))
    return pair if float(pair.y @ pair.y) > 0 else None


def _slow_waves(count: int, step_s: float) -> Array:
    """Orthonormal cosines with periods above 300 s, (point, wave), which are removed from the comparison."""
    order = min(max(int(2 * (count - 1) * step_s / 300.0), 1), 60)
    waves = np.cos(np.pi / count * (np.arange(count) + 0.5)[:, None] * np.arange(order + 1))
    return np.asarray(waves / np.linalg.norm(waves, axis=0))


def _peak(scores: Callable[[Array], Array], near: float, reach: float = 1.5) -> float:
    """Where the score is highest, on grids that become six times finer."""
    while reach > 5e-4:
        shifts = near + np.linspace(-reach, reach, 13)
        near, reach = float(shifts[np.argmax(scores(shifts))]), reach / 6
    return near


def _drifting(pair: _ClockPair, begin_s: float, *, is_far: bool) -> tuple[float, float, float] | None:
    """Offset at `begin_s`, its standard error [s] and drift [ppm] from shifts of segments; None if no clear drift."""
    when, shifts = [], []
    bounds = np.linspace(0, len(pair.y), 13).astype(int)
    for start, stop in pairwise(bounds.tolist()):
        piece = pair.part(start, stop)
        found = piece.shift(may_lag=False, is_far=is_far)
        if not isinstance(found, str) and found[1] < 1.0:
            when.append(piece.begin_s + piece.span_s / 2 - begin_s)
            shifts.append(found[0])
    if len(when) < 6:
        return None
    (slope, start), unscaled = np.polyfit(when, shifts, 1, cov="unscaled")
    residual = np.asarray(shifts) - slope * np.asarray(when) - start
    variance = float(residual @ residual) / (len(when) - 2)
    errors = np.sqrt(np.diag(unscaled) * variance)
    if abs(slope) < 4 * errors[0] or errors[1] > WORST_SIGMA_S * 2 or variance > 1.0:
        return None
    return float(start), float(errors[1]), float(slope) * 1e6
