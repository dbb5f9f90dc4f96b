"""How many wrong units and positions are noticed, one column of a simulated flight at a time, without units in names.

    python benchmarks/unit_swaps.py [--flights 4] [--minutes 15] [--seed 1]

A swap is noticed if the flight is refused or the column put right. Two suites: `black-kite` as it ships, and without
its noise and detection limits (valid ranges alone). False alarms: clean flights and the real records of ../shared/data
(or PC2DAE_REAL_DATA) that are refused.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import xarray as xr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))
from real_data import RECORDS

import pc2dae
from pc2dae.align.grid import align
from pc2dae.arrays import Array
from pc2dae.errors import Pc2daeError
from pc2dae.flight.stream import Stream
from pc2dae.simulate import simulate_flight, write_flight_files
from pc2dae.suite import ENVIRONMENT, Suite, load_suite

# Unit of the suite → units the values may be in, and value = factor · right one + offset.
SWAPS: dict[str, list[tuple[str, float, float]]] = {
    "ppb": [("ppm", 1e-3, 0.0)],
    "ppm": [("ppb", 1e3, 0.0), ("%", 1e-4, 0.0)],
    "ng m-3": [("ug m-3", 1e-3, 0.0)],
    "ug m-3": [("mg m-3", 1e-3, 0.0), ("ng m-3", 1e3, 0.0)],
    "degC": [("K", 1.0, 273.15), ("degF", 1.8, 32.0)],
    "hPa": [("Pa", 100.0, 0.0), ("kPa", 0.1, 0.0), ("inHg", 1 / 33.86389, 0.0)],
    "%": [("1", 0.01, 0.0)],
}


def main() -> None:
    """Print noticed swaps and false alarms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    flights = [_flight(chosen.seed + number, chosen.minutes) for number in range(chosen.flights)]
    full = load_suite("black-kite").model_copy(update={"sources": {}})
    for title, suite in (("black-kite", full), ("valid ranges alone", _ranges_alone(full))):
        noticed: Counter[str] = Counter()
        tried: Counter[str] = Counter()
        alarms = 0
        for flight in flights:
            columns = _columns(flight, suite)
            alarms += _is_refused(columns, flight, suite)
            for name in columns:
                for unit, factor, offset in SWAPS.get(str(flight[name].attrs["units"]), []):
                    kind = f"{flight[name].attrs['units']} in {unit}"
                    tried[kind] += 1
                    swapped = {name: columns[name] * factor + offset}
                    noticed[kind] += _is_noticed(swapped, columns, flight, suite)
            for kind, positions in _positions(columns).items():
                tried[kind] += 1
                noticed[kind] += _is_noticed(positions, columns, flight, suite)
        print(f"\n{title}: {sum(noticed.values())} of {sum(tried.values())} swaps noticed, {alarms} of {len(flights)}"
              " clean flights refused")  # fmt: skip
        for kind, count in tried.items():
            print(f"  {kind:32}{noticed[kind]:>4} of {count:>4}")
    print("\nreal records: {} of {} refused".format(*_real()))


def _flight(seed: int, minutes: float) -> xr.Dataset:
    with tempfile.TemporaryDirectory() as folder:
        logs = write_flight_files(simulate_flight(seed, minutes), folder)
        return pc2dae.ingest([logs])[0].load()


def _ranges_alone(suite: Suite) -> Suite:
    bare = {"noise_sigma": None, "detection_limit": None}
    families = tuple(
        family.model_copy(update={"channel": tuple(c.model_copy(update=bare) for c in family.channel)})
        for family in suite.family
    )
    return suite.model_copy(update={"family": families})


def _columns(flight: xr.Dataset, suite: Suite) -> dict[str, Array]:
    measured = [c.name for c in suite.channels if c.difference_of is None]
    return {name: flight[name].values.copy() for name in (*measured, *ENVIRONMENT, "latitude", "longitude")}


def _positions(columns: dict[str, Array]) -> dict[str, dict[str, Array]]:
    """Positions as receivers and people spoil them; a tenth of the rows where not all."""
    latitude, longitude = columns["latitude"], columns["longitude"]
    tenth = np.arange(len(latitude)) % 10 == 3
    return {
        "position swapped": {"latitude": longitude, "longitude": latitude},
        "position 0/0": {"latitude": np.where(tenth, 0.0, latitude), "longitude": np.where(tenth, 0.0, longitude)},
        "sign of longitude": {"longitude": np.where(tenth, -longitude, longitude)},
        "sign of latitude": {"latitude": np.where(tenth, -latitude, latitude)},
        "latitude 95": {"latitude": np.where(tenth, 95.0, latitude)},
        "longitude from 0 to 360": {"longitude": longitude % 360.0},
    }


def _stream(columns: dict[str, Array], flight: xr.Dataset) -> Stream:
    units = {name: str(flight[name].attrs["units"]) for name in columns}
    time = flight["time"].values
    return Stream("csv", "", time, columns, units, rows_read=len(time), source="x.csv")


def _is_refused(columns: dict[str, Array], flight: xr.Dataset, suite: Suite) -> bool:
    try:
        align([_stream(columns, flight)], suite)
    except Pc2daeError as error:
        print("  refused:", error)
        return True
    return False


def _is_noticed(swapped: dict[str, Array], right: dict[str, Array], flight: xr.Dataset, suite: Suite) -> bool:
    """Whether the flight is refused, or no value of the swapped columns differs from the right one."""
    try:
        found = align([_stream(right | swapped, flight)], suite)[0]
    except Pc2daeError:
        return True
    for name in swapped:
        seen = np.isfinite(found[name].values) & np.isfinite(right[name])
        if not np.allclose(found[name].values[seen], right[name][seen], rtol=1e-6, atol=1e-9):
            return False
    return True


def _real() -> tuple[int, int]:
    refused, records = 0, [record for record in RECORDS if record.source.is_file()]
    with tempfile.TemporaryDirectory() as folder:
        for record in records:
            suite = record.suite_path
            try:
                pc2dae.ingest([record.write(Path(folder), whole=True)], suite=suite, zone=record.zone)
            except Pc2daeError as error:
                print(f"  {record.id}: {error}")
                refused += 1
    return refused, len(records)


if __name__ == "__main__":
    main()
