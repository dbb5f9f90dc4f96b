"""One spelling for each unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.errors import SuiteError
from pc2dae.suite import canonical_units, conversion


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
        ("decimal degrees", "degrees_east", -105.5, -105.5),
    ],
)
def test_conversion(given: str, wanted: str, value: float, converted: float) -> None:
    factor, offset = conversion(given, wanted) or (0.0, 0.0)
    assert value * factor + offset == pytest.approx(converted, rel=1e-15)


def test_fahrenheit() -> None:
    factor, offset = conversion("degF", "degC") or (0.0, 0.0)
    assert [round(f * factor + offset, 6) for f in (32.0, 212.0)] == [0.0, 100.0]


@pytest.mark.parametrize("given", ["1", "", "ug m-3", "furlong", "K"])
def test_no_conversion_between_different_quantities(given: str) -> None:
    assert conversion(given, "ppm") is None
