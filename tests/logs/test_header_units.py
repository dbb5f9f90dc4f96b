from __future__ import annotations

import pytest

from pc2dae.logs.header_units import unit_in
from pc2dae.suite import conversion


@pytest.mark.parametrize(
    ("label", "units", "found"),
    [
        ("CO (ppm)", "ppb", "ppm"),
        ("CO_ppm", "ppb", "ppm"),
        ("CH4 ppm (SO)", "ppb", "ppm"),
        ("co_ref_ppbv", "ppm", "ppb"),
        ("BC [µg/m³]", "ng m-3", "ug m-3"),
        ("deltaCO2_mg.m3", "ug m-3", "mg m-3"),
        ("PM2.5 ug m-3", "ug m-3", "ug m-3"),
        ("CO ug/m3", "ppb", "ug m-3"),
        ("T_F", "degC", "degF"),
        ("Temp (°F)", "degC", "degF"),
        ("t_box_degC", "degC", "degC"),
        ("air_temp [K]", "degC", "K"),
        ("Pressure [inHg]", "hPa", "inHg"),
        ("P_mbar", "hPa", "hPa"),
        ("pressure.Pa", "hPa", "Pa"),
        ("alt_ft", "m", "ft"),
        ("speed_km_h", "m s-1", "km h-1"),
        ("CO", "ppb", None),
        ("F", "degC", None),
        ("co_f", "ppb", None),
        ("Temperature_avg", "degC", None),
        ("CO (ppm) [ppb]", "ppb", None),  # two units: neither
        ("NO2 (pphb)", "ppb", "pphb"),
        ("NO2 (ppbC)", "ppb", "ppbC"),
        ("NO2 (mg/Nm3)", "ppb", "mg/Nm3"),
        ("NO2 [mV]", "ppb", "mV"),
        ("NO2_mV", "ppb", "mV"),
        ("NO2 (V)", "ppb", "V"),
        ("NO2 (counts)", "ppb", "counts"),
        ("NO2 (mol/mol)", "ppb", "mol mol-1"),
        ("WE (V)", "mV", "V"),
        ("absorption (1/Mm)", "Mm-1", "Mm-1"),
        ("N (#/cc)", "cm-3", "cm-3"),
        *[(name, "ppm", "%") for name in ("CO2 (%)", "CO2 [%]", "CO2 %", "CO2_pct", "CO2 (percent)", "CO2 (vol.-%)")],
        *[(f"CO ({note})", "ppb", None) for note in ("A", "1", "1 min", "dry", "ATM", "w/o filter", "T/RH corrected")],
        ("CO_ppm", "1", None),
    ],
)
def test_the_unit_in_a_name(label, units, found):
    assert unit_in(label, units) == found


@pytest.mark.parametrize(
    ("value", "unit", "units", "expected"),
    [
        (75.2, "degF", "degC", 24.0),
        (296.15, "K", "degC", 23.0),
        (29.0, "inHg", "hPa", 982.052706),
        (750.0, "mmHg", "hPa", 999.917906),
        (0.15, "ppm", "ppb", 150.0),
        (1500.0, "ng m-3", "ug m-3", 1.5),
        (100.0, "ft", "m", 30.48),
        (36.0, "km h-1", "m s-1", 10.0),
    ],
)
def test_conversions(value, unit, units, expected):
    factor, offset = conversion(unit, units) or (0.0, 0.0)
    assert value * factor + offset == pytest.approx(expected, rel=1e-8)
