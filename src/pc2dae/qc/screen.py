"""Screening: run all checks on all channels, with thresholds from the suite, and store the flags in the flight.

Values are unchanged except sentinels, which become NaN and are counted in the history. Values flagged as missing or out
of range do not affect the flags of other samples.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Bits, Mask
from pc2dae.flags import (
    BELOW_BOUND,
    BELOW_DETECTION,
    FILTER_LOADED,
    MISSING,
    NOT_MEASURED,
    OUT_OF_RANGE,
    SATURATED,
    SPIKE,
    STALE,
    STARTUP,
)
from pc2dae.flight.schema import LEVELS, add_history, check_flight, level_of
from pc2dae.noise import noise_level
from pc2dae.qc import checks
from pc2dae.qc.flags import marked
from pc2dae.qc.spikes import moves, spike
from pc2dae.sentinels import describe, find_sentinels
from pc2dae.suite import ENVIRONMENT, MOTION, Channel, Suite
from pc2dae.suite.instruments import RULES

_NO_AIR = -9999.0  # cannot be a valid temperature, humidity, pressure or position


def screen(flight: xr.Dataset) -> xr.Dataset:
    """Return the flight with the flags of all checks; screen again after compensation to check the new values.

    Existing flags are kept, because a reader or the simulator has information that the checks lack. Flags that depend
    on the value itself (missing, range, spike, saturation, detection limit, bound) are recomputed.
    """
    suite = check_flight(flight)
    flight = _without_sentinels(flight, suite)
    bits = {channel.name: _before_noise(flight, suite, channel) for channel in suite.channels}
    values = np.array([flight.variables[name].values for name in suite.names], dtype=np.float64)
    valid = _measured(bits, suite, SATURATED)  # a clipped plume has no noise
    sigma = noise_level(values, valid).sigma
    for row, channel in enumerate(suite.channels):
        bits[channel.name] |= _flat_line(values[row], bits[channel.name], channel, suite.rate_hz, float(sigma[row]))
    before, valid = valid, _measured(bits, suite, SATURATED)
    dead = (before != valid).any(axis=1)  # exclude flat lines, which have no noise
    sigma[dead] = noise_level(values[dead], valid[dead]).sigma
    valid = _measured(bits, suite)
    instruments = [suite.instrument_of(name) for name in suite.names]
    moving = np.array([moves(v, ok, sigma=s) for v, ok, s in zip(values, valid, sigma, strict=True)])
    for row, channel in enumerate(suite.channels):
        others = [i for i, key in enumerate(instruments) if key != instruments[row]]
        level, accompanied = float(sigma[row]), np.logical_or.reduce(moving[others], axis=0)
        bits[channel.name] |= spike(
            values[row], valid[row], sigma=level, lower_bound=channel.lower_bound, t90_s=channel.t90_s,
            rate_hz=suite.rate_hz, accompanied=accompanied, valid_max=_limits(flight, channel)[1],
        ) | checks.below_bound(
            values[row], valid[row], sigma=level, lower_bound=channel.lower_bound, rate_hz=suite.rate_hz
        )  # fmt: skip
    judged: dict[str, xr.Variable] = {}  # assigned in one call: xarray copies all variables on each assignment
    for channel in suite.channels:
        qc = f"qc_{channel.name}"
        judged[qc] = xr.Variable("time", _inherited(bits, channel), dict(flight.variables[qc].attrs))
    for name in (*ENVIRONMENT, *MOTION):
        if name in flight:
            found = np.isin(flight.variables[name].values, (*suite.missing, _NO_AIR))
            judged |= {name: flight[name].where(~found).variable} if found.any() else {}
    level = max(flight.attrs.get("level", "raw"), "screened", key=LEVELS.index)
    return add_history(flight.assign(judged), "screened: flags of all checks", level=level)


def _measured(bits: dict[str, Bits], suite: Suite, without: int = 0) -> Mask:
    return np.array([(bits[name] & (NOT_MEASURED | without)) == 0 for name in suite.names])


def _without_sentinels(flight: xr.Dataset, suite: Suite) -> xr.Dataset:
    """Replace sentinels by NaN, both those listed in the suite and those detected in the data."""
    cleared: dict[str, xr.Variable] = {}
    lines = []
    for channel in suite.channels:
        values = flight.variables[channel.name].values
        named = np.isin(values, suite.missing)
        low, high = _limits(flight, channel)
        outside = checks.out_of_range(values, valid_min=low) | checks.saturated(values, valid_max=high) != 0
        found = named | find_sentinels(values, ~(named | outside))
        if found.any():
            cleared[channel.name] = flight[channel.name].where(~found).variable
            lines += [f"{channel.name}: {what}" for what in describe(values[found])]
    flight = flight.assign(cleared)
    for line in lines:
        flight = add_history(flight, line, kind="change")
    return flight


def _limits(flight: xr.Dataset, channel: Channel) -> tuple[float | None, float | None]:
    """Valid range of a channel at the flight's level; none if it is calibrated, since a sensor's range is of readings.

    Zeroed PM2.5 scatters around 0: with a limit of 0 the lower half of it would count as faults.
    """
    if "gain_uncertainty" in flight.variables[channel.name].attrs:
        return None, None
    is_reading = LEVELS.index(level_of(flight)) < LEVELS.index("compensated")
    return channel.reading_limits if is_reading else (channel.valid_min, channel.valid_max)


def _before_noise(flight: xr.Dataset, suite: Suite, channel: Channel) -> Bits:
    """Flags that do not require the noise level; they select the samples used to estimate it."""
    logged = flight.variables[channel.name].values
    determined_again = MISSING | OUT_OF_RANGE | SPIKE | SATURATED | BELOW_DETECTION | BELOW_BOUND
    bits: Bits = flight.variables[f"qc_{channel.name}"].values & ~np.int32(determined_again)
    bits = bits | checks.missing(logged)
    low, high = _limits(flight, channel)
    bits |= checks.out_of_range(logged, valid_min=low, valid_max=high)
    values = np.where(bits & (MISSING | OUT_OF_RANGE), np.nan, logged)
    bits |= checks.saturated(values, valid_max=high)
    bits |= checks.below_detection(values, detection_limit=channel.detection_limit)
    bits |= checks.stale(
        values,
        rate_hz=suite.rate_hz,
        native_rate_hz=channel.native_rate_hz,
        companions=_companions(flight, suite, channel),
        ends=(channel.lower_bound, low, high),
    )
    bits |= _by_instrument(flight, suite, channel, values)
    # A missing sample is not a repeat, even if the input was flagged so.
    return np.where(bits & MISSING, bits & ~np.int32(STALE), bits).astype(np.int32)


def _flat_line(values: Array, bits: Bits, channel: Channel, rate_hz: float, sigma: float) -> Bits:
    """Flat-line check including stale samples; the minimum run length scales with the sensor's hold time."""
    valid = (bits & np.int32(NOT_MEASURED & ~STALE | SATURATED)) == 0
    held = max(round(rate_hz / channel.native_rate_hz), 1) if channel.native_rate_hz is not None else 1
    held = max(held, checks.written_every(values)[0])
    return checks.flat_line(values, sigma=sigma, lower_bound=channel.lower_bound, samples=10 * held, valid=valid)


