"""Damaged and edited netCDF files against the reader: refused in one line or read as xarray reads them, nothing else.

    python benchmarks/fuzz_netcdf.py --files 5000 --seed 1

Half of the files are damaged in their bytes, half are valid files with something in them that a flight does not have.
A child process reads them, within a limit of time and memory; it is started anew when it crashes or hangs. Exits 1 if
a file led to anything but a one-line refusal or the data that xarray finds in it.
"""

from __future__ import annotations

import argparse
import json
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import xarray as xr

from pc2dae.errors import Pc2daeError
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.ingestion import prepare
from pc2dae.suite import Channel, Family, Suite

TIMEOUT_S = 5.0
MEMORY_BYTES = 4 << 30
GOOD = ("refused", "read")
FACTORS = {"ppm": 1e3, "ppt": 1e-3, "K": 1.0, "Pa": 1e-2, "kPa": 10.0}  # of the edits below, to the suite's units
SUITE = Suite(
    name="fuzz",
    family=(
        Family(name="gas", channel=(Channel(name="co", units="ppb"), Channel(name="no", units="ppb"))),
        Family(name="bc", channel=(Channel(name="bc", units="ng m-3", column="BC"),)),
    ),
)
Rng = np.random.Generator
Edit = Callable[[xr.Dataset, Rng], xr.Dataset]


def make_flight(rows: int = 90) -> xr.Dataset:
    """A small flight with everything a file can hold: channels, flags, track, air, an estimate, rows of a CSV."""
    rng = np.random.default_rng(5)
    values = {name: rng.normal(300.0, 20.0, rows) for name in SUITE.names}
    values |= {"air_temperature": rng.normal(20, 1, rows), "air_pressure": rng.normal(950, 1, rows)}
    values |= {"latitude": 52 + rng.normal(0, 1e-4, rows), "longitude": -105 + rng.normal(0, 1e-4, rows)}
    stamps = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(rows) * np.timedelta64(1, "s")
    flight = new_flight(stamps, values, SUITE)
    flight["co"][5:9] = np.nan
    flight["qc_co"][5:9] = 1
    flight["row_index"] = ("row", np.arange(rows))
    flight["row_time"] = ("row", stamps)
    return flight


# ── damage to bytes ──


