"""Clock offsets of instruments, from quantities that two of them measure (position, pressure, humidity, temperature).

Plume signals are not used: their delay is the sensor's response. A slow thermometer is delayed too: if a lag explains
the two records better than a shift alone, the delay is attributed to the sensor and no clock offset is reported.
A pressure inside an instrument is delayed by less than a second, which `align.pressure_lag` subtracts.
Offsets of up to a minute are searched first; beyond that, up to ten minutes, only position and pressure count, and the
two records must also agree in size. An offset that the user states is applied as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pc2dae.align.clock_faults import LOGGED_TIME
from pc2dae.align.clock_pair import REACH_S, ClockPair, clock_pair
from pc2dae.align.distant_shift import distant_shift
from pc2dae.align.pressure_lag import FINE_S, INSIDE, clock_part
from pc2dae.arrays import Array
from pc2dae.errors import LogError, nearest_first
from pc2dae.flight.stream import Stream

WORST_SIGMA_S = 0.25  # an offset is known if its standard error is below this or a tenth of the offset
LONG_RECORD_S = 3 * 3600.0  # drift is estimated for longer records

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
    reference: Stream, stream: Stream, quantity: str, x: tuple[Array, Array], y: tuple[Array, Array], guess_s: float
) -> ClockFit:
    """The stream's clock from two records (seconds, values), searched around a guess."""
    by = f"{quantity} of {reference.key}"
    pair = clock_pair(*x, y[0] - guess_s, y[1])
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
    if sigma > max(WORST_SIGMA_S, abs(offset) / 10):
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
    good = ~stream.repeats & np.isfinite(stream.columns[name])
    seconds = (stream.time[good] - origin).astype(np.int64) / 1e9 + cut_s(stream)
    order = np.argsort(seconds, kind="stable")
    return seconds[order], stream.columns[name][good][order]


def _drifting(pair: ClockPair, begin_s: float, *, is_far: bool) -> tuple[float, float, float] | None:
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
