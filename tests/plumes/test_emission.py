import numpy as np
import pytest

from pc2dae.errors import FlightError
from pc2dae.plumes import Excess, Fuel, campaign_factors, emission_factors

EXACT = Fuel(0.5, 0.0)


def test_emission_factors_by_hand() -> None:
    # 900 ppb CO2, 90 ppb CO and 120.11 ng of BC per mole (10 nmol of carbon) are 1000 nmol of carbon, 12,011 ng.
    excess = {"co2": Excess(900.0, 0.0), "co": Excess(90.0, 0.0), "bc": Excess(120.11, 0.0), "no2": Excess(2.0, 0.0)}
    found = emission_factors(excess, EXACT)
    assert found["co"].value == pytest.approx(500 * 90 * 28.010 / 12011)
    assert found["co2"].value == pytest.approx(500 * 900 * 44.009 / 12011)
    assert found["bc"].value == pytest.approx(500 * 120.11 / 12011)
    assert found["no2"].value == pytest.approx(500 * 2 * 46.005 / 12011)


def test_all_carbon_is_the_carbon_of_the_fuel() -> None:
    found = emission_factors({"co2": Excess(900.0, 0.0), "co": Excess(90.0, 0.0), "bc": Excess(50.0, 0.0)}, EXACT)
    carbon = found["co2"].value * 12.011 / 44.009 + found["co"].value * 12.011 / 28.010 + found["bc"].value
    assert carbon == pytest.approx(500.0)


def test_a_gain_error_of_co2_moves_co_and_not_co2() -> None:
    # Nearly all carbon is CO2: its own factor does not depend on its gain, that of CO does in full.
    excess = {"co2": Excess(9900.0, 0.0, {"gain co2": 990.0}), "co": Excess(100.0, 0.0)}
    found = emission_factors(excess, EXACT)
    unmeasured = 0.02
    assert found["co2"].systematic / found["co2"].value == pytest.approx(np.hypot(0.001, unmeasured), rel=1e-3)
    assert found["co"].systematic / found["co"].value == pytest.approx(np.hypot(0.099, unmeasured), rel=1e-3)


def test_the_fuels_carbon_is_in_every_factor() -> None:
    excess = {"co2": Excess(900.0, 0.0), "co": Excess(100.0, 0.0)}
    found = emission_factors(excess, Fuel(0.5, 0.05))
    assert all(f.systematic / f.value == pytest.approx(np.hypot(0.1, 0.02)) for f in found.values())


def test_no_factor_without_carbon_or_with_too_little() -> None:
    assert emission_factors({"co2": Excess(900.0, 1.0)}, EXACT) == {}
    assert emission_factors({"co2": Excess(900.0, 400.0), "co": Excess(10.0, 1.0)}, EXACT) == {}


def test_a_campaign_weighted_by_carbon_and_by_flight() -> None:
    flights = [
        {"co2": Excess(900.0, 0.0), "co": Excess(100.0, 0.0)},
        {"co2": Excess(99.0, 0.0), "co": Excess(1.0, 0.0)},
    ]
    found = campaign_factors(flights, EXACT)
    per = 500 * 28.010 / 12.011  # of a carbon share of 1
    assert found["campaign, carbon-weighted"]["co"].value == pytest.approx(per * 101 / 1100)
    mean = found["campaign, mean of flights"]["co"]
    assert mean.value == pytest.approx(per * (0.10 + 0.01) / 2)
    assert mean.random == pytest.approx(per * 0.09 / 2)  # |a − b|/√2/√2


def test_an_impossible_fuel_is_refused() -> None:
    with pytest.raises(FlightError, match="carbon fraction of 48"):
        Fuel(48.0)