def damaged(data: bytes, rng: Rng) -> bytes:
    """One to three injuries: flipped bits, a piece lost, doubled, zeroed, exchanged, or the end cut off."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        size = max(len(out), 2)
        at, other = (int(x) for x in rng.integers(size, size=2))
        length = int(rng.integers(1, min(size // 2, 4096) + 1))
        kind = int(rng.integers(7))
        if kind == 0:
            for place in rng.integers(0, len(out), int(rng.integers(1, 9))):
                out[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del out[max(at, 1) :]
        elif kind == 2:
            del out[at : at + length]
        elif kind == 3:
            out[at:at] = out[at : at + length]
        elif kind == 4:
            out[at : at + length] = bytes(len(out[at : at + length]))
        elif kind == 5:
            piece = out[at : at + length]
            out[at : at + length], out[other : other + length] = out[other : other + length], piece
        else:
            out[at : at + 8] = rng.bytes(8)
        if not out:
            return b""
    return bytes(out)


# ── edits of content: `raw` is the file's dataset as it is stored, undecoded ──


def _any_name(raw: xr.Dataset, rng: Rng) -> str:
    return str(rng.choice([str(name) for name in raw.variables]))


def _any_value(rng: Rng) -> Any:
    choices: list[Any] = ["", "x", "{", "[]", "{}", "null", "=1+1", "µ", -1, 0, 7, 1e300, np.nan, np.inf]
    choices += [np.array([1, 2]), np.array([1.5, np.nan]), ["a", "b"], "y" * 3000, np.int8(3), "days since 1-1-1"]
    return choices[int(rng.integers(len(choices)))]


def _rename(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    return raw.rename({_any_name(raw, rng): f"new_{int(rng.integers(100))}"})


def _rename_dimension(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    return raw.rename_dims({str(rng.choice(list(map(str, raw.dims)))): "obs"})


def _drop(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    return raw.drop_vars(_any_name(raw, rng))


def _retype(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    name = _any_name(raw, rng)
    dtype = str(rng.choice(["f4", "f8", "i1", "i2", "i4", "i8", "u1", "U", "S4"]))
    variable = raw[name].variable
    with np.errstate(all="ignore"):
        values = np.nan_to_num(variable.values) if dtype[0] in "iu" and variable.dtype.kind == "f" else variable.values
        attrs = {key: v for key, v in variable.attrs.items() if key != "_FillValue"}
        return raw.drop_vars(name).assign({name: xr.Variable(variable.dims, values.astype(dtype), attrs)})


def _reshape(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    name = _any_name(raw, rng)
    variable = raw[name].variable
    kind = int(rng.integers(4))
    if kind == 0 or not variable.ndim:
        new = variable.expand_dims({"extra": 2}) if name != "time" else variable
    elif kind == 1:
        new = variable.isel({variable.dims[0]: 0})
    elif kind == 2:
        new = xr.Variable(("short",), variable.values[:40], variable.attrs)
    else:
        new = xr.Variable(("nothing", *variable.dims[1:]), variable.values[:0], variable.attrs)
    return raw.drop_vars(name).assign({name: new})


def _global_attribute(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    key = str(rng.choice(["suite", "suite", "level", "history", "calibration", "pc2dae_added", "id", "Conventions"]))
    attrs = dict(raw.attrs)
    kind = int(rng.integers(4))
    if kind == 0:
        attrs.pop(key, None)
    elif kind == 1 and isinstance(attrs.get(key), str):
        text = str(attrs[key])
        at = int(rng.integers(len(text) + 1))
        attrs[key] = text[:at] + str(rng.choice(["", '"', "}", "0", "NaN"])) + text[at + int(rng.integers(5)) :]
    else:
        attrs[key] = _any_value(rng)
    return raw.drop_attrs(deep=False).assign_attrs(attrs)


def _variable_attribute(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    name = _any_name(raw, rng)
    keys = ["units", "units", "calendar", "scale_factor", "add_offset", "_FillValue", "missing_value", "coordinates"]
    keys += ["valid_range", "_Unsigned", "dtype", "flag_masks", "long_name", "family", "bounds", "grid_mapping"]
    raw[name].attrs[str(rng.choice(keys))] = _any_value(rng)
    return raw


def _units(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    name, units = [("co", "ppm"), ("no", "ppt"), ("air_temperature", "K"), ("air_pressure", "Pa"),
                   ("air_pressure", "kPa"), ("bc", "furlong"), ("co", "1")][int(rng.integers(7))]  # fmt: skip
    raw[name if name in raw else "BC"].attrs["units"] = units
    return raw


def _time(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    stamps = raw["time"].values.copy()
    attrs = dict(raw["time"].attrs)
    kind = int(rng.integers(14))
    if kind == 0:
        stamps = stamps[0] + (stamps - stamps[0]) * int(rng.integers(2, 100))
    elif kind == 1:
        stamps[len(stamps) // 2 :] += int(rng.choice([5, 3600, 30 * 86400, 10**9]))
    elif kind == 2:
        stamps = stamps[::-1].copy()
    elif kind == 3:
        stamps[int(rng.integers(len(stamps)))] = stamps[0] - int(rng.integers(2, 10**6))
    elif kind == 4:
        stamps[int(rng.integers(1, len(stamps)))] = stamps[int(rng.integers(len(stamps)))]
    elif kind == 5:
        attrs.pop("units", None)
    elif kind == 6:
        units = ["seconds since 0001-01-01", "days since 1970-01-01", "seconds", "years since x"]
        units += ["hours since 2025-10-05", "seconds since 2025-10-05T14:00:00+09:00"]
        attrs["units"] = str(rng.choice(units))
    elif kind == 7:
        attrs["calendar"] = str(rng.choice(["noleap", "360_day", "julian", "none", "gregorian", "x"]))
    elif kind == 8:
        attrs["units"], stamps = "milliseconds since 1970-01-01", stamps * 1000 + np.arange(len(stamps)) * -900
    elif kind == 9:
        stamps = (stamps + rng.uniform(-0.3, 0.3, len(stamps))).astype(np.float64)
    elif kind == 10:
        stamps = np.where(rng.random(len(stamps)) < 0.1, np.nan, stamps.astype(np.float64))
    elif kind == 11:
        stamps = np.array([f"2025-10-05T14:00:{n % 60:02d}" for n in range(len(stamps))])
        attrs.pop("units", None)
    elif kind == 12:
        stamps = rng.integers(-(2**63), 2**63 - 1, len(stamps))
    else:
        stamps = stamps.astype(np.float32)
    return raw.drop_vars("time").assign_coords(time=xr.Variable("time", stamps, attrs))


def _values(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    name = _any_name(raw, rng)
    if raw[name].dtype.kind == "f" and raw[name].ndim:
        values = raw[name].values.copy()
        values[rng.random(len(values)) < 0.2] = rng.choice([np.inf, -np.inf, 1e300, -9999.0, 5e-324, np.nan])
        raw[name] = raw[name].copy(data=values)
    return raw


def _huge(raw: xr.Dataset, rng: Rng) -> xr.Dataset:
    raw.attrs["__huge"] = int(rng.choice([10**7, 10**9, 10**12]))  # made by `write_edited`: it cannot be held in memory
    return raw


EDITS: tuple[Edit, ...] = (_rename, _rename_dimension, _drop, _retype, _retype, _reshape, _reshape, _global_attribute,
                           _global_attribute, _variable_attribute, _variable_attribute, _units, _time, _time, _time,
                           _values, _huge)  # fmt: skip


def write_edited(raw: xr.Dataset, path: Path, rng: Rng) -> bool:
    """Write the dataset with one or two edits; False where the library refuses to write such a file."""
    edited = raw.copy()
    for variable in edited.variables.values():
        variable.attrs = dict(variable.attrs)
    try:
        for _ in range(int(rng.integers(1, 3))):
            edited = EDITS[int(rng.integers(len(EDITS)))](edited, rng)
        size = edited.attrs.pop("__huge", None)
        edited.to_netcdf(path, engine="netcdf4")
        if size is not None:
            with netCDF4.Dataset(path, "a") as file:
                file.createDimension("huge", size)
                file.createVariable("air_pressure_2" if size < 10**9 else "huge", "f8", ("huge",), zlib=True)
    except Exception:  # noqa: BLE001 - whatever the library does not write is no file to read
        return False
    return True


# ── the child that reads ──


def verdict(path: Path, *, is_foreign: bool, deep: bool) -> tuple[str, str]:
    """How the file was dealt with, and a line about it."""
    try:
        flight = read_flight(path, SUITE if is_foreign else None)
        if deep and flight.nbytes < 10_000_000:
            prepare(flight)
            write_flight(flight, path.with_suffix(".out.csv"))
            write_flight(flight, path.with_suffix(".out.nc"))
    except Pc2daeError as error:
        return ("refused" if "\n" not in str(error) else "several lines"), str(error)
    except MemoryError:
        return "no memory", ""
    except Exception:  # noqa: BLE001 - that is what is looked for
        return "internal error", traceback.format_exc(limit=-6)
    try:
        difference = differing(flight, path)
    except Exception:  # noqa: BLE001 - a reading of xarray that cannot be compared has to be looked at
        difference = traceback.format_exc(limit=-4)
    return ("other data", difference) if difference else ("read", "")


def differing(flight: xr.Dataset, path: Path) -> str:
    """What a flight has that xarray's reading of the file does not have, beyond what the flight's history says."""
    with netCDF4.Dataset(path) as file:  # of a file of another origin only what a suite names is looked at
        unused = [name for name in file.variables if name not in flight.variables and name != "BC"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = xr.load_dataset(path, engine="netcdf4", decode_timedelta=False, drop_variables=unused)
    stamps, history = known["time"].values.astype("datetime64[ns]"), flight.attrs.get("history", "")
    is_moved = " put on a grid " in history
    if not is_moved and not np.array_equal(flight["time"].values, stamps):
        return "time"
    for name in map(str, flight.variables):
        theirs = known.get("BC" if name == "bc" and "BC" in known else name)
        if name == "time" or theirs is None or theirs.dims != ("time",) or theirs.dtype.kind not in "fiu":
            continue
        units = str(theirs.attrs.get("units", ""))
        is_converted = f"{name} converted from {units} " in history
        if any(f"{name} around " in line or f"{name}: " in line for line in history.splitlines()):
            continue  # put right by its range, or sentinels taken out
        expected = theirs.values.astype(np.float64) * (FACTORS[units] if is_converted else 1.0)
        expected = expected - 273.15 if is_converted and units == "K" else expected
        if name.startswith("qc_"):
            expected = np.where(np.isnan(expected), 1, expected)
        found = flight[name].values
        if is_moved and name.startswith("qc_"):
            continue
        is_same = _is_among(found, expected) if is_moved else np.allclose(found, expected, 1e-12, 0, equal_nan=True)
        if not is_same:
            return f"{name}: {found[:5]} instead of {expected[:5]}"
    return ""


def _is_among(cells: np.ndarray, rows: np.ndarray) -> bool:
    """Whether cells hold the rows' values in order or, where there are fewer of them, lie among them."""
    found, expected = cells[np.isfinite(cells)], rows[np.isfinite(rows)]
    if len(found) >= len(expected):
        return bool(np.array_equal(found, expected))
    return bool(len(found) and expected.min() <= found.min() and found.max() <= expected.max())


