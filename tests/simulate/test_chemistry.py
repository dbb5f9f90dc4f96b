import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.simulate.chemistry import smoky, titrate

CLEAN = {name: np.array([value]) for name, value in {
    "bc": 200.0, "angstrom": 1.0, "no": 1.0, "no2": 3.0, "o3": 40.0, "so2": 1.0, "co": 120.0, "co2": 420.0,
    "pm1": 2.0, "pm25": 3.0, "pm10": 4.0,
}.items()}  # fmt: skip


def burnt(carbon: float, flaming: float, age_s: float) -> dict[str, float]:
    air = smoky(CLEAN, carbon=np.array([carbon]), flaming=np.array([flaming]), age_s=np.array([age_s]))
    return {name: float(values[0]) for name, values in air.items()}


def test_titration_follows_the_second_order_law() -> None:
    # by hand: D = 60, exp(4.4e-4·60·30) = 2.2078, 60·40/(100·2.2078 − 40) = 13.28
    left = titrate(np.array([100.0]), np.array([40.0]), age_s=np.array([30.0]))
    assert left[0] == pytest.approx(13.28, abs=0.01)


def test_flaming_smoke_by_hand() -> None:
    air = burnt(10.0, 1.0, 0.0)
    assert air["co"] == pytest.approx(120 + 1000 * 10 * 0.045)
    assert air["co2"] == pytest.approx(420 + 9.55)
    assert air["bc"] == pytest.approx(200 + 8500)
    assert air["no"] == pytest.approx(1 + 28 * 0.85)


def test_smouldering_has_more_co_and_particles_and_less_soot() -> None:
    flaming, smouldering = burnt(10.0, 1.0, 30.0), burnt(10.0, 0.0, 30.0)
    assert smouldering["co"] > 3 * flaming["co"]
    assert smouldering["pm25"] > 2 * flaming["pm25"]
    assert smouldering["bc"] < 0.5 * flaming["bc"]
    assert smouldering["angstrom"] > flaming["angstrom"]


@given(carbon=st.floats(0, 300), flaming=st.floats(0, 1), age_s=st.floats(0, 600))
def test_nitrogen_and_odd_oxygen_are_conserved(carbon: float, flaming: float, age_s: float) -> None:
    fresh, aged = burnt(carbon, flaming, 0.0), burnt(carbon, flaming, age_s)
    assert aged["no"] + aged["no2"] == pytest.approx(fresh["no"] + fresh["no2"])
    assert aged["o3"] + aged["no2"] == pytest.approx(fresh["o3"] + fresh["no2"])
    assert min(aged.values()) >= -1e-9
    assert aged["o3"] <= CLEAN["o3"][0] + 1e-9


def test_air_without_smoke_stays_as_it_is() -> None:
    assert burnt(0.0, 0.5, 60.0) == pytest.approx({name: float(v[0]) for name, v in CLEAN.items()}, rel=1e-6)
