"""Corrections from the physics of the instrument, on whole real records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from real_data import ABSENT, DATA, SUITES

import pc2dae
from pc2dae.flags import FILTER_LOADED, SATURATED
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.schema import suite_of
from pc2dae.ingestion import ingest
from pc2dae.plumes import survey
from pc2dae.suite import parse_suite


def real(path: str) -> Path:
    """A file of the real records."""
    if not (DATA / path).is_file():
        pytest.skip(ABSENT if not DATA.is_dir() else f"{path} is not in {DATA}")
    return DATA / path


def test_ndir_at_2900_m_reads_clean_air_and_span_gas() -> None:
    flight = pc2dae.open_flight(real("fasmee_span_gas/ambient10082023.txt.gz"))
    assert flight["co2_uncalibrated"].median() == pytest.approx(242, abs=1)
    assert flight["co2"].median() == pytest.approx(420, rel=0.02)
    assert np.nanmax(flight["co2"]) < 2400  # wrapped negative readings of 65,494 are missing
    span = flight["co2"].sel(time=slice("2023-10-08T18:55", "2023-10-08T18:56"))  # 1,000 ppm, the reading is 566
    assert span.median() == pytest.approx(1000, rel=0.05)


def test_a_denoised_flight_in_other_units_has_the_same_ratios(tmp_path: Path) -> None:
    """Before, three of five variables of CO were converted: ΔCO/ΔCO₂ 0.0333 became 0.0325."""
    flight = pc2dae.open_flight(real("konza_uav_burn/kolibri/1D.csv"), suite=SUITES / "kolibri.toml")
    clean = pc2dae.denoise(flight)
    write_flight(clean, tmp_path / "clean.nc")
    co = suite_of(clean)["co"]
    limits = {key: 1000 * value for key in ("valid_min", "valid_max") if (value := getattr(co, key)) is not None}
    gas, *others = suite_of(clean).family
    channels = tuple(c.model_copy(update={"units": "ppb"} | limits) if c.name == "co" else c for c in gas.channel)
    in_ppb = suite_of(clean).model_copy(update={"family": (gas.model_copy(update={"channel": channels}), *others)})
    ppm, ppb = (survey(read_flight(tmp_path / "clean.nc", suite=suite)) for suite in (None, in_ppb))
    assert len(ppm.encounters) == len(ppb.encounters) > 0
    for key in ("value", "sigma"):
        np.testing.assert_allclose(ppb.ratios[key], ppm.ratios[key], rtol=1e-6)


@pytest.mark.parametrize("profile", ["flight", "live"])
def test_particles_beyond_the_range_are_lower_limits_and_zeros_are_zeros(profile: str) -> None:
    flight = pc2dae.open_flight(real("konza_uav_burn/greenbox/20240408_smoke1.txt"))
    clean = pc2dae.denoise(flight, profile=profile)
    top = int(np.nanargmax(clean["pm25_raw"].values))
    assert clean["pm25_raw"].values[top] == 2137  # range 1,000
    assert clean["pm25"].values[top] >= 2137
    assert clean["pm25_uncertainty"].values[top] >= 1137
    assert clean["qc_pm25"].values[top] == SATURATED
    for name in ("pm1", "pm25", "pm10"):  # the front of a plume was filled in up to 266 ug m-3 over zeros
        assert np.nanmax(clean[name].values[clean[f"{name}_raw"].values == 0]) < 10


def test_a_damaged_row_is_not_a_lower_limit() -> None:
    clean = pc2dae.denoise(pc2dae.open_flight(real("fasmee_span_gas/100923_morning_Ambient.txt.gz")))
    assert np.nanmax(clean["pm10_raw"].values) == 16973  # PM2.5 is 2 at most
    assert np.nanmax(clean["pm10"].values) < 10


def test_a_spent_filter_is_flagged_and_corrected_when_asked() -> None:
    path = real("bengaluru_car/2019_09_16_h094851_KAN_AE51.csv")
    logged, report = ingest([path], zone="+05:30")
    spent = logged["ae51_atn"].values > 84
    np.testing.assert_array_equal((logged["qc_bc"].values & FILTER_LOADED) != 0, spent)
    assert "bc 16 % of samples" in "".join(report.notes)
    corrected, _ = ingest([path], zone="+05:30", correct_loading=True)
    np.testing.assert_array_equal(corrected["bc_uncalibrated"], logged["bc"])
    before, after = (flight["bc"].values[np.flatnonzero(logged["bc"].values)] for flight in (logged, corrected))
    factor = after / before
    assert np.nanmedian(factor[:500]) == 1
    assert np.nanmax(factor) == pytest.approx(2.35, abs=0.01)  # attenuation 106


def test_an_altitude_in_feet_and_a_height_above_ground_differ_by_the_ground() -> None:
    path = real("konza_uav_burn/kolibri/1D.csv")
    text = (Path(__file__).parent / "suites" / "kolibri.toml").read_text()
    above = {}
    for column, name in (("Alt_MSL_ft", "altitude"), ("Alt_AGL_m", "height")):
        suite = parse_suite(text.replace("Alt_AGL_m", column), where="kolibri.toml")
        altitude = pc2dae.open_flight(path, suite=suite)["altitude"]
        assert altitude.attrs["standard_name"] == name
        above[name] = altitude.values
    np.testing.assert_allclose(above["altitude"] - above["height"], 440.0, atol=1e-3)
