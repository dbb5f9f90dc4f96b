"""Whether emission ratios and factors are as uncertain as they state: z = (value − truth)/σ over simulated flights.

    python benchmarks/ratio_uncertainty.py --flights 20 --seed 32000

Each flight has a payload of its own, is written as instrument files, ingested and denoised as a user would, once as it
is and once with the gain of every channel known to 3 %: divided by its true gain times 1 + δ, δ from a normal
distribution, and the same 3 % in its budget. The true ratio is that of the ambient excess over the same interval; that
of a slope is the regression of the ambient excess, which has no error, at the same resolution. Flights from seeds
31000, 41000 and 71000 on were used for development.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.ndimage import gaussian_filter1d

import pc2dae
from pc2dae.arrays import Array
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.calibration.budget import Budget
from pc2dae.flight.air import moles_per_m3
from pc2dae.flight.truth import truth_at
from pc2dae.plumes import RATIOS, Excess, Fuel, emission_factors, survey
from pc2dae.simulate import simulate_flight, write_flight_files
from pc2dae.simulate.payload import CROSS, FACTORY, ZERO_PPB

GAIN = 0.03  # relative standard uncertainty of a calibrated gain
DRIFT = 0.2  # of a cell's zero, relative to its usual error: slow wander 0.12, and 0.06 per degC
LI830_DRIFT_PPM = 0.3
FUEL = Fuel(0.5, 0.0, 0.0)  # its carbon is the same in both, and all of it is measured
TRUE = {
    "co": ["co_a"],
    "co2": ["co2_li830"],
    "bc": ["bc_ir_1"],
    "no": ["no_a"],
    "no2": ["no2_a"],
    "so2": ["so2_a"],
    "nox": ["no_a", "no2_a"],
    "pm25": ["pm25_1"],
}  # channels of the truth
CALIBRATED = [f"{gas}_{unit}" for gas in ("co", "no", "no2", "o3") for unit in "ab"]
CALIBRATED += ["bc_ir_1", "bc_ir_2", "co2_li830"]
COLUMNS = ["gains", "scope", "ratio", "method", "z", "error", "sigma"]  # error and sigma relative to the true ratio
Row = tuple[str, str, str, str, float, float, float]


def calibrated(flight: xr.Dataset, truth: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
    """The flight with true gains up to a random error, and the budget that says so."""
    done = flight.copy()
    for name in CALIBRATED:
        gas, _, unit = name.partition("_")
        cross = {f"{other}_{unit}": share for other, share in CROSS.get(gas, {}).items()}
        drift = DRIFT * ZERO_PPB[gas] if gas in ZERO_PPB else LI830_DRIFT_PPM if gas == "co2" else 0.0
        done[name] = flight[name] / (true_gain(flight, truth, name) * (1 + GAIN * rng.standard_normal()))
        done[name].attrs = flight[name].attrs | Budget(0.0, drift, GAIN, cross=cross).attributes()
    return done


def true_gain(flight: xr.Dataset, truth: xr.Dataset, name: str) -> Any:
    """Reading per unit of gas: ageing of a cell; 1 − k·attenuation of a loaded filter; 1 for the LI-830."""
    facts, (gas, _, unit) = json.loads(truth.attrs["facts"]), name.partition("_")
    if gas == "bc":
        attenuation = flight[f"ma200_ir_atn{name[-1]}"].interpolate_na("time", fill_value="extrapolate")
        return 1 - facts["ma200"]["loading_k"] * attenuation
    if gas == "co2":
        return 1.0
    sheets = json.loads(flight.attrs["calibration"])[f"afe/{unit}"], facts[f"afe/{unit}"]["true_calibration"]
    stated, true = (
        next(s["we_sensitivity_mv_ppb"] for s in sheet["sensors"] if s["sensor_type"] == FACTORY[gas][0])
        for sheet in sheets
    )
    return true / stated


def true_excess(truth: xr.Dataset) -> dict[str, Array]:
    """Ambient excess of each species, gases in ppb, particles as measured."""
    ambient = {s: sum(truth[f"{n}_ambient"].values - truth[f"{n}_background"].values for n in names)
               for s, names in TRUE.items()}  # fmt: skip
    return {s: np.asarray(values * (1000.0 if s == "co2" else 1.0)) for s, values in ambient.items()}


def rows_of(clean: xr.Dataset, truth: xr.Dataset, gains: str) -> Iterator[Row]:
    """One row for each ratio and emission factor of each encounter and of the flight."""
    found, true = survey(clean, fuel=FUEL), true_excess(truth_at(truth, clean))
    air = moles_per_m3(clean["air_temperature"].values, clean["air_pressure"].values)
    scopes = {"flight": list(found.intervals)} | {f"encounter {i}": [p] for i, p in enumerate(found.intervals, 1)}
    for scope, parts in scopes.items():
        index = np.concatenate([np.arange(*part) for part in parts]) if parts else np.arange(0)
        sums = {s: float(np.nansum(x[index])) for s, x in true.items()}
        mass = {"bc": 1.0 / air, "pm25": 1000.0 / air}  # to ng per mole of air
        per_mole = {s: Excess(float(np.nansum((x * mass.get(s, 1.0))[index])), 0.0) for s, x in true.items()}
        is_smoke = sums["co"] > 0 and sums["co2"] > 0  # not in a false encounter, which has no true ratio
        wanted = {("mce", "integral"): sums["co2"] / (sums["co"] + sums["co2"])} if is_smoke else {}
        for name, (above, below) in RATIOS.items():
            if is_smoke and above in true and below in true:
                wanted[name, "integral"] = sums[above] / sums[below]
                at = next((r["resolution_s"] for r in found.ratios.to_dict("records") if r["ratio"] == name), 0.0)
                x, y = (gaussian_filter1d(true[s], at / np.sqrt(8 * np.log(2)))[index] for s in (below, above))
                wanted[name, "slope"] = float(np.polyfit(x, y, 1)[0])
        wanted |= {(s, "carbon balance"): f.value for s, f in emission_factors(per_mole, FUEL).items()}
        rows = [(r["ratio"], r["method"], r) for r in found.ratios.to_dict("records")]
        rows += [(r["species"], "carbon balance", r) for r in found.emission_factors.to_dict("records")]
        for name, method, row in rows:
            if row["scope"] == scope and (name, method) in wanted:
                aim = wanted[name, method]
                error = row["value"] - aim
                yield gains, scope.split()[0], name, method, error / row["sigma"], error / aim, row["sigma"] / aim


def fly(seed: int) -> list[Row]:
    """Rows of one simulated flight, uncalibrated and calibrated."""
    flown = simulate_flight(seed)
    with tempfile.TemporaryDirectory() as folder:
        flight = pc2dae.open_flight(write_flight_files(flown, folder))
    known = calibrated(flight, flown.truth, np.random.default_rng([seed, 1]))
    cases = {"as they are": flight, "known to 3 %": known}
    return [row for gains, case in cases.items() for row in rows_of(pc2dae.denoise(case), flown.truth, gains)]


def table(rows: pd.DataFrame, scope: str, title: str) -> ResultTable:
    """How z is distributed for each ratio and method of one scope."""
    cells = []
    for (gains, ratio, method), group in rows[rows["scope"] == scope].groupby(["gains", "ratio", "method"]):
        z, error = group["z"].to_numpy(float), 100 * group["error"].to_numpy(float)
        figures = [(100 * np.mean(np.abs(z) < 2), 0), (np.sqrt(np.mean(z**2)), 2), (np.mean(error), 1)]
        figures += [(np.sqrt(np.mean(error**2)), 1), (100 * group["sigma"].median(), 1)]
        numbers = [Cell(float(figure), digits=digits) for figure, digits in figures]
        cells.append([*(Cell(str(text)) for text in (gains, ratio, method, len(z))), *numbers])
    head = ["gains", "ratio", "by", "n", "abs(z) < 2 [%]", "rms z", "mean error [%]", "rms error [%]", "stated [%]"]
    return ResultTable(title, head, cells)


def main() -> None:
    """Print one table for encounters and one for whole flights, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, default=20)
    parser.add_argument("--seed", type=int, default=32000, help="of the first flight")
    options = parser.parse_args()
    rows = pd.DataFrame([r for i in range(options.flights) for r in fly(options.seed + i)], columns=COLUMNS)
    for scope in ("encounter", "flight"):
        title = f"Ratios of {scope}s, {options.flights} flights from seed {options.seed}"
        print(table(rows, scope, title).markdown())


if __name__ == "__main__":
    main()
