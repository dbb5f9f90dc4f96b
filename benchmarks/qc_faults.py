"""How well the flags find the faults that the simulator put in, and how well response times come out.

    python benchmarks/qc_faults.py [--flights 20] [--minutes 25]

Flights are put on their true clocks first, so that this measures the checks and not the alignment.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np
import xarray as xr

from pc2dae.align.grid import align
from pc2dae.calibration.compensate import compensate
from pc2dae.flags import BAD, FLAGS, INTERPOLATED, MISSING, SPIKE
from pc2dae.flight.schema import observed, suite_of
from pc2dae.noise import noise_level
from pc2dae.qc import screen
from pc2dae.response.t90 import response_times
from pc2dae.simulate import SimulatedFlight, simulate_flight
from pc2dae.suite import load_suite

PUT_IN = ("missing", "stale", "startup", "tape_advance", "spike")


def on_true_clocks(simulated: SimulatedFlight) -> xr.Dataset:
    """The flight, screened and compensated, with every instrument's clock put right by the truth."""
    offset = json.loads(simulated.truth.attrs["clock_offset_s"])
    drift = json.loads(simulated.truth.attrs["clock_drift_ppm"])
    start = simulated.truth["time"].values[0]
    streams = []
    for stream in simulated.streams:
        shown = (stream.time - start) / np.timedelta64(1, "s")
        true = (shown - offset[stream.key]) / (1 + 1e-6 * drift[stream.key])
        streams.append(replace(stream, time=start + np.rint(true * 1e9).astype("timedelta64[ns]")))
    flight, _ = align(streams, load_suite("black-kite"))
    return screen(compensate(screen(flight)))


def counts(flight: xr.Dataset, truth: xr.Dataset) -> dict[str, np.ndarray]:
    """Per flag: found and put in, found only, put in only; a fault is also found if another bad flag stands there."""
    flight, truth = xr.align(flight, truth, join="inner")
    table = {flag: np.zeros(3) for flag in PUT_IN}
    for name in suite_of(flight).names:
        bits, fault = flight[f"qc_{name}"].values, truth[f"{name}_fault"].values
        if name.startswith("o3"):  # a spike of the NO2 cell is subtracted from its board's ozone
            fault = fault | (truth[f"no2_{name[-1]}_fault"].values & SPIKE)
        present = (fault & MISSING) == 0
        for flag in PUT_IN:
            put = (fault & FLAGS[flag]) != 0
            found = (bits & FLAGS[flag]) != 0
            if flag == "missing":
                found |= (bits & INTERPOLATED) != 0  # bridged by the aligner, and said so
            if flag == "spike":
                put &= present
                excused = put & ((bits & BAD) != 0)
                found |= excused
            table[flag] += [(put & found).sum(), (found & ~put).sum(), (put & ~found).sum()]
    return table


def main() -> None:
    """Print precision and recall per flag, the cost in good samples, and errors of t90 and of the calibration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=25.0)
    options = parser.parse_args()
    total = {flag: np.zeros(3) for flag in PUT_IN}
    t90_errors: dict[str, list[float]] = {}
    for seed in range(1000, 1000 + options.flights):
        simulated = simulate_flight(seed, options.minutes)
        flight = on_true_clocks(simulated)
        for flag, row in counts(flight, simulated.truth).items():
            total[flag] += row
        true = json.loads(simulated.truth.attrs["t90_s"])
        for name, found in response_times(flight).items():
            t90_errors.setdefault(name, []).append(found.t90_s - true[name])
    print(f"{options.flights} flights of {options.minutes:g} min, seeds 1000 …\n")
    print(f"{'flag':14s}{'precision %':>12s}{'recall %':>10s}{'put in':>9s}{'found':>8s}")
    for flag, (both, extra, lost) in total.items():
        precision = 100 * both / max(both + extra, 1)
        recall = 100 * both / max(both + lost, 1)
        print(f"{flag:14s}{precision:12.1f}{recall:10.1f}{both + lost:9.0f}{both + extra:8.0f}")
    print(f"\n{'t90 of':14s}{'median |error| s':>17s}{'bias s':>8s}{'flights':>9s}")
    for name, errors in t90_errors.items():
        print(f"{name:14s}{np.median(np.abs(errors)):17.2f}{np.median(errors):8.2f}{len(errors):9d}")
    everything = np.concatenate([np.asarray(errors) for errors in t90_errors.values()])
    print(f"{'all':14s}{np.median(np.abs(everything)):17.2f}{np.median(everything):8.2f}{len(everything):9d}")
    _calibration(options.minutes)


def _calibration(minutes: float) -> None:
    """What is left after compensation: with perfect sheets nothing but noise, with real ones the cells' errors."""
    print(
        f"\n{'compensated less …':19s}{'response, perfect sheet':>24s}{'ambient, real sheet':>21s}   [σ of the noise]"
    )
    left: dict[str, list[float]] = {}
    for perfect in (True, False):
        simulated = simulate_flight(1000, minutes, perfect_sheets=perfect)
        flight, truth = xr.align(on_true_clocks(simulated), simulated.truth, join="inner")
        for name in suite_of(flight).names:
            valid = observed(flight, name)
            values = flight[name].values
            sigma = float(noise_level(values[None], valid[None]).sigma[0])
            against = truth[f"{name}_{'response' if perfect else 'ambient'}"].values
            left.setdefault(name, []).append(float(np.mean((values - against)[valid])) / sigma)
    for name, (response, ambient) in left.items():
        print(f"{name:19s}{response:24.2f}{ambient:21.2f}")


if __name__ == "__main__":
    main()
