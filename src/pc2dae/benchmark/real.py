"""Public real measurements: files reserved for testing are scored, absent ones skipped.

GoAmazon CO and NOx are reference grade, so noise is injected in units of P98 − P2 and the record is the truth; part
`ambient` sees them through artificial first-order sensors. Of two
LI-840A analysers, A is the input and B the reference, after their slow difference is removed. Drone flights through
smoke (Konza), an AE51 in a car and a STAP below a balloon have no truth and are scored with blind metrics only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np
import xarray as xr
from scipy.ndimage import median_filter

from pc2dae.benchmark.cases import Case
from pc2dae.filters.gaps import fill
from pc2dae.flight.schema import suite_of
from pc2dae.ingestion import open_flight
from pc2dae.metrics import LEVELS, inject
from pc2dae.response.kernels import LN10, Kernel, Response, respond
from pc2dae.suite import Channel, Family, Suite
from pc2dae.suite.model import TimeColumn
from pc2dae.windows.arrays import arrays_of

KOLIBRI = Suite(
    name="kolibri",
    missing=(-9999.0,),
    time=TimeColumn(column="DateTime_cdt", zone="-05:00"),
    family=(
        Family(name="co2", channel=(Channel(name="co2", units="ppm", column="CO2_ppm", lower_bound=300.0,
                                            valid_min=300.0, valid_max=20000.0),)),
        Family(name="gas", channel=(Channel(name="co", units="ppm", column="CO_ppm", valid_min=-5.0,
                                            valid_max=5000.0),)),
        Family(name="pm", channel=(Channel(name="pm25", units="mg m-3", column="PM2.5_mg.m3", valid_min=-1.0,
                                           valid_max=400.0),)),
    ),
)  # fmt: skip
TAUS_S = (3.0, 8.0)  # time constants of artificial sensors
LAGGED_NOISE = 0.02  # their noise, in units of P98 − P2 of the record
_SLOW = 301  # samples of the running median that estimates the slow difference of two analysers


@dataclass(frozen=True)
class RealSet:
    """Files of one kind: those that are scored, and those on which a network may be trained."""

    name: str
    folder: str
    scored: tuple[str, ...]
    kind: str  # inject, pair or blind
    developed: tuple[str, ...] = ()  # files that may also be used for tuning
    channels: tuple[str, ...] = ()  # scored channels; empty: all
    suite: Suite | None = None

    def training(self, file: str) -> tuple[str, ...]:
        """All files of the set except `file`."""
        return tuple(f for f in (*self.developed, *self.scored) if f != file)


SETS = (
    RealSet("goamazon", "goamazon_aircraft", ("G1_dryseason_24.xlsx", "G1_dryseason_28.xlsx"), "inject",
            developed=("G1_dryseason_23.xlsx",), channels=("co", "nox")),
    RealSet("konza", "konza_uav_burn/kolibri", ("HQ_2.csv", "K20A.csv", "K2A_1.csv", "K2A_2.csv"), "blind",
            developed=("1D.csv", "HQ_1.csv"), suite=KOLIBRI),
    RealSet("li840a", "li840a_pairs", ("2018-05-06_Licor_comparison.zip",), "pair"),
    RealSet("ae51", "bengaluru_car", ("2019_09_16_h094851_KAN_AE51.csv",), "blind"),
    RealSet("stap", "helikite_balloon", ("STAP_220929A0_processed.txt",), "blind"),
)  # fmt: skip


def shared_data() -> Path | None:
    """The folder of real measurements beside the project, if it exists."""
    found = Path(__file__).resolve().parents[4] / "shared" / "data"
    return found if found.is_dir() else None


def present(data: Path | None) -> list[tuple[str, str]]:
    """(set, file) of all files available for scoring."""
    if data is None:
        return []
    return [(s.name, file) for s in SETS for file in s.scored if (data / s.folder / file).is_file()]


def training_of(data: Path, name: str, file: str) -> tuple[list[xr.Dataset], Suite]:
    """The training flights for a network to be scored on `file`, and the channels."""
    chosen = _set(name)
    if chosen.kind == "pair":
        flight = _opened(data, name, file)
        return [flight.isel(time=slice(0, flight.sizes["time"] // 2))], _suite(flight, ("co2_1",))
    flights = [_opened(data, name, f) for f in chosen.training(file)]
    return flights, _suite(flights[0], chosen.channels)


def has_training(name: str) -> bool:
    """Whether a set has training data apart from the scored record."""
    chosen = _set(name)
    return chosen.kind == "pair" or len(chosen.scored) + len(chosen.developed) > 1


def has_truth(name: str) -> bool:
    """Whether the records of a set are good enough to be the truth."""
    return _set(name).kind == "inject"


@lru_cache(maxsize=1)
def real_cases(data: Path, name: str, file: str) -> tuple[Case, ...]:
    """The cases of one file: records to denoise, with their references."""
    chosen = _set(name)
    flight = _opened(data, name, file)
    label = f"{name} {Path(file).stem}"
    if chosen.kind == "pair":
        return (_pair_case(flight.isel(time=slice(flight.sizes["time"] // 2, None)), label),)
    suite = _suite(flight, chosen.channels)
    values, environment, valid = arrays_of(flight, suite)
    if chosen.kind == "blind":
        return (Case(label, "record", flight, suite, values, environment, valid),)
    clean = np.where(valid, values, np.nan)
    low, high = np.nanpercentile(clean, [2, 98], axis=1)
    return tuple(
        Case(
            label,
            f"inject {sigma:.2f}",
            flight,
            suite,
            inject(clean, high - low, sigma=sigma, seed=crc32(f"{label} {sigma}".encode())),
            environment,
            valid,
            clean,
        )
        for sigma in LEVELS
    )


@lru_cache(maxsize=1)
def lagged_cases(data: Path, name: str, file: str) -> tuple[Case, ...]:
    """A reference-grade record as read by first-order sensors of these τ, with white noise; the record is the truth."""
    chosen = _set(name)
    flight = _opened(data, name, file)
    label = f"{name} {Path(file).stem}"
    suite = _suite(flight, chosen.channels)
    values, environment, valid = arrays_of(flight, suite)
    clean = np.where(valid, values, np.nan)
    low, high = np.nanpercentile(clean, [2, 98], axis=1)
    cases = []
    for tau in TAUS_S:
        kernel = Kernel(tau * LN10)
        reading = np.stack([respond(row, kernel, suite.rate_hz) for row in fill(clean, valid)])
        noisy = inject(reading, high - low, sigma=LAGGED_NOISE, seed=crc32(f"{label} {tau}".encode()))
        known = Response(kernel, 0.1 * kernel.t90_s)
        cases.append(Case(label, f"τ {tau:g} s", flight, suite, noisy, environment, valid, clean, response=reading,
                          responses=dict.fromkeys(suite.names, known)))  # fmt: skip
    return tuple(cases)


def _pair_case(flight: xr.Dataset, label: str) -> Case:
    """Analyser A is the input; the reference is B, shifted by the slow difference of the two."""
    both, environment, seen = arrays_of(flight, suite_of(flight))
    suite = _suite(flight, ("co2_1",))
    ok = seen.all(axis=0)
    reference = np.full((1, both.shape[1]), np.nan)
    reference[0, ok] = both[1, ok] + median_filter(both[0, ok] - both[1, ok], size=_SLOW, mode="nearest")
    return Case(label, "pair", flight, suite, both[:1], environment, seen[:1], reference)


@lru_cache(maxsize=6)
def _opened(data: Path, name: str, file: str) -> xr.Dataset:
    chosen = _set(name)
    zone = None if chosen.suite is not None else "UTC"  # one clock per file: the absolute time does not matter here
    return open_flight(data / chosen.folder / file, suite=chosen.suite, zone=zone)


def _suite(flight: xr.Dataset, channels: tuple[str, ...]) -> Suite:
    """The flight's suite, reduced to these channels."""
    suite = suite_of(flight)
    if not channels:
        return suite
    found = [
        (family, tuple(_alone(c, channels) for c in family.channel if c.name in channels)) for family in suite.family
    ]
    kept = tuple(family.model_copy(update={"channel": own}) for family, own in found if own)
    sources = {name: source for name, source in suite.sources.items() if name in channels or name not in suite.names}
    return suite.model_copy(update={"family": kept, "sources": sources})


def _alone(channel: Channel, channels: tuple[str, ...]) -> Channel:
    """The channel, no longer marked as a duplicate if its original is excluded."""
    return channel if channel.duplicate_of in channels else channel.model_copy(update={"duplicate_of": None})


def _set(name: str) -> RealSet:
    return next(s for s in SETS if s.name == name)
