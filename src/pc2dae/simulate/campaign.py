"""Simulated flights in memory, and simulated campaigns as instrument files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.atomic import write_bytes
from pc2dae.flight.stream import Stream
from pc2dae.logs import afe, ardupilot, instruments, li830, ma200, read_logs
from pc2dae.simulate.aethalometer import fly_ma200
from pc2dae.simulate.atmosphere import heated, weather
from pc2dae.simulate.electrochemical import fly_boards
from pc2dae.simulate.grid import true_grid
from pc2dae.simulate.instruments import fly_autopilot, fly_bme280, fly_li830, fly_pms5003, fly_scd30
from pc2dae.simulate.path import Path as FlightPath
from pc2dae.simulate.path import fly
from pc2dae.simulate.plan import FlightPlan, plan_campaign
from pc2dae.simulate.plumes import smoke
from pc2dae.simulate.processes import RATE_HZ
from pc2dae.simulate.truth import make_truth, write_truth
from pc2dae.simulate.zero_checks import reference_checks


@dataclass(frozen=True)
class SimulatedFlight:
    """Instrument logs of one simulated flight and its truth."""

    plan: FlightPlan
    streams: list[Stream]
    truth: xr.Dataset
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)  # known air: written as <name>.<key>.csv


def simulate_flight(
    seed: int, minutes: float = 25.0, *, perfect_sheets: bool = False, zero_checks: bool = False
) -> SimulatedFlight:
    """Simulate one flight in memory, without writing files."""
    options = {"perfect_sheets": perfect_sheets, "zero_checks": zero_checks}
    return fly_plan(plan_campaign(seed, flights=1, minutes=minutes, **options)[0])


def fly_plan(plan: FlightPlan) -> SimulatedFlight:
    """Simulate the flight described by `plan`: path, air, smoke, then each instrument."""
    flown = fly(plan.rng(4), plan.samples - 2 * plan.zero_check_s)
    parked = plan.zero_check_s * RATE_HZ
    path = FlightPath(**{name: np.pad(values, parked, mode="edge") for name, values in vars(flown).items()})
    air = weather(plan, path)
    smoky = smoke(plan, path, air)
    air = heated(air, carbon=smoky.carbon)
    records = [
        fly_ma200(plan, path, air, smoky),
        *fly_boards(plan, air, smoky),
        fly_scd30(plan, air, smoky),
        fly_li830(plan, air, smoky),
        fly_pms5003(plan, smoky, "1"),
        fly_pms5003(plan, smoky, "2"),
        fly_bme280(plan, air),
        fly_autopilot(plan, path, air),
    ]
    truth = make_truth(plan, path, air, smoky, records)
    checks = {"zero": reference_checks(plan, truth)} if plan.zero_check_s else {}
    return SimulatedFlight(plan, [record.stream for record in records], truth, checks)


def write_flight_files(flight: SimulatedFlight, folder: str | PathLike[str]) -> Path:
    """Write `folder`/flight_NNN/<instrument files>, flight_NNN.truth.nc and its tables; return the flight's folder."""
    target = Path(folder) / flight.plan.name
    target.mkdir(parents=True, exist_ok=True)
    stamp = np.datetime_as_string(flight.plan.start, unit="s").replace("-", "")[2:].replace("T", "").replace(":", "")
    for stream in flight.streams:
        write, file = WRITERS[stream.instrument]
        for old in target.glob(file.format(unit=stream.unit, stamp="*")):
            old.unlink()  # left by an earlier campaign with another start time
        write(target / file.format(unit=stream.unit, stamp=stamp), stream)
    write_truth(flight.truth, Path(folder) / f"{flight.plan.name}.truth.nc")
    if "zero" not in flight.tables:
        (Path(folder) / f"{flight.plan.name}.zero.csv").unlink(missing_ok=True)  # left by an earlier campaign
    for kind, table in flight.tables.items():
        write_bytes(Path(folder) / f"{flight.plan.name}.{kind}.csv", table.to_csv(index=False).encode())
    return target


def read_flight_files(folder: str | PathLike[str]) -> tuple[xr.Dataset, xr.Dataset]:
    """Read a written flight: its truth, and its instrument files on the true time grid."""
    truth = xr.load_dataset(Path(f"{folder}.truth.nc"))
    return truth, true_grid(read_logs([folder]).streams, truth)


# instrument → writer and file name on the memory card
WRITERS: dict[str, tuple[Callable[[Path, Stream], None], str]] = {
    "ma200": (ma200.write, "MA200-0187_S0016_{stamp}.csv"),
    "afe": (afe.write, "afe_{unit}.csv"),
    "scd30": (instruments.write_scd30, "scd30.csv"),
    "li830": (li830.write, "li830.log"),
    "pms5003": (instruments.write_pms5003, "pms5003_{unit}.csv"),
    "bme280": (instruments.write_bme280, "bme280.csv"),
    "ardupilot": (ardupilot.write, "00000042.bin"),
}


def write_campaign(plans: list[FlightPlan], folder: str | PathLike[str], *, workers: int = 1) -> Iterator[Path]:
    """Simulate and write all plans, yielding each flight's folder when complete."""
    if workers <= 1:
        for plan in plans:
            yield _fly_and_write(plan, folder)
        return
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for done in as_completed([pool.submit(_fly_and_write, plan, folder) for plan in plans]):
            yield done.result()


def _fly_and_write(plan: FlightPlan, folder: str | PathLike[str]) -> Path:
    return write_flight_files(fly_plan(plan), folder)
