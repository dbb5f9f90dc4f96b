"""Records beside a reference analyser: what a calibration says of them, and what it refuses."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from real_data import ABSENT, DATA, RECORDS, SUITES

import pc2dae
from pc2dae.arrays import Array
from pc2dae.calibration.calibrate import Colocation
from pc2dae.calibration.clocks import averages
from pc2dae.calibration.fit import rms
from pc2dae.calibration.intervals import Interval, fit_intervals
from pc2dae.calibration.pairs import Pairs
from pc2dae.colocation import colocate
from pc2dae.errors import CalibrationError

BOX = {"co_cell": "co_ref_ppm:ppm", "no2_cell": "no2_ref_ppb:ppb", "ox_cell": "o3_ref_ppb:ppb",
       "no_cell": "no_ref_ppb:ppb"}  # fmt: skip
ELT = ("03_27_23_BLUE_WHITE.daq", "03_27_23_BLUE_YELLOW.licor")
pytestmark = pytest.mark.skipif(not (DATA / "airsenseur_boxes").is_dir(), reason=ABSENT)


def box(name: str, pairs: dict[str, str] = BOX) -> Colocation:
    """A box beside its station, fitted before 24 January and scored from then on."""
    path = DATA / "airsenseur_boxes" / f"{name}.csv.gz"
    return colocate(path, path, pairs, suite=SUITES / "airsenseur.toml", test_from="2020-01-24")


@pytest.fixture(scope="module")
def elt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two slow NDIR sensors and the laser analyser beside them, as plain CSV."""
    logs = {r.file: r for r in RECORDS if r.folder == "elt_licor"}
    return tuple(logs[name].write(tmp_path_factory.mktemp("elt"), whole=True) for name in ELT)


def test_scores_are_of_the_estimate_before_its_bound() -> None:
    found = box("40458D")
    scores = {row["channel"]: row for row in found.calibration.scores}["no_cell"]
    error = found.estimate["no_cell"] - found.scored.air["no_cell"]
    assert scores["rmse"] == pytest.approx(rms(error))
    assert np.nanmin(found.estimate["no_cell"]) < -5  # ppb: its zero drifts down after the fit
    assert scores["rmse"] > scores["rmse_bounded"]


@pytest.mark.parametrize(
    ("cell", "others"),
    [
        ("co_cell", ()),
        ("no2_cell", ("temperature",)),
        ("no_cell", ("temperature",)),
        ("ox_cell", ("temperature", "no2_cell", "no_cell")),
    ],
)
def test_no_species_is_worse_than_a_plain_linear_fit(cell: str, others: tuple[str, ...]) -> None:
    """The best plain fits of the data's README, with the same inputs and days; one box stands for six."""
    found = box("406414")

    def design(pairs: Pairs) -> Array:
        columns = [pairs.terms[k] if k in pairs.terms else pairs.readings[k] for k in others]
        return np.stack([np.ones(len(pairs.time)), pairs.readings[cell], *columns], axis=1)

    x, y = design(found.pairs), found.pairs.air[cell]
    known = np.isfinite(x).all(axis=1) & np.isfinite(y)
    plain = design(found.scored) @ np.linalg.lstsq(x[known], y[known], rcond=None)[0] - found.scored.air[cell]
    score = {row["channel"]: row for row in found.calibration.scores}[cell]
    assert score["rmse"] <= 1.01 * rms(plain)
    assert abs(score["bias"]) < (0.7 if cell == "no_cell" else 0.5) * score["rmse"]  # the zero of NO drifts afterwards


@pytest.mark.parametrize(("one", "other"), list(combinations(BOX, 2)))
def test_swapped_columns_of_raw_cells_are_refused(one: str, other: str) -> None:
    with pytest.raises(CalibrationError, match=r"follows '\w+', and \w+ '\w+'; swap their columns in --pair"):
        box("40641B", BOX | {one: BOX[other], other: BOX[one]})


def test_a_unit_that_the_column_contradicts_is_refused() -> None:
    with pytest.raises(CalibrationError, match="--pair states ppb for 'co_ref_ppm', which is in ppm; write"):
        box("40641B", {"co_cell": "co_ref_ppm:ppb"})


@pytest.mark.parametrize(("start", "end"), [("19:26", "19:27"), ("19:24", "19:25")])
def test_rising_span_gas_is_fitted_or_refused(start: str, end: str) -> None:
    """560 ppm CO of 8 October reach the cell during their minute, 447 → 461 ppm; two minutes before they rise."""
    flight = pc2dae.open_flight(DATA / "fasmee_span_gas" / "ambient10082023.txt.gz")
    stated = [("18:55", "18:56", 35.0), ("19:09", "19:10:10", 250.0), (start, end, 560.0)]
    gas = [Interval(*(np.datetime64(f"2023-10-08T{t}", "ns") for t in times), "co", value, 0.02 * value)
           for *times, value in stated]  # fmt: skip
    if start == "19:24":
        with pytest.raises(CalibrationError, match=r"the reading still changes by \+1\.\d+ ppm per second at the end"):
            fit_intervals(flight, gas, {})
        return
    reading = fit_intervals(flight, gas, {}).plateaus["co"][-1].reading
    assert reading == pytest.approx(461.6, abs=0.3)  # what it reads in the 20 s after


def test_a_lag_that_nobody_stated_is_found_kept_and_undone(elt: tuple[Path, Path]) -> None:
    record, reference = elt
    raw = pc2dae.open_flight(record, suite=SUITES / "elt.toml")
    middle = raw["time"].values[raw.sizes["time"] // 2]
    found = colocate(record, reference, dict.fromkeys(("co2_a", "co2_b"), "CO2:ppm"), suite=SUITES / "elt.toml",
                     test_from=f"{np.datetime_as_string(middle, unit='s')}Z")  # fmt: skip
    found.calibration.write(file := record.with_suffix(".json"))
    # RMSE 16 and 17 ppm as long as the sensors count as fast; the data's README says τ ≈ 90 s with the chamber.
    assert all(row["rmse"] < 7 for row in found.calibration.scores)
    clean = pc2dae.denoise(raw, calibration=[file])
    laser = pc2dae.open_flight(reference, suite=SUITES / "li7810.toml")
    moved = raw["time"].values - np.timedelta64(round(found.pairs.offset_s), "s")
    air = averages(laser["time"].values, laser["co2"].values.astype(np.float64), moved, 5.0)
    puffs = (raw["time"].values >= middle) & (air > 570)
    without = found.calibration.model_copy(update={"channels": {
        n: c.model_copy(update={"response": None}) for n, c in found.calibration.channels.items()
    }})  # fmt: skip
    lagging = pc2dae.denoise(raw, calibration=[without])
    for name in ("co2_a", "co2_b"):
        assert 40 < clean[name].attrs["t90_s"] < 120
        assert clean[name].attrs["t90_source"] == "co-location"
        assert "t90_s" not in lagging[name].attrs
        error, before = (rms((x[name].values - air)[puffs]) for x in (clean, lagging))
        assert error < 0.75 * before
