from dataclasses import replace

import numpy as np
import pytest

from pc2dae.simulate.atmosphere import saturation_hpa, weather
from pc2dae.simulate.path import fly
from pc2dae.simulate.plan import plan_campaign
from pc2dae.simulate.plumes import PMS_T90_S, Smoke, smoke
from pc2dae.simulate.processes import lagged


@pytest.fixture(scope="module", params=[1, 2, 3])
def smoked(request: pytest.FixtureRequest) -> tuple[float, Smoke]:
    plan = replace(plan_campaign(request.param, flights=1, minutes=15)[0], smoke_share=0.3)
    path = fly(plan.rng(4), plan.samples)
    return plan.smoke_share, smoke(plan, path, weather(plan, path))


def test_the_planned_share_of_time_is_smoky(smoked: tuple[float, Smoke]) -> None:
    share, air = smoked
    assert np.mean(lagged(air.species["pm25"], t90_s=PMS_T90_S) > 7.5) == pytest.approx(share, abs=0.03)


def test_every_species_is_possible(smoked: tuple[float, Smoke]) -> None:
    air = smoked[1]
    assert 50_000 < air.species["bc"].max() < 150_000
    assert all(np.isfinite(v).all() and v.min() >= 0 for v in air.species.values())
    assert np.all(air.species["o3"] <= air.background["o3"] + 1e-9)
    assert np.all(air.species["co"] >= air.background["co"])
    assert 0 <= air.flaming.min() <= air.flaming.max() <= 1


def test_filaments_have_sharp_edges(smoked: tuple[float, Smoke]) -> None:
    assert 1.0 < np.median(smoked[1].edge_m) < 10.0


def test_ozone_dips_where_nitric_oxide_peaks(smoked: tuple[float, Smoke]) -> None:
    air = smoked[1]
    thick = air.species["no"] > 0.5 * air.species["no"].max()
    assert np.median(air.species["o3"][thick]) < 0.7 * np.median(air.background["o3"])


def test_air_gets_thinner_and_cooler_with_height() -> None:
    plan = plan_campaign(1, flights=1, minutes=15)[0]
    path = fly(plan.rng(4), plan.samples)
    air = weather(plan, path)
    slope = np.polyfit(path.z, air.pressure, 1)[0]
    assert slope == pytest.approx(-0.11, abs=0.02)  # hPa per metre near the ground
    assert saturation_hpa(np.array([20.0]))[0] == pytest.approx(23.4, abs=0.1)  # psychrometric tables
