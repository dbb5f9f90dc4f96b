import numpy as np
import pytest

from pc2dae.calibration.budget import Budget
from pc2dae.flight.schema import new_flight
from pc2dae.plumes import survey
from pc2dae.plumes.channel_signals import channel_signals
from pc2dae.plumes.species_signals import species_signals
from pc2dae.suite import Suite
from suites import make_suite

T = np.arange(1500.0)
SMOKE = sum(h * np.exp(-0.5 * ((T - c) / 10) ** 2) for h, c in [(1.0, 300), (0.5, 800), (0.7, 1200)])
START = np.datetime64("2025-10-14T18:00:00", "ns")
PAIR = make_suite({"gas": {"co": "ppb", "co2": "ppm"}}, name="pair")
TWINS = make_suite({"gas": {"co_a": "ppb", "co_b": "ppb"}}, name="twins")


def flight(suite: Suite, heights: dict[str, float], **budgets: Budget):
    rng = np.random.default_rng(0)
    values = {name: 100 + height * SMOKE + 0.001 * height * rng.normal(size=len(T)) for name, height in heights.items()}
    made = new_flight(START + np.arange(len(T)) * np.timedelta64(1, "s"), values, suite, level="compensated")
    for name, budget in budgets.items():
        made[name].attrs |= budget.attributes()
    return made


def ratios(made, scope: str):
    found = survey(made).ratios
    return found[found.scope == scope].set_index(["ratio", "method"])


def gained(gain: float) -> Budget:
    return Budget(zero=0.0, drift=0.0, gain=gain)


@pytest.mark.parametrize("method", ["integral", "slope"])
def test_gains_of_both_species_add_up_and_more_encounters_do_not_help(method: str) -> None:
    made = flight(PAIR, {"co": 5000.0, "co2": 80.0}, co=gained(0.03), co2=gained(0.04))
    for scope in ("encounter 1", "flight"):
        row = ratios(made, scope).loc[("co/co2", method)]
        assert row.systematic_sigma / row.value == pytest.approx(0.05, rel=0.03)
        assert row.sigma == pytest.approx(np.hypot(row.random_sigma, row.systematic_sigma))
    one, whole = (ratios(made, s).loc[("co/co2", "integral")].random_sigma for s in ("encounter 1", "flight"))
    assert whole < one


def test_combustion_efficiency_has_the_gain_of_co_over_co2() -> None:
    made = flight(PAIR, {"co": 5000.0, "co2": 80.0}, co=gained(0.03), co2=gained(0.04))
    mce = ratios(made, "flight").loc[("mce", "integral")]
    assert mce.systematic_sigma == pytest.approx(0.05 * mce.value * (1 - mce.value), rel=0.03)


def test_cross_sensitivity_follows_the_other_gas() -> None:
    made = flight(PAIR, {"co": 5000.0, "co2": 80.0}, co=Budget(0.0, 0.0, 0.0, cross={"co2": 2.0}), co2=gained(0.0))
    row = ratios(made, "flight").loc[("co/co2", "integral")]
    assert row.systematic_sigma == pytest.approx(2.0 / 1000, rel=0.03)  # 2 ppb per ppm of CO₂


def test_drift_widens_the_random_part() -> None:
    still, drifting = (
        survey(flight(PAIR, {"co": 5000.0, "co2": 80.0}, co=Budget(0.0, drift, 0.0))).encounters.set_index("channel")
        for drift in (0.0, 200.0)
    )
    assert (drifting.loc["co"].excess_random_sigma > still.loc["co"].excess_random_sigma).all()


def test_a_channel_that_is_not_calibrated_gets_a_gain_that_is_said_to_be_assumed() -> None:
    found = survey(flight(PAIR, {"co": 5000.0, "co2": 80.0}, co2=gained(0.01)))
    assert found.assumed_gains == {"co": 0.15}
    co = found.encounters[found.encounters.channel == "co"]
    assert co.excess_systematic_sigma.to_numpy() == pytest.approx(0.15 * co.excess.to_numpy(), rel=0.02)


@pytest.mark.parametrize(("second", "relative"), [(5000.0, 0.03 / np.sqrt(2)), (6000.0, 0.08)])
def test_two_sensors_average_their_gains_and_disagreement_widens(second: float, relative: float) -> None:
    made = flight(TWINS, {"co_a": 5000.0, "co_b": second}, co_a=gained(0.03), co_b=gained(0.03))
    excess = species_signals(channel_signals(made, TWINS), TWINS)["co"].over((250, 350))
    assert excess.systematic / excess.value == pytest.approx(relative, rel=0.25)


def test_haze_beside_an_encounter_is_uncertain_in_both_species_alike() -> None:
    haze = 0.02 * np.clip((T - 100) / 160, 0.0, 1.0) * (T < 300)  # rises up to the plume, and is gone behind it
    made = flight(PAIR, {"co": 5000.0, "co2": 80.0}, co=gained(0.0), co2=gained(0.0))
    hazy = made.assign({n: ("time", made[n].values + h * haze, made[n].attrs) for n, h in (("co", 5000), ("co2", 80))})
    clear, under = (
        f[f.channel == "co"].iloc[0].excess_systematic_sigma for f in (survey(m).encounters for m in (made, hazy))
    )
    assert under > 3 * clear
    row = ratios(hazy, "encounter 1").loc[("co/co2", "integral")]
    co = survey(hazy).encounters.iloc[0]
    assert row.systematic_sigma / row.value < 0.5 * co.excess_systematic_sigma / co.excess