def _by_instrument(flight: xr.Dataset, suite: Suite, channel: Channel, values: Array) -> Bits:
    """Flags from an instrument's status and housekeeping columns; `values` are the channel's in-range values."""
    bits = np.zeros(len(values), dtype=np.int32)
    source = suite.sources.get((channel.difference_of or (channel.name,))[0])
    if source is None or source.instrument not in RULES:
        return bits
    rules = RULES[source.instrument]

    def column(name: str | None) -> Array | None:
        variable = source.variable(name) if name is not None else None
        return flight.variables[variable].values if variable in flight else None

    if (status := column(rules.status)) is not None:
        word = np.nan_to_num(np.round(status)).astype(np.int64)
        bits |= checks.startup((word & rules.starting_bit != 0) | ~np.isfinite(status) & ~np.isfinite(values))
        # Light that saturates the detector gives any black carbon, not a lower limit of it.
        bits |= marked(word & rules.saturated_bit != 0, SATURATED | OUT_OF_RANGE)
    if rules.spent_atn is not None and channel.name in suite.sources:
        attenuation = column(source.column.replace("bc", "atn"))
        if attenuation is not None:
            bits |= marked(attenuation > rules.spent_atn, FILTER_LOADED)
        if attenuation is not None and rules.tape_position is not None:
            bits |= checks.tape_advance(attenuation, column(rules.tape_position))
    if (cell_c := column(rules.cell_temperature)) is not None:
        bits |= checks.startup(cell_c < rules.ready_c)
    if (board_c := column(rules.board_temperature)) is not None:
        bits |= checks.thermal_transient(board_c, rate_hz=suite.rate_hz)
    if rules.warm_up_s is not None:
        starting = checks.startup((values == 0) | ~np.isfinite(values))
        warm_up = np.arange(len(values)) < rules.warm_up_s * suite.rate_hz
        bits |= starting if not (starting[~warm_up] & STARTUP).any() else 0
    return bits


def _companions(flight: xr.Dataset, suite: Suite, channel: Channel) -> list[Array]:
    """Other outputs of a slow sensor, used to distinguish a new sample of equal value from a repeat."""
    if channel.native_rate_hz is None or channel.name not in suite.sources:
        return []
    prefix = suite.sources[channel.name].variable("")
    names = [str(n) for n in flight.data_vars if str(n).startswith(prefix) and flight[n].dtype.kind == "f"]
    return [flight.variables[n].values for n in names if np.isfinite(flight.variables[n].values).any()]


def _inherited(bits: dict[str, Bits], channel: Channel) -> Bits:
    """Flags of a channel; a difference inherits those of both its channels, and has no limit if one of them has one."""
    own = bits[channel.name]
    for parent in channel.difference_of or ():
        own = own | (bits[parent] & np.int32(NOT_MEASURED | SATURATED)) | marked(bits[parent] & SATURATED, OUT_OF_RANGE)
    return own
