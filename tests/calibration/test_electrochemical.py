"""Hand-worked values per cell and algorithm, and one for each mistake found in public code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.calibration.electrochemical import (
    RECOMMENDED,
    TEMPERATURE_NODES,
    cell_uncertainty,
    coefficients,
    compensate_cell,
    outside_table,
    temperature_factor,
)
from pc2dae.errors import SuiteError


def sheet(we_e: float, we0: float, ae_e: float, ae0: float, gain: float, mv_ppb: float, **more: Any) -> dict[str, Any]:
    return {
        "we_electronic_zero_mv": we_e,
        "we_sensor_zero_mv": we0,
        "ae_electronic_zero_mv": ae_e,
        "ae_sensor_zero_mv": ae0,
        "pcb_gain": gain,
        "we_sensitivity_mv_ppb": mv_ppb,
    } | more


# Sheets in round numbers near real ones (CO-A4 of board 24-000004 has 280, 71, 273, −8, 0.8, 0.272).
SHEETS = {
    "CO-A4": sheet(280, 70, 270, -10, 0.8, 0.25),
    "NO-A4": sheet(270, 20, 250, 25, 0.8, 0.4),
    "NO2-A43F": sheet(310, -5, 315, -5, -0.73, 0.2),
    "OX-A431": sheet(410, -4, 410, -2, -0.73, 0.4, we_cross_sensitivity_no2_mv_ppb=0.3),
    "SO2-A4": sheet(270, -2, 270, 2, 0.8, 0.4),
}


# One electrode reading per cell: WEu − WEe and AEu − AEe are 100 and 20 mV for all.
# Expected by hand from the four formulas of AAN 803-05 with the table's nodes (or half-way between two).
@pytest.mark.parametrize(
    ("kind", "algorithm", "temperature", "expected_mv"),
    [
        ("CO-A4", 1, 20, 100 + 0.9 * 20),
        ("CO-A4", 1, 25, 100 + 1.2 * 20),
        ("CO-A4", 1, -30, 100 - 1.0 * 20),
        ("CO-A4", 2, 20, 100 - 1.0 * (70 / -10) * 20),
        ("CO-A4", 2, 30, 100 - 1.7 * (70 / -10) * 20),
        ("CO-A4", 2, 5, 100 - -0.45 * (70 / -10) * 20),
        ("CO-A4", 3, 20, 100 - (70 + 10) - 1.0 * 20),
        ("CO-A4", 3, 40, 100 - (70 + 10) + 0.3 * 20),
        ("CO-A4", 3, 15, 100 - (70 + 10) - 1.55 * 20),
        ("CO-A4", 4, 20, 100 - 70),
        ("CO-A4", 4, 10, 100 - 70 - 4 * 0.8),
        ("CO-A4", 4, 35, 100 - 70 + 16.5 * 0.8),
        ("NO-A4", 1, 20, 100 - 1.5 * 20),
        ("NO-A4", 1, 45, 100 - 1.65 * 20),
        ("NO-A4", 1, -20, 100 - 1.7 * 20),
        ("NO-A4", 2, 20, 100 - 1.0 * (20 / 25) * 20),
        ("NO-A4", 2, 40, 100 - 1.1 * (20 / 25) * 20),
        ("NO-A4", 2, 35, 100 - 1.05 * (20 / 25) * 20),
        ("NO-A4", 3, 20, 100 + 5 - 1.0 * 20),
        ("NO-A4", 3, 30, 100 + 5 - 1.2 * 20),
        ("NO-A4", 3, 25, 100 + 5 - 1.1 * 20),
        ("NO-A4", 4, 20, 100 - 20),
        ("NO-A4", 4, 30, 100 - 20 - 56 * 0.8),
        ("NO-A4", 4, 15, 100 - 20 + 8 * 0.8),
        ("NO2-A43F", 1, 20, 100 - 1.8 * 20),
        ("NO2-A43F", 1, 30, 100 - 1.9 * 20),
        ("NO2-A43F", 1, 35, 100 - 2.2 * 20),
        ("NO2-A43F", 2, 20, 100 - 1.0 * 20),
        ("NO2-A43F", 2, 0, 100 - 0.7 * 20),
        ("NO2-A43F", 2, 45, 100 - 1.7 * 20),
        ("NO2-A43F", 3, 20, 100 - 0 - 1.0 * 20),
        ("NO2-A43F", 3, 30, 100 - 0 - 1.3 * 20),
        ("NO2-A43F", 3, 5, 100 - 0 - 0.45 * 20),
        ("NO2-A43F", 4, 20, 100 + 5),
        ("NO2-A43F", 4, 30, 100 + 5 - 10 * 0.73),
        ("NO2-A43F", 4, -10, 100 + 5 + 4 * 0.73),
        ("OX-A431", 1, 20, 100 - 2.0 * 20),
        ("OX-A431", 1, 40, 100 - 3.4 * 20),
        ("OX-A431", 1, 25, 100 - 2.05 * 20),
        ("OX-A431", 2, 20, 100 - 1.0 * 2 * 20),
        ("OX-A431", 2, 10, 100 - 0.9 * 2 * 20),
        ("OX-A431", 2, 15, 100 - 0.95 * 2 * 20),
        ("OX-A431", 3, 20, 100 + 2 - 1.0 * 20),
        ("OX-A431", 3, 30, 100 + 2 - 1.7 * 20),
        ("OX-A431", 3, 25, 100 + 2 - 1.35 * 20),
        ("OX-A431", 4, 20, 100 + 4),
        ("OX-A431", 4, 10, 100 + 4 - 0.5 * 0.73),
        ("OX-A431", 4, 25, 100 + 4 - 4.5 * 0.73),
        ("SO2-A4", 1, 20, 100 - 0.4 * 20),
        ("SO2-A4", 1, 10, 100 - 0.9 * 20),
        ("SO2-A4", 1, 15, 100 - 0.65 * 20),
        ("SO2-A4", 2, 20, 100 - 1.0 * -1 * 20),
        ("SO2-A4", 2, 0, 100 - 3.0 * -1 * 20),
        ("SO2-A4", 2, 5, 100 - 2.65 * -1 * 20),
        ("SO2-A4", 3, 20, 100 + 4 - 1.0 * 20),
        ("SO2-A4", 3, 0, 100 + 4 - 1.5 * 20),
        ("SO2-A4", 3, 5, 100 + 4 - 1.25 * 20),
        ("SO2-A4", 4, 20, 100 + 2),
        ("SO2-A4", 4, 30, 100 + 2 - 5 * 0.8),
        ("SO2-A4", 4, 25, 100 + 2 - 2.5 * 0.8),
    ],
)
def test_by_hand(kind: str, algorithm: int, temperature: float, expected_mv: float) -> None:
    s = SHEETS[kind]
    we, ae = s["we_electronic_zero_mv"] + 100.0, s["ae_electronic_zero_mv"] + 20.0
    ppb = compensate_cell(we, ae, temperature, s, kind, algorithm=algorithm)
    assert float(ppb) == pytest.approx(expected_mv / s["we_sensitivity_mv_ppb"], rel=1e-12)


def test_the_recommended_algorithm_is_the_default() -> None:
    assert dict(RECOMMENDED) == {"CO-A4": 1, "NO-A4": 3, "NO2-A43F": 1, "OX-A431": 3, "SO2-A4": 4}
    for kind, s in SHEETS.items():
        given_none = compensate_cell(350.0, 300.0, 23.0, s, kind)
        assert given_none == compensate_cell(350.0, 300.0, 23.0, s, kind, algorithm=RECOMMENDED[kind])


def test_ozone_is_what_no2_leaves() -> None:
    # Algorithm 3 at 20 degC: WEc = 100 + 2 − 20 = 82 mV; 100 ppb NO2 · 0.3 mV/ppb = 30 mV; 52 mV / 0.4 = 130 ppb.
    assert float(compensate_cell(510, 430, 20, SHEETS["OX-A431"], "OX-A431", no2_ppb=100)) == pytest.approx(130.0)


def test_linear_between_nodes_and_clamped_outside() -> None:
    np.testing.assert_allclose(temperature_factor("CO-A4", 1, [12.5, -40, 60]), [-0.375, 1.0, -1.5])
    np.testing.assert_array_equal(outside_table([-30.1, -30, 50, 50.1]), [True, False, False, True])


class TestKnownMistakesOfPublicCode:
    """Each asserts the right number where a public implementation has a wrong one."""

    def test_so2_a4_does_not_use_the_b4_row(self) -> None:
        # SO2-B4's nT is 1.6 … 1.9 at cold and 3 … 5 at warm; SO2-A4's is 0.4 from 20 degC on.
        np.testing.assert_allclose(temperature_factor("SO2-A4", 1, [20, 30, 40, 50]), 0.4)

    def test_algorithm_3_takes_a_difference_not_a_product(self) -> None:
        s = SHEETS["NO-A4"]
        wrong = (100 - 1.0 * (20 - 25) * 20) / 0.4
        assert float(compensate_cell(370, 270, 20, s, "NO-A4", algorithm=3)) == pytest.approx(85 / 0.4)
        assert wrong == pytest.approx(500.0)

    def test_co_a4_k_double_prime_has_nine_numbers(self) -> None:
        np.testing.assert_allclose(temperature_factor("CO-A4", 4, [10, 20]), [4, 0])

    def test_division_by_the_sensitivity(self) -> None:
        s = SHEETS["CO-A4"] | {"we_sensitivity_mv_ppb": 0.5}
        assert float(compensate_cell(380, 270, 20, s, "CO-A4")) == pytest.approx(200.0)  # not 50

    def test_the_sign_of_the_zeros_in_algorithm_3(self) -> None:
        s = SHEETS["CO-A4"]  # WE0 − AE0 = 80 is taken off: 100 − 80 = 20 mV, not 180
        assert float(compensate_cell(380, 270, 20, s, "CO-A4", algorithm=3)) == pytest.approx(20 / 0.25)

    def test_the_three_step_table_of_803_01_is_gone(self) -> None:
        # 803-01 has CO-A4 −1.0 at 20 degC and −0.76 above; 803-05 −0.9 and −1.5.
        np.testing.assert_allclose(temperature_factor("CO-A4", 1, [20, 30]), [-0.9, -1.5])

    def test_no2_a43f_is_recommended_with_n_not_k_prime(self) -> None:
        assert RECOMMENDED["NO2-A43F"] == 1

    def test_algorithm_2_refuses_an_auxiliary_zero_of_zero(self) -> None:
        with pytest.raises(SuiteError, match="use algorithm 1 or 3"):
            compensate_cell(350, 300, 20, SHEETS["CO-A4"] | {"ae_sensor_zero_mv": 0}, "CO-A4", algorithm=2)


NODES_BETA = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0]
EQUATION_1 = {"kappa_0_ppb": 5.0, "kappa_1_ppb_per_degc": 2.0, "reference_degc": 20.0, "beta_ppb_per_mv": 4.0}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 5 + 2 * 5 + 4 * (100 + 1.2 * 20)),  # n(25 degC) = −1.2 from the note's table
        ({"n": 0.5}, 5 + 2 * 5 + 4 * (100 - 0.5 * 20)),
        ({"n": 0.5, "beta_ppb_per_mv": NODES_BETA}, 5 + 2 * 5 + 3 * (100 - 0.5 * 20)),  # β half-way from 2 to 4
        ({"kappa_0_ppb": 0, "kappa_1_ppb_per_degc": 0}, (100 + 1.2 * 20) / 0.25),  # then it is algorithm 1
    ],
)
def test_the_papers_equation_by_hand(change: dict[str, Any], expected: float) -> None:
    s = SHEETS["CO-A4"] | {"equation_1": EQUATION_1 | change}
    ppb = compensate_cell(380, 290, 25, s, "CO-A4", algorithm="equation-1")  # WEu − WEe = 100 mV, AEu − AEe = 20 mV
    assert float(ppb) == pytest.approx(expected, rel=1e-12)
    # A degree more: as steep as the equation itself, from node to node.
    steps = [float(compensate_cell(380, 290, t, s, "CO-A4", algorithm="equation-1")) for t in (24.9, 25.1)]
    u = cell_uncertainty(ppb, 290, 25, s, "CO-A4", algorithm="equation-1", sensitivity_error=0.0)
    assert float(u) == pytest.approx(0.5 * abs(steps[1] - steps[0]) / 0.2, rel=0.01)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "needs kappa_0_ppb, kappa_1_ppb_per_degc, reference_degc, beta_ppb_per_mv in 'equation_1' of CO-A4"),
        ({k: v for k, v in EQUATION_1.items() if k != "kappa_0_ppb"}, "needs kappa_0_ppb in 'equation_1' of CO-A4"),
        (EQUATION_1 | {"beta_ppb_per_mv": [1.0, 2.0]}, "2 values of 'beta_ppb_per_mv'; write one number, or nine"),
        (EQUATION_1 | {"beta_ppb_per_mv": 0.0}, "beta_ppb_per_mv 0.0 for CO-A4; a gain must be above zero"),
        (EQUATION_1 | {"n": "0.5"}, "'n' = '0.5'"),
    ],
)
def test_the_papers_equation_needs_its_coefficients(table: dict[str, Any] | None, message: str) -> None:
    s = SHEETS["CO-A4"] | {"equation_1": table}
    with pytest.raises(SuiteError, match=message):
        compensate_cell(380, 290, 25, s, "CO-A4", algorithm="equation-1")


@given(
    ppb=st.floats(-500, 50_000),
    ae=st.floats(200, 400),
    temperature=st.floats(-40, 60),
    kind=st.sampled_from(sorted(SHEETS)),
    algorithm=st.sampled_from([1, 2, 3, 4]),
)
def test_forwards_and_backwards_are_one(ppb: float, ae: float, temperature: float, kind: str, algorithm: int) -> None:
    s = SHEETS[kind]
    cell = coefficients(temperature, s, kind, algorithm=algorithm)
    we = cell.working_electrode(ppb * s["we_sensitivity_mv_ppb"], ae)
    assert float(compensate_cell(we, ae, temperature, s, kind, algorithm=algorithm)) == pytest.approx(ppb, abs=1e-6)


def test_sheets_in_nanoampere_are_enough() -> None:
    s = {k: v for k, v in SHEETS["CO-A4"].items() if k != "we_sensitivity_mv_ppb"} | {"we_sensitivity_na_ppb": 0.3125}
    assert float(compensate_cell(380, 270, 20, s, "CO-A4")) == pytest.approx(400.0)  # 0.3125 nA · 0.8 mV/nA = 0.25


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"we_sensitivity_mv_ppb": 0.0}, "we_sensitivity 0"),
        ({"we_electronic_zero_mv": None}, "'we_electronic_zero_mv' = None"),
        ({"we_sensor_zero_mv": "12"}, "'we_sensor_zero_mv' = '12'"),
    ],
)
def test_a_bad_sheet_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        compensate_cell(350, 300, 20, SHEETS["CO-A4"] | change, "CO-A4")


def test_unknown_cells_and_algorithms() -> None:
    with pytest.raises(SuiteError, match="CO-A4"):
        temperature_factor("CO-A5", 1, 20)
    with pytest.raises(SuiteError, match="no algorithm 5"):
        temperature_factor("CO-A4", 5, 20)


def test_uncertainty_by_hand() -> None:
    # SO2-A4, algorithm 4 at 35 degC: k'' rises by 2 nA/degC · 0.8 mV/nA = 1.6 mV/degC, 0.5 degC → 0.8 mV → 2 ppb;
    # 5 % of 100 ppb = 5 ppb; electrode noise 0.4 mV → 1 ppb (n = 0).
    u = cell_uncertainty(100.0, 280.0, 35.0, SHEETS["SO2-A4"], "SO2-A4", electrode_mv=0.4)
    assert float(u) == pytest.approx(np.sqrt(2**2 + 5**2 + 1**2))
    # CO-A4, algorithm 1 at 15 degC: n falls by 0.07 per degC; AE 20 mV over its zero → 1.4 mV/degC → 0.7 mV → 2.8 ppb.
    assert float(cell_uncertainty(0.0, 290.0, 15.0, SHEETS["CO-A4"], "CO-A4")) == pytest.approx(2.8)
    # OX: NO2 uncertain by 10 ppb is 3 mV, 7.5 ppb of ozone.
    ox = cell_uncertainty(0.0, 410.0, 20.0, SHEETS["OX-A431"], "OX-A431", no2_sigma_ppb=10.0, temperature_error_c=0)
    assert float(ox) == pytest.approx(7.5)


def test_the_table_has_nine_nodes() -> None:
    assert TEMPERATURE_NODES == (-30, -20, -10, 0, 10, 20, 30, 40, 50)
