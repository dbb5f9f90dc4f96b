"""Millivolts of a whole flight become concentrations."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from pc2dae.calibration.compensate import compensate, without_sheet
from pc2dae.calibration.electrochemical import coefficients
from pc2dae.errors import SuiteError
from pc2dae.flags import MISSING, THERMAL_TRANSIENT
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite

ROWS = 50
TRUE_PPB = {"no": 12.0, "no2": 30.0, "o3": 25.0, "so2": 4.0, "co": 400.0}
KIND = {"no": "NO-A4", "no2": "NO2-A43F", "o3": "OX-A431", "so2": "SO2-A4", "co": "CO-A4"}


def cell(gas: str) -> dict[str, object]:
    gain = -0.73 if gas in ("no2", "o3") else 0.8
    return {
        "serial_number": "1",
        "sensor_type": KIND[gas],
        "we_electronic_zero_mv": 280.0,
        "we_sensor_zero_mv": 10.0,
        "ae_electronic_zero_mv": 270.0,
        "ae_sensor_zero_mv": 4.0,
        "pcb_gain": gain,
        "we_sensitivity_mv_ppb": 0.3,
        "we_cross_sensitivity_no2_mv_ppb": 0.25 if gas == "o3" else 0.0,
    }


def flight(boards: tuple[str, ...] = ("a",), *, temperature: float = 23.0, sheets: bool = True) -> xr.Dataset:
    values: dict[str, np.ndarray] = {"air_temperature": np.full(ROWS, temperature)}
    calibration = {}
    for unit in boards:
        for gas, ppb in TRUE_PPB.items():
            sheet = cell(gas)
            mv = ppb * 0.3 + (TRUE_PPB["no2"] * 0.25 if gas == "o3" else 0.0)
            ae = 276.0
            we = coefficients(temperature, sheet, KIND[gas]).working_electrode(mv, ae)
            values |= {f"afe_{unit}_{gas}_we": np.full(ROWS, float(we)), f"afe_{unit}_{gas}_ae": np.full(ROWS, ae)}
        values[f"afe_{unit}_temperature"] = np.full(ROWS, temperature)
        calibration[f"afe/{unit}"] = {"sensors": [cell(gas) for gas in TRUE_PPB]}
    values |= {"bc_uv_1": np.full(ROWS, 900.0), "bc_ir_1": np.full(ROWS, 700.0)}
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(ROWS) * np.timedelta64(1, "s")
    made = new_flight(time, values, load_suite("black-kite"))
    made.attrs["calibration"] = json.dumps(calibration if sheets else {})
    return made


def test_every_cell_comes_back_and_ozone_is_less_no2() -> None:
    done = compensate(flight())
    for gas, ppb in TRUE_PPB.items():
        np.testing.assert_allclose(done[f"{gas}_a"].values, ppb, rtol=1e-9, err_msg=gas)
        assert not (done[f"qc_{gas}_a"].values & MISSING).any()
    assert done.attrs["level"] == "compensated"
    assert done["o3_a"].attrs["comment"] == "OX-A431, AAN 803-05 algorithm 3, NO2 subtracted"
    assert (done["co_a_calibration_uncertainty"].values > 0.05 * 400).all()


def test_the_suite_chooses_the_papers_equation() -> None:
    made = flight(temperature=25.0)
    suite = load_suite("black-kite").model_copy(update={"compensation": "equation-1"})
    made.attrs["suite"] = suite.model_dump_json(exclude_defaults=True)
    sheets = {"afe/a": {"sensors": [cell(gas) for gas in TRUE_PPB]}}
    made.attrs["calibration"] = json.dumps(sheets)
    with pytest.raises(SuiteError, match="no_a: compensation equation-1 needs kappa_0_ppb"):
        compensate(made)
    for sensor in sheets["afe/a"]["sensors"]:
        sensor["equation_1"] = {"kappa_0_ppb": 7.0, "kappa_1_ppb_per_degc": 0.4, "reference_degc": 20.0,
                                "beta_ppb_per_mv": 2.0, "n": 0.5}  # fmt: skip
    made.attrs["calibration"] = json.dumps(sheets)
    made["afe_a_co_we"][:] = 330.0
    done = compensate(made)
    np.testing.assert_allclose(done["co_a"].values, 7 + 0.4 * 5 + 2 * (50 - 0.5 * 6))  # 103 ppb; AE is 6 mV over 270
    assert done["co_a"].attrs["comment"] == "CO-A4, Eq. (1) of the PC2DAE paper"


def test_a_difference_is_taken_and_inherits_flags() -> None:
    made = flight()
    made["qc_bc_uv_1"][5] = 8
    done = compensate(made)
    np.testing.assert_array_equal(done["brc_1"].values, 200.0)
    assert done["qc_brc_1"].values[5] == 8
    assert not np.delete(done["qc_brc_1"].values, 5).any()


def test_without_a_sheet_the_millivolts_stay_and_the_history_says_so() -> None:
    made = flight(sheets=False)
    done = compensate(made)
    assert np.isnan(done["co_a"].values).all()
    assert (done["qc_co_a"].values & MISSING).all()
    assert "no calibration sheet, left missing" in done.attrs["history"]
    assert set(without_sheet(made)) == {"no_a", "no2_a", "o3_a", "so2_a", "co_a"}
    np.testing.assert_array_equal(done["afe_a_co_we"].values, made["afe_a_co_we"].values)


def test_a_missing_row_stays_missing() -> None:
    made = flight()
    made["afe_a_co_we"][7] = np.nan
    done = compensate(made)
    assert (done["qc_co_a"].values & MISSING != 0).tolist() == [i == 7 for i in range(ROWS)]


def test_beyond_the_table_is_flagged_not_dropped() -> None:
    done = compensate(flight(temperature=52.0))
    assert (done["qc_co_a"].values & THERMAL_TRANSIENT).all()
    assert np.isfinite(done["co_a"].values).all()


def test_the_airs_temperature_stands_in_for_a_silent_pt1000() -> None:
    made = flight()
    made["afe_a_temperature"][:] = np.nan
    np.testing.assert_allclose(compensate(made)["co_a"].values, 400.0)


def test_the_flight_that_went_in_is_as_it_was() -> None:
    made = flight()
    before = made.copy(deep=True)
    compensate(made)
    xr.testing.assert_identical(made, before)


def test_a_sheet_of_the_wrong_board_is_named() -> None:
    made = flight()
    made.attrs["calibration"] = json.dumps({"afe/a": {"sensors": [cell("co")]}})
    with pytest.raises(SuiteError, match="has no NO cell; it lists CO-A4"):
        compensate(made)
