"""Duplicate sensors: disagreement, widened uncertainty, and one variable per species."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.flags import BELOW_DETECTION, MISSING
from pc2dae.flight.schema import check_flight, new_flight
from pc2dae.flight.store import read_flight, write_flight
from pc2dae.plumes.combined import WARNINGS, species_in, warnings_of, with_species, without_species
from pc2dae.plumes.duplicates import between, groups
from pc2dae.suite import Suite
from suites import make_suite

SIZE = 900
PLUME = np.exp(-0.5 * ((np.arange(SIZE) - 450) / 10.0) ** 2)
TIME = np.datetime64("2026-05-01T10:00:00", "ns") + np.arange(SIZE) * np.timedelta64(1, "s")


def suite_of_two(units: str = "ppb", *, first: str = "o3_a", second: str = "o3_b", slow_t90_s: float = 2.0) -> Suite:
    fast, slow = {"units": units, "t90_s": 2.0}, {"units": units, "t90_s": slow_t90_s, "duplicate_of": first}
    return make_suite({"gas": {first: fast, second: slow}})


def denoised(
    suite: Suite, *air: np.ndarray, sigma: float | None = 0.5, noise: tuple[float, float] = (1.0, 1.0)
) -> xr.Dataset:
    rng = np.random.default_rng(7)
    values: dict[str, np.ndarray] = {}
    for name, x, level in zip(suite.names, air, noise, strict=True):
        values |= {name: np.maximum(x, 0), f"{name}_raw": x + rng.normal(0, level, SIZE), f"{name}_unbounded": x}
        if sigma is not None:
            values[f"{name}_uncertainty"] = np.full(SIZE, sigma)
    flight = new_flight(TIME, values, suite, level="denoised")
    for name in suite.names:
        flight[name].attrs |= {"target": "ambient", "effective_resolution_s": 2.0}
        for beside in (n for n in flight if str(n).startswith(f"{name}_")):
            flight[beside].attrs |= {"units": suite[name].units, "error_correlation_s": 4.0}
    return flight


def test_two_sensors_that_differ_by_twenty() -> None:
    # D = 20, stated variances 8 + 8: tau² = (400 − 16)/2, so that 16 + 2·tau² = D².
    found = between(np.array([40.0, 60.0]), np.array([8.0, 8.0]))
    assert (found.size, found.uncertainty, found.between**2) == pytest.approx((20.0, 4.0, 192.0))


def test_a_difference_within_two_standard_uncertainties_is_none() -> None:
    assert between(np.array([40.0, 47.9]), np.array([8.0, 8.0])).between == 0


def test_a_difference_that_drifts_through_zero_is_seen() -> None:
    drift = np.linspace(-30, 30, 101)
    assert between(np.stack([0 * drift, drift]), np.array([1.0, 1.0])).size == pytest.approx(np.sqrt(np.mean(drift**2)))


def test_groups_follow_chains_and_leave_out_other_units_and_differences() -> None:
    suite = make_suite(
        {
            "gas": {
                "a": "ppb",
                "b": {"units": "ppb", "duplicate_of": "a"},
                "c": {"units": "ppb", "duplicate_of": "b"},
                "d": {"units": "ppm", "duplicate_of": "a"},
                "e": {"units": "ppb", "duplicate_of": "a", "difference_of": ("a", "b")},
            }
        }
    )
    assert groups(suite) == [("a", "b", "c")]


def test_an_offset_is_named_and_widens_both() -> None:
    clean = with_species(denoised(suite_of_two(), 40 + 30 * PLUME, 60 + 30 * PLUME))
    (line,) = clean.attrs[WARNINGS].splitlines()
    assert line.startswith("o3_a and o3_b differ by 20 ppb in clean air (stated uncertainty 0.")
    assert line.endswith("uncertainty of each widened by 14 ppb")
    for name in ("o3_a", "o3_b"):
        assert clean[f"{name}_systematic_uncertainty"].values == pytest.approx(20 / np.sqrt(2), rel=0.01)
        assert clean[f"{name}_random_uncertainty"].values == pytest.approx(0.5)
        assert clean[f"{name}_uncertainty"].values == pytest.approx(np.hypot(20 / np.sqrt(2), 0.5), rel=0.01)
        assert "differ by 20 ppb" in clean[name].attrs["disagreement"]
    assert warnings_of(clean) == [line]


def test_a_gain_widens_the_plume_and_not_clean_air() -> None:
    clean = with_species(denoised(suite_of_two(), 40 + 300 * PLUME, 40 + 360 * PLUME))
    assert "differ by 20 % in plumes" in clean.attrs[WARNINGS]
    assert clean["o3_a_uncertainty"].values[100] == pytest.approx(0.5)
    assert clean["o3_a_uncertainty"].values[450] == pytest.approx(300 * np.log(1.2) / np.sqrt(2), rel=0.03)


def test_sensors_that_agree_are_combined_without_a_word() -> None:
    clean = with_species(denoised(suite_of_two(), 40 + 30 * PLUME, 40.1 + 30 * PLUME))
    assert WARNINGS not in clean.attrs
    assert clean["o3"].values == pytest.approx(40.05 + 30 * PLUME)
    assert clean["o3_uncertainty"].values == pytest.approx(0.5 / np.sqrt(2))
    assert clean["o3"].attrs["combined_from"] == "o3_a 0.500, o3_b 0.500"
    assert clean["o3"].attrs["units"] == "ppb"


def test_faint_smoke_is_not_clean_air_of_the_noisy_sensor() -> None:
    smoke = 40 + 300 * PLUME + 20 * (np.abs(np.arange(SIZE) - 450) < 150)  # the haze is below 3 σ of the second sensor
    assert WARNINGS not in with_species(denoised(suite_of_two(), smoke, smoke, noise=(1.0, 20.0))).attrs


def test_without_uncertainty_the_disagreement_is_named_only() -> None:
    clean = with_species(denoised(suite_of_two(), 40 + 30 * PLUME, 60 + 30 * PLUME, sigma=None))
    assert "differ by 20 ppb" in clean.attrs[WARNINGS]
    assert "widened" not in clean.attrs[WARNINGS]
    assert not [name for name in clean if str(name).endswith("uncertainty")]
    assert clean["o3"].values[10] == pytest.approx(50.0, abs=0.5)


def test_a_gap_of_one_sensor_makes_no_step() -> None:
    first, second = 40 + 0 * PLUME, 60 + 0 * PLUME
    second[200:300] = np.nan
    clean = with_species(denoised(suite_of_two(), first, second))
    assert np.ptp(clean["o3"].values) < 0.5


def test_a_slow_sensor_is_compared_but_not_combined() -> None:
    suite = suite_of_two("ppm", first="co2_li830", second="co2_scd30", slow_t90_s=46.0)
    clean = with_species(denoised(suite, 420 + 30 * PLUME, 405 + 20 * PLUME))
    assert clean["co2"].values == pytest.approx(420 + 30 * PLUME)
    assert clean["co2"].attrs["combined_from"] == "co2_li830 1.000"
    assert "differ by 15 ppm" in clean.attrs[WARNINGS]
    assert clean["co2_uncertainty"].values[10] == pytest.approx(15 / np.sqrt(2), rel=0.01)


def test_flags_of_a_species_are_of_the_sensors_that_measured() -> None:
    flight = denoised(suite_of_two(), 40 + 0 * PLUME, 40 + 0 * PLUME)
    flight["qc_o3_a"][:3] = [MISSING, MISSING, BELOW_DETECTION]
    flight["qc_o3_b"][:3] = [0, MISSING, 0]
    assert with_species(flight)["qc_o3"].values[:4].tolist() == [0, MISSING, BELOW_DETECTION, 0]


def test_a_name_that_is_taken_stays_as_it_is() -> None:
    suite = suite_of_two("ppm", first="co2", second="co2_2")
    clean = with_species(denoised(suite, 420 + 0 * PLUME, 420 + 0 * PLUME))
    assert species_in(clean) == []


@pytest.mark.parametrize("suffix", ["nc", "zarr", "ict"])
def test_a_species_survives_its_file_and_is_no_channel(tmp_path: Path, suffix: str) -> None:
    clean = with_species(denoised(suite_of_two(), 40 + 30 * PLUME, 60 + 30 * PLUME))
    write_flight(clean, tmp_path / f"clean.{suffix}")
    back = read_flight(tmp_path / f"clean.{suffix}")
    assert check_flight(back).names == ("o3_a", "o3_b")
    assert species_in(back) == ["o3"]
    assert back["o3_uncertainty"].values == pytest.approx(clean["o3_uncertainty"].values)
    assert back["qc_o3"].dtype == np.int32
    assert warnings_of(back) == warnings_of(clean)
    assert not {"o3", "qc_o3", "o3_uncertainty", "o3_systematic_uncertainty"} & set(without_species(back))


@pytest.mark.parametrize(
    ("name", "units", "level", "line"),
    [
        (
            "co2_ndir",
            "ppm",
            337.0,
            "clean air reads implausible: co2_ndir 337 ppm (outdoor air: 380 to 600):",
        ),
        (
            "co2_ndir",
            "ppm",
            720.0,
            "clean air reads implausible: co2_ndir 720 ppm (outdoor air: 380 to 600):",
        ),
        ("co_cell", "ppm", 1.9, "clean air reads implausible: co_cell 1.9 ppm (outdoor air: 0.035 to 1): calibrate"),
        ("no2_cell", "ppb", -9.0, "clean air reads below zero: no2_cell -9 ppb: calibrate"),
    ],
)
def test_implausible_clean_air_is_named(name: str, units: str, level: float, line: str) -> None:
    suite = make_suite({"gas": {name: units}})
    noise = np.random.default_rng(3).normal(0, 0.005 * abs(level), SIZE)
    (said,) = warnings_of(new_flight(TIME, {name: level + noise}, suite, level="compensated"))
    assert said.startswith(line)


def test_many_faults_are_named_in_three_lines() -> None:
    levels = {"no_a": 14.0, "no_b": 60.0, "o3_a": 40.0, "o3_b": 70.0, "co2_a": 720.0, "co_a": 5000.0, "so2_a": -9.0}
    twins = {"no_b": "no_a", "o3_b": "o3_a"}
    suite = make_suite({"gas": {n: {"units": "ppm" if n == "co2_a" else "ppb", "duplicate_of": twins.get(n)}
                                for n in levels}})  # fmt: skip
    rng = np.random.default_rng(3)
    flight = new_flight(TIME, {n: x + rng.normal(0, 0.5, SIZE) for n, x in levels.items()}, suite, level="compensated")
    pairs, strange, negative = warnings_of(flight)
    assert pairs.startswith("sensors of one species differ: no_a, no_b by 46 ppb in clean air (stated uncertainty 0.")
    assert "; o3_a, o3_b by 30 ppb in clean air" in pairs
    assert "co2_a 720 ppm (outdoor air: 380 to 600), co_a 5000 ppb (outdoor air: 35 to 1000): calibrate" in strange
    assert negative.startswith("clean air reads below zero: so2_a -9 ppb: calibrate")


def test_outdoor_air_is_not_named() -> None:
    suite = suite_of_two("ppm", first="co2_a", second="co2_b")
    noise = np.random.default_rng(3).normal(0, 1.0, (2, SIZE))
    flight = new_flight(TIME, dict(zip(suite.names, 421.0 + noise, strict=True)), suite, level="compensated")
    assert warnings_of(flight) == []
