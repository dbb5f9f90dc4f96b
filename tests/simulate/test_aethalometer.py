import json

import numpy as np
import pytest

from pc2dae.flags import STARTUP, TAPE_ADVANCE
from pc2dae.simulate import SimulatedFlight, fly_plan, plan_campaign, true_grid
from pc2dae.simulate.aethalometer import CHANNELS, absorbing, gain


def test_attenuation_of_a_known_mass() -> None:
    # 100 ml/min through 7.07 mm² for 1 s at 1 µg/m³, 10.12·1.3 m²/g: 100·13.156·1.667e-6/7.069e-6·1e-6 = 3.10e-4
    assert gain("ir", 100.0) * 1000 == pytest.approx(3.10e-4, rel=1e-2)
    assert gain("uv", 50.0) == pytest.approx(gain("uv", 100.0) / 2)


def test_brown_carbon_absorbs_in_the_ultraviolet() -> None:
    bc, alpha = np.array([1000.0, 1000.0]), np.array([1.0, 2.0])
    assert absorbing(bc, alpha, 375.0) == pytest.approx([1000.0, 2346.7], abs=0.1)  # 880/375
    assert absorbing(bc, alpha, 880.0) == pytest.approx([1000.0, 1000.0])


@pytest.mark.parametrize("name", CHANNELS)
def test_noise_is_differenced_and_unbiased(flown: SimulatedFlight, name: str) -> None:
    good = flown.truth[f"{name}_fault"].values == 0
    noise = np.where(
        good, true_grid(flown.streams, flown.truth)[name].values - flown.truth[f"{name}_response"].values, np.nan
    )
    assert np.nanmean(noise[1:] * noise[:-1]) / np.nanvar(noise) == pytest.approx(-0.5, abs=0.1)
    assert abs(np.nanmean(noise)) < 0.02 * np.nanstd(noise)
    assert 500 < np.nanstd(noise) < 6000


def test_the_reading_follows_the_air(flown: SimulatedFlight) -> None:
    air, reading = flown.truth["bc_ir_1_ambient"].values, flown.truth["bc_ir_1_response"].values
    assert reading.sum() == pytest.approx(air.sum(), rel=0.08)  # loading takes a few percent
    assert reading.max() < air.max()


def test_start_up_rows_are_empty(flown: SimulatedFlight) -> None:
    stream = next(s for s in flown.streams if s.instrument == "ma200")
    assert np.isnan(stream.columns["ir_bc1"][:20]).all()
    assert np.isfinite(stream.columns["ir_bc1"][40:80]).all()
    assert stream.columns["status"][0] == 131_138  # start up, dual spot, external power
    assert flown.truth["bc_uv_1_fault"].values[5] & STARTUP


def test_a_new_spot_begins_clean() -> None:
    for plan in plan_campaign(1):
        flight = fly_plan(plan)
        moments = json.loads(flight.truth.attrs["facts"])["ma200"]["tape_advances_s"]
        if moments:
            break
    else:
        pytest.fail("no tape advance in a whole campaign")
    stream = next(s for s in flight.streams if s.instrument == "ma200")
    position, attenuation = stream.columns["tape_position"], stream.columns["uv_atn1"]
    row = int(np.flatnonzero(np.diff(position))[0])
    assert np.nanmax(attenuation[row + 1 : row + 20]) < 0.3 * attenuation[row]
    assert flight.truth["bc_uv_1_fault"].values[int(moments[0]) + 1] & TAPE_ADVANCE
    response = flight.truth["bc_uv_1_response"].values
    assert response.min() > -2000  # the step from the old spot to the new one is no reading