def work() -> None:
    """Read the files named on standard input, one answer a line."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for line in sys.stdin:
        task = json.loads(line)
        answer = verdict(Path(task["path"]), is_foreign=task["foreign"], deep=task["deep"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


class Reader:
    """The child process, started anew after a crash or a hang."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None

    def read(self, path: Path, *, is_foreign: bool, deep: bool) -> tuple[str, str]:
        """The verdict on one file."""
        if self.child is None:
            self.child = subprocess.Popen([sys.executable, __file__, "--worker"], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, text=True)  # fmt: skip
            self.read(path.parent / "none.nc", is_foreign=False, deep=False)  # its start does not count
        assert self.child is not None
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(json.dumps({"path": str(path), "foreign": is_foreign, "deep": deep}) + "\n")
        self.child.stdin.flush()
        is_starting = path.name == "none.nc"
        ready, _, _ = select.select([self.child.stdout], [], [], 60.0 if is_starting else TIMEOUT_S)
        answer = self.child.stdout.readline() if ready else ""
        if answer:
            what, why = json.loads(answer)
            return what, why
        self.stop()
        return ("crash" if ready else "hang"), ""

    def stop(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None


def cases(folder: Path, files: int, seed: int) -> Iterator[tuple[Path, bool]]:
    """So many files, each there until the next is asked for; and whether it is one that needs a suite."""
    rng = np.random.default_rng(seed)
    own, foreign = folder / "own.nc", folder / "foreign.nc"
    write_flight(make_flight(), own)
    stranger = make_flight().drop_vars([*(f"qc_{name}" for name in SUITE.names), "row_index", "row_time"])
    stranger.drop_attrs(deep=False).rename({"bc": "BC"}).to_netcdf(foreign)
    stored = [(xr.load_dataset(place, decode_cf=False), place.read_bytes()) for place in (own, foreign)]
    number = 0
    while number < files:
        path = folder / f"{rng.integers(1 << 60)}.nc"
        raw, data = stored[number % 6 in (2, 5)]
        if number % 2:
            path.write_bytes(damaged(data, rng))
        elif not write_edited(raw, path, rng):
            continue
        yield path, number % 6 in (2, 5)
        number += 1
        for used in folder.glob(f"{path.stem}*"):
            used.unlink()


def fuzz(files: int, seed: int, *, keep: Path | None = None) -> Counter[str]:
    """Verdicts on so many files; what is not good is kept in `keep` and printed."""
    found: Counter[str] = Counter()
    reader = Reader()
    with tempfile.TemporaryDirectory() as folder:
        for number, (path, is_foreign) in enumerate(cases(Path(folder), files, seed)):
            what, why = reader.read(path, is_foreign=is_foreign, deep=number % 10 < 2)
            found[what] += 1
            if number % 500 == 499:
                print(f"{number + 1:,} files: {dict(found)}", flush=True)
            if what not in GOOD:
                print(f"--- file {number}: {what}\n{why}")
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{seed}-{number}-{what.replace(' ', '_')}.nc").write_bytes(path.read_bytes())
        reader.stop()
    return found


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the files that were not dealt with well")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work()
        return 0
    begun = time.perf_counter()
    found = fuzz(options.files, options.seed, keep=options.keep)
    spent = time.perf_counter() - begun
    print(f"{sum(found.values()):,} files in {spent:.0f} s, seed {options.seed}: {dict(found)}")
    return int(any(count for what, count in found.items() if what not in GOOD))


if __name__ == "__main__":
    raise SystemExit(main())
