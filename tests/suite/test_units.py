"""One spelling for each unit."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.errors import SuiteError
from pc2dae.suite import canonical_units, conversion
from pc2dae.suite.units import contradiction


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ppb", "ppb"),
        ("µg/m³", "ug m-3"),  # micro sign
        ("μg m⁻³", "ug m-3"),  # Greek mu
        ("ug/m^3", "ug m-3"),
        ("ug m**-3", "ug m-3"),
        ("ng·m-3", "ng m-3"),
        ("umol/mol", "umol mol-1"),
        ("m/s", "m s-1"),
        ("°C", "degC"),
        (" % ", "%"),
        ("Mm-1", "Mm-1"),
        ("#/cm3", None),
        ("PPB", None),
        ("parts", None),
        ("", None),
        ("ppb ppx", None),
    ],
)
def test_spellings(written: str, meant: str | None) -> None:
    if meant is None:
        with pytest.raises(SuiteError, match="is not a unit"):
            canonical_units(written)
    else:
        assert canonical_units(written) == meant


@given(st.text(max_size=12))
def test_the_spelling_is_final(text: str) -> None:
    try:
        once = canonical_units(text)
    except SuiteError:
        return
    assert canonical_units(once) == once


@pytest.mark.parametrize(
    ("given", "wanted", "value", "converted"),
    [
        ("ppm", "ppb", 0.3, 300.0),
        ("ppbv", "ppm", 250.0, 0.25),
        ("nmol mol-1", "ppb", 7.0, 7.0),
        ("1e-9", "ppb", 7.0, 7.0),
        ("ng m-3", "ug/m3", 1234.0, 1.234),
        ("mg m-3", "ng m-3", 0.5, 500_000.0),
        ("K", "degC", 300.0, 26.85),
        ("Celsius", "K", 0.0, 273.15),
        ("Pa", "hPa", 101_325.0, 1013.25),
        ("kPa", "hPa", 101.325, 1013.25),
        ("mbar", "hPa", 1000.0, 1000.0),
        ("degs", "degrees_north", 52.5, 52.5),
        ("rad", "degrees_north", 1.0, 57.29577951308232),
        ("feet", "m", 1000.0, 304.8),
        ("knots", "m s-1", 36.0, 18.52),
        ("L min-1", "mL/min", 0.1, 100.0),
        ("Mm-1", "m-1", 7.0, 7e-6),
        ("decimal degrees", "degrees_east", -105.5, -105.5),
    ],
)
def test_conversion(given: str, wanted: str, value: float, converted: float) -> None:
    factor, offset = conversion(given, wanted) or (0.0, 0.0)
    assert value * factor + offset == pytest.approx(converted, rel=1e-15)


def test_fahrenheit() -> None:
    factor, offset = conversion("degF", "degC") or (0.0, 0.0)
    assert [round(f * factor + offset, 6) for f in (32.0, 212.0)] == [0.0, 100.0]


@pytest.mark.parametrize("given", ["1", "", "ug m-3", "furlong", "K", "degree", "9**9**9**9"])
def test_no_conversion_between_different_quantities(given: str) -> None:
    assert conversion(given, "ppm") is None


@pytest.mark.parametrize("given", ["1", "%", "count", "ppm"])
def test_numbers_without_a_dimension_are_no_angles(given: str) -> None:
    assert conversion(given, "degrees_north") is None


def test_powers_of_ten_are_exact() -> None:
    sizes = {"g m-3": 0, "mg m-3": 3, "ug m-3": 6, "ng m-3": 9, "pg m-3": 12}
    for here, a in sizes.items():
        for there, b in sizes.items():
            assert conversion(here, there) == (float(f"1e{b - a}"), 0.0)


def test_pint_is_imported_for_a_conversion_only() -> None:
    code = "import sys, pc2dae.suite as s; s.load_suite('black-kite'); s.conversion('ppmv', 'ppm'); "
    done = subprocess.run([sys.executable, "-c", code + "sys.exit('pint' in sys.modules)"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("name", "units", "hint"),
    [
        ("mole_fraction_of_carbon_monoxide_in_air", "ppbv", None),
        ("mole_fraction_of_carbon_monoxide_in_air", "1e-9", None),
        ("mass_concentration_of_pm2p5_ambient_aerosol_particles_in_air", "µg/m³", None),
        ("number_concentration_of_aerosol_particles_in_air", "cm-3", None),
        ("volume_absorption_coefficient_in_air_due_to_dried_aerosol_particles", "Mm-1", None),
        ("air_temperature", "ppb", None),  # only concentrations are checked
        (
            "mole_fraction_of_ozone_in_air",
            "ug m-3",
            "write mass_concentration_of_ozone_in_air, or units such as ppb",
        ),
        (
            "mass_concentration_of_ozone_in_air",
            "ppb",
            "write mole_fraction_of_ozone_in_air, or units such as ug m-3",
        ),
        ("number_concentration_of_aerosol_particles_in_air", "mV", "write units such as cm-3"),
        ("volume_absorption_coefficient_in_air_due_to_dried_aerosol_particles", "ng m-3", "write units such as Mm-1"),
    ],
)
def test_a_standard_name_and_its_units(name: str, units: str, hint: str | None) -> None:
    assert contradiction(name, units) == hint
