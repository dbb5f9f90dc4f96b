"""Truth file: ambient concentrations, readings without noise and without lag, and injected faults."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Bits
from pc2dae.atomic import write_bytes
from pc2dae.flags import FLAGS
from pc2dae.flight.netcdf import dataset_bytes
from pc2dae.simulate.aethalometer import CHANNELS as BC_CHANNELS
from pc2dae.simulate.aethalometer import LAMPS, absorbing
from pc2dae.simulate.atmosphere import GROUND_M, Air
from pc2dae.simulate.path import Path, latitude_longitude
from pc2dae.simulate.plan import FlightPlan
from pc2dae.simulate.plumes import Smoke
from pc2dae.simulate.record import InstrumentRecord
from pc2dae.suite import load_suite

ENCOUNTER_CO_PPB = 30.0  # three sigma of a CO cell
ENCOUNTER_SHARE = 0.05  # relative to the range of the flight
ENCOUNTER_S = 3


def make_truth(plan: FlightPlan, path: Path, air: Air, smoke: Smoke, records: Sequence[InstrumentRecord]) -> xr.Dataset:
    """Assemble the truth of a simulated flight on its true time grid (UTC), for the channels in `records`."""
    suite = load_suite("black-kite")
    time = plan.start.astype("datetime64[ns]") + np.arange(plan.samples) * np.timedelta64(1, "s").astype(
        "timedelta64[ns]"
    )
    # Into one dataset at the end: adding to it takes much longer.
    series: dict[str, tuple[str, Array | Bits, dict[str, Any]]] = {}
    response = {name: values for record in records for name, values in record.response.items()}
    faults = {name: bits for record in records for name, bits in record.faults.items()}
    instant = {name: values for record in records for name, values in record.instant.items()}
    for spot in (1, 2) if "bc_uv_1" in response else ():
        for known in (response, instant):
            known[f"brc_{spot}"] = known[f"bc_uv_{spot}"] - known[f"bc_ir_{spot}"]
        faults[f"brc_{spot}"] = faults[f"bc_uv_{spot}"] | faults[f"bc_ir_{spot}"]
    for channel in (c for c in suite.channels if c.name in response):
        name, units = channel.name, {"units": channel.units}
        ambient, clean = (air.second_means(_ambient(name, known)) for known in (smoke.species, smoke.background))
        for kind, values, words in (
            ("ambient", ambient, "mean ambient concentration"),
            ("background", clean, "ambient concentration without fresh plumes"),
            ("response", response[name], "reading without random noise"),
            ("instant", instant[name], "reading without random noise and without lag"),
        ):
            series[f"{name}_{kind}"] = ("time", values, units | {"long_name": f"{name}: {words}"})
        flags = {"flag_masks": np.array(list(FLAGS.values()), np.int32), "flag_meanings": " ".join(FLAGS), "units": "1"}
        series[f"{name}_fault"] = ("time", faults[name], flags | {"long_name": f"{name}: injected faults"})
    latitude, longitude = latitude_longitude(path, plan)
    for name, values, unit in (
        ("air_temperature", air.temperature, "degC"),
        ("relative_humidity", air.humidity, "%"),
        ("air_pressure", air.pressure, "hPa"),
        ("latitude", latitude, "degrees_north"),
        ("longitude", longitude, "degrees_east"),
        ("altitude", path.z + GROUND_M, "m"),
        ("ground_speed", path.speed, "m s-1"),
        ("excess_carbon", smoke.carbon, "ppm"),
        ("flaming_share", smoke.flaming, "1"),
    ):
        series[name] = ("time", air.second_means(values), {"units": unit})
    coordinate = ("time", time, {"standard_name": "time", "long_name": "true time, UTC", "axis": "T"})
    truth = xr.Dataset(series, {"time": coordinate})
    encounters = _encounters(truth) if smoke.carbon.any() else []
    truth.attrs = _attributes(plan, air, smoke, records, encounters)
    if plan.zero_check_s:
        truth.attrs["zero_checks"] = json.dumps(
            [[0, plan.zero_check_s], [plan.samples - plan.zero_check_s, plan.samples]]
        )
    return truth


def write_truth(truth: xr.Dataset, path: str | PathLike[str]) -> None:
    """Write the truth file atomically and reproducibly."""
    encoding: dict[str, dict[str, Any]] = {str(n): {"zlib": True, "complevel": 1} for n in truth.data_vars}
    encoding["time"] = {"units": "seconds since 1970-01-01T00:00:00Z", "dtype": "int64", "_FillValue": None}
    write_bytes(path, dataset_bytes(truth, encoding=encoding))


def _ambient(name: str, species: dict[str, Array]) -> Array:
    """Ambient concentration measured by channel `name`, from the species in the air."""
    if name in BC_CHANNELS:
        return absorbing(species["bc"], species["angstrom"], LAMPS[BC_CHANNELS[name][0]][0])
    if name.startswith("brc"):
        return absorbing(species["bc"], species["angstrom"], LAMPS["uv"][0]) - species["bc"]
    return species[name.split("_")[0]]


def _encounters(truth: xr.Dataset) -> list[dict[str, float]]:
    """Intervals with CO above background + max(30 ppb, 5 % of its range) for at least 3 s, with their true ratios."""
    excess = {
        n: (truth[f"{n}_ambient"] - truth[f"{n}_background"]).values for n in ("co_a", "co2_li830", "bc_ir_1", "pm25_1")
    }
    inside = excess["co_a"] > max(ENCOUNTER_CO_PPB, ENCOUNTER_SHARE * float(np.ptp(excess["co_a"])))
    edges = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0))
    out = []
    for begin, end in edges.reshape(-1, 2).tolist():
        if end - begin < ENCOUNTER_S:
            continue
        phase = np.average(truth["flaming_share"].values[begin:end], weights=excess["co_a"][begin:end])
        sums = {n: float(values[begin:end].sum()) for n, values in excess.items()}
        carbon = sums["co_a"] / 1000.0 + sums["co2_li830"]
        out.append({
            "start_s": begin,
            "end_s": end,
            "peak_co_ppb": float(excess["co_a"][begin:end].max()),
            "peak_bc_ng_m3": float(excess["bc_ir_1"][begin:end].max()),
            "bc_per_co_ng_m3_ppb": sums["bc_ir_1"] / sums["co_a"],
            "co_per_co2_ppb_ppm": sums["co_a"] / sums["co2_li830"],
            "mce": sums["co2_li830"] / carbon,
            "flaming_share": float(phase),
        })  # fmt: skip
    return out


def _attributes(
    plan: FlightPlan, air: Air, smoke: Smoke, records: Sequence[InstrumentRecord], encounters: list[dict[str, float]]
) -> dict[str, Any]:
    edges = smoke.edge_m
    facts = {record.stream.key: record.facts for record in records if record.facts}
    return {
        "title": f"truth of simulated flight {plan.number:03d}",
        "id": plan.name,
        "seed": plan.seed,
        "perfect_sheets": int(plan.perfect_sheets),
        "clock_offset_s": json.dumps({r.stream.key: r.clock.offset_s for r in records}),
        "clock_drift_ppm": json.dumps({r.stream.key: r.clock.drift_ppm for r in records}),
        "sampling_offset_s": json.dumps({r.stream.key: _sampling_offset_s(plan, r) for r in records}),
        "t90_s": json.dumps({name: t90 for r in records for name, t90 in r.t90_s.items()}),
        "facts": json.dumps(facts),
        "encounters": json.dumps(encounters),
        "wind_m_s": air.wind,
        "edge_width_m": json.dumps(
            [float(q) for q in np.quantile(edges, [0.05, 0.25, 0.5, 0.75, 0.95])] if len(edges) else []
        ),
        "comment": "clock_offset_s: instrument clock minus true time at the start; clock_drift_ppm: its drift;"
        " sampling_offset_s: mean time of its samples, and of <name>_response, after the centres of seconds",
    }


def _sampling_offset_s(plan: FlightPlan, record: InstrumentRecord) -> float:
    since = (record.stream.time - plan.start.astype("datetime64[ns]")).astype(np.int64) / 1e9 - record.clock.offset_s
    seconds = since / (1 + 1e-6 * record.clock.drift_ppm)
    return float(np.mean(seconds - np.floor(seconds)) - 0.5)
