"""Simulated flight on the true time grid, as from ingestion with perfectly known clocks."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.align.clocks import cut_s
from pc2dae.arrays import Array
from pc2dae.calibration.electrochemical import compensate_cell
from pc2dae.flight.schema import new_flight
from pc2dae.flight.stream import Stream
from pc2dae.simulate.payload import FACTORY
from pc2dae.suite import Suite, load_suite


def true_grid(streams: Sequence[Stream], truth: xr.Dataset) -> xr.Dataset:
    """Grid `streams` with the clock errors from the truth and compensate the gases; no quality flags.

    Seconds without rows are missing; repeated values of the SCD30 are kept.
    """
    suite = load_suite("black-kite")
    offsets, drifts = (json.loads(truth.attrs[key]) for key in ("clock_offset_s", "clock_drift_ppm"))
    start, samples = truth["time"].values[0], truth.sizes["time"]
    values: dict[str, Array] = {}
    sampled: dict[str, float] = {}
    for stream in streams:
        shown = (stream.time.astype("datetime64[ns]") - start).astype(np.int64) / 1e9 - offsets[stream.key]
        shown = shown / (1 + 1e-6 * drifts[stream.key])
        second = np.floor(shown).astype(int)
        sampled[stream.key] = float(np.mean(shown + cut_s(stream) - second - 0.5))
        for name, column in _columns(stream, suite).items():
            values[name] = _means(second, column, samples)
    for channel in suite.channels:
        if channel.difference_of is not None:
            first, other = channel.difference_of
            values[channel.name] = values[first] - values[other]
    flight = new_flight(truth["time"].values, values, suite, flight_id=truth.attrs["id"], level="compensated")
    flight.attrs["sampling_offset_s"] = json.dumps(sampled)
    flight.attrs["calibration"] = json.dumps({s.key: s.calibration for s in streams if s.calibration is not None})
    return flight


def _columns(stream: Stream, suite: Suite) -> dict[str, Array]:
    """Variables of the suite that this stream provides."""
    wanted = {source.column: name for name, source in suite.sources.items() if source.key == stream.key}
    if stream.instrument == "afe":
        return _gases(stream, wanted)
    found = {name: stream.columns[column] for column, name in wanted.items()}
    return found | ({"ekf_speed": stream.columns["ekf_speed"]} if stream.instrument == "ardupilot" else {})


def _gases(stream: Stream, wanted: dict[str, str]) -> dict[str, Array]:
    sheets = {sheet["sensor_type"]: sheet for sheet in (stream.calibration or {})["sensors"]}
    out: dict[str, Array] = {}
    for gas in sorted(wanted, key=lambda g: g == "o3"):  # the OX cell requires NO2
        kind = FACTORY[gas][0]
        out[wanted[gas]] = compensate_cell(
            stream.columns[f"{gas}_we"],
            stream.columns[f"{gas}_ae"],
            stream.columns["temperature"],
            sheets[kind],
            kind,
            no2_ppb=out[wanted["no2"]] if gas == "o3" else None,
        )
    return out


def _means(second: NDArray[np.int_], column: Array, samples: int) -> Array:
    good = np.isfinite(column) & (second >= 0) & (second < samples)
    counts = np.bincount(second[good], minlength=samples)
    sums = np.bincount(second[good], column[good], minlength=samples)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
