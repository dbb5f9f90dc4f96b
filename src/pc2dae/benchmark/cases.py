"""Benchmark cases: held-out simulated flights, as flown and with injected noise, each with its reference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
import xarray as xr

from pc2dae.arrays import Floats, Mask
from pc2dae.flight.schema import suite_of
from pc2dae.flight.stream import Stream
from pc2dae.metrics import LEVELS, inject, scales
from pc2dae.qc import screen
from pc2dae.response.kernels import Response
from pc2dae.simulate import SimulatedFlight, fly_plan, plan_campaign, true_grid
from pc2dae.simulate.plan import PAPER_FLIGHTS, FlightPlan
from pc2dae.suite import Suite
from pc2dae.windows.arrays import arrays_of

FAMILIES = ("bc", "gas", "co2")  # families that the quality step keeps in a campaign like the paper's
AMBIENT = "ambient"  # the part, and the noise of its simulated cases: as flown, against the air
FIRST_HELD_OUT = 5001  # seed of the first campaign not used for training or tuning
FIRST_TRAINING = 1  # seed of the first campaign on which networks are trained here; shipped weights never saw it


@dataclass(frozen=True)
class Case:
    """One record to denoise, with its reference where known; arrays are (channel, time) in physical units."""

    flight_id: str
    noise: str  # flight, ambient, record: as measured; inject, noisy σ: plus noise; pair: two sensors; τ: lag added
    flight: xr.Dataset
    suite: Suite
    values: Floats
    environment: Floats
    valid: Mask
    truth: Floats | None = None
    response: Floats | None = None  # the noise-free reading, where `truth` is something else
    ambient: Floats | None = None  # concentrations of the ambient air
    instant: Floats | None = None  # the reading without noise and lag
    responses: Mapping[str, Response] | None = None  # of the channels whose lag is to be undone


def held_out(count: int) -> list[str]:
    """Names of the first `count` held-out flights, five to a campaign: "5001-1", …"""
    return [f"{FIRST_HELD_OUT + i // PAPER_FLIGHTS}-{1 + i % PAPER_FLIGHTS}" for i in range(count)]


def known_flights() -> list[str]:
    """The flights of the training campaign."""
    return [f"{FIRST_TRAINING}-{1 + i}" for i in range(PAPER_FLIGHTS)]


def same_payload() -> list[str]:
    """As many flights with the training campaign's payload, on which nothing was trained."""
    return [f"{FIRST_TRAINING}-{1 + PAPER_FLIGHTS + i}" for i in range(PAPER_FLIGHTS)]


def training_flights(campaigns: float) -> Iterator[tuple[xr.Dataset, xr.Dataset]]:
    """The flights of this many campaigns, each with its truth; a fraction of one selects its first samples."""
    for number in range(int(np.ceil(campaigns))):
        flights = _campaign(FIRST_TRAINING + number)
        left = round(min(campaigns - number, 1.0) * sum(flight.sizes["time"] for flight, _ in flights))
        for flight, truth in flights:
            if left > 0:
                yield flight.isel(time=slice(0, left)), truth
                left -= flight.sizes["time"]


@lru_cache(maxsize=10)
def _campaign(seed: int) -> tuple[tuple[xr.Dataset, xr.Dataset], ...]:
    return tuple((as_prepared(flown), flown.truth) for flown in map(fly_plan, plan_campaign(seed)))


@lru_cache(maxsize=2)
def simulated_cases(flight_id: str) -> tuple[Case, ...]:
    """A held-out flight as flown, then with noise injected into its noise-free reading and into its noisy one."""
    flown = fly_plan(_plan(flight_id))
    flight = as_prepared(flown)
    suite = suite_of(flight).only(FAMILIES)
    values, environment, valid = arrays_of(flight, suite)
    response, ambient, instant = (
        np.stack([flown.truth[f"{n}_{kind}"].values for n in suite.names])
        for kind in ("response", "ambient", "instant")
    )
    bound = np.array([channel.lower_bound for channel in suite.channels])
    clean = np.maximum(response, bound[:, None])
    arrays = (values, environment, valid)
    cases = [Case(flight_id, "flight", flight, suite, *arrays, response, ambient=ambient, instant=instant)]
    # A channel that never leaves its bound has no scale, so no noise can be injected.
    risen = np.repeat(np.percentile(clean, 99.5, axis=1, keepdims=True) > bound[:, None], clean.shape[1], axis=1)
    for sigma in LEVELS:
        seed = crc32(f"{flight_id} {sigma}".encode())
        given = inject(clean, scales(clean, bound), sigma=sigma, seed=seed)
        cases.append(Case(flight_id, f"inject {sigma:.2f}", flight, suite, given, environment, risen, clean))
        given = inject(values, scales(np.where(valid, values, np.nan), bound), sigma=sigma, seed=seed + 1)
        cases.append(
            Case(flight_id, f"noisy {sigma:.2f}", flight, suite, given, environment, valid, values, response=clean)
        )
    return tuple(cases)


def as_prepared(flown: SimulatedFlight) -> xr.Dataset:
    """The flight on its true time axis, flagged, with sampling times and the aethalometer's attenuation."""
    flight = true_grid(flown.streams, flown.truth)
    flight.attrs["sampling_offset_s"] = json.dumps(_sampling_offsets(flown))
    for name, column in _attenuation(flown).items():
        flight[name] = ("time", column)
    return screen(flight)


def _sampling_offsets(flown: SimulatedFlight) -> dict[str, float]:
    """Mean time of each instrument's rows after the centre of their second [s], as ingestion finds it."""
    times = {stream.key: _true_times(flown, stream) for stream in flown.streams}
    return {key: float(np.mean(own - np.floor(own))) - 0.5 for key, own in times.items()}


def _true_times(flown: SimulatedFlight, stream: Stream) -> Floats:
    """Seconds since the start of a stream's rows, without the error of its clock."""
    offset = json.loads(flown.truth.attrs["clock_offset_s"])[stream.key]
    since = stream.time.astype("datetime64[ns]") - flown.truth["time"].values[0]
    return np.asarray(since.astype(np.int64) / 1e9 - offset)


def _attenuation(flown: SimulatedFlight) -> dict[str, Floats]:
    """Attenuation at each true second, named as by ingestion; missing where there was no row."""
    stream = next(s for s in flown.streams if s.instrument == "ma200")
    second = np.floor(_true_times(flown, stream)).astype(int)
    inside = (second >= 0) & (second < flown.truth.sizes["time"])
    columns = {}
    for name in stream.columns:
        if "_atn" in name:
            row = np.full(flown.truth.sizes["time"], np.nan)
            row[second[inside]] = stream.columns[name][inside]
            columns[f"{stream.instrument}_{name}"] = row
    return columns


def _plan(flight_id: str) -> FlightPlan:
    """The plan of flight "seed-number"; numbers above a campaign's are flights of a larger one of the same payload."""
    seed, number = map(int, flight_id.split("-"))
    return plan_campaign(seed, flights=None if number <= PAPER_FLIGHTS else 2 * PAPER_FLIGHTS)[number - 1]
