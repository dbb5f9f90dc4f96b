"""Steps in known air: t90, its uncertainty and delay; refusals with a reason."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.arrays import Array
from pc2dae.errors import ResponseError
from pc2dae.flight.schema import new_flight
from pc2dae.response.kernels import LN10
from pc2dae.response.pooling import evidence_of, pool
from pc2dae.response.steps import Exposure, exposure_steps, steps_of
from suites import make_suite

TIME = np.arange(-60.0, 400.0)
START = np.datetime64("2025-10-05T14:00:00", "ns")


def answer(
    tau: float, late: float, *, height: float = 100.0, end: float = 200.0, tau_down: float | None = None
) -> Array:
    """A sensor moved into other air at 0 s and out of it at `end`."""
    up = 1 - np.exp(-np.maximum(TIME - late, 0) / tau)
    reached = 1 - np.exp(-(end) / tau)
    down = reached * np.exp(-np.maximum(TIME - late - end, 0) / (tau_down or tau))
    return 5 + height * np.where(end + late > TIME, up, down)


@pytest.mark.parametrize("tau", [3.0, 8.0, 25.0])
def test_rise_and_fall_of_a_noisy_step(tau: float) -> None:
    noise = np.random.default_rng(1).normal(0, 1.0, len(TIME))
    rise, fall = exposure_steps("co", TIME, answer(tau, 4.0) + noise, 200.0)
    assert (rise.is_rise, fall.is_rise) == (True, False)
    for step in (rise, fall):
        assert step.t90_s == pytest.approx(tau * LN10, abs=2.5 * step.uncertainty_s)
        assert step.uncertainty_s < 0.15 * step.t90_s
        assert step.start_s == pytest.approx(4.0, abs=1.0)


def test_the_two_directions_of_a_cell_are_kept_apart() -> None:
    rise, fall = exposure_steps("co", TIME, answer(5.0, 0.0, tau_down=9.0), 200.0)
    assert (rise.t90_s / LN10, fall.t90_s / LN10) == pytest.approx((5.0, 9.0), rel=0.05)


def test_an_approach_gives_t90_and_one_that_is_too_short_is_refused_with_its_slope() -> None:
    (far,) = exposure_steps("co", TIME[TIME < 199], answer(80.0, 0.0, end=1000)[TIME < 199], 250.0)
    assert far.t90_s == pytest.approx(80 * LN10, rel=0.1)
    (short,) = exposure_steps("co", TIME[TIME < 60], answer(80.0, 0.0, end=1000)[TIME < 60], 70.0)
    assert np.isnan(short.t90_s)
    assert short.reason.startswith("its plateau is not reached: it still rises by ")


def test_a_bag_that_fills_is_no_step() -> None:
    ramp = np.clip(TIME / 100, 0, 1) * 100.0
    (step,) = exposure_steps("co", TIME, ramp, 380.0)
    assert step.reason.startswith("not a step: it departs by")


def test_without_a_step_there_is_none() -> None:
    noise = np.random.default_rng(2).normal(100, 1.0, len(TIME))
    assert exposure_steps("co", TIME, noise, 200.0) == []


def test_channels_exposed_together_give_their_delay_and_a_response() -> None:
    suite = make_suite({"gas": {"co": "ppb", "no": "ppb"}}, name="cells")
    values = {"co": answer(6.0, 1.0), "no": answer(9.0, 4.0)}
    flight = new_flight(START + (TIME * 1e9).astype("timedelta64[ns]"), values, suite)
    on = [Exposure(name, START, START + np.timedelta64(200, "s")) for name in ("co", "no")]
    known = pool([evidence_of(flight, on)]).channels
    assert known["co"].t90_s == pytest.approx(6 * LN10, rel=0.1)
    assert known["no"].t90_s == pytest.approx(9 * LN10, rel=0.1)
    assert (known["co"].delay_s, known["no"].delay_s) == pytest.approx((0.0, 3.0), abs=0.5)
    assert known["no"].source.startswith("steps")
    assert known["no"].steps == 2
    assert known["no"].is_usable


def test_an_unknown_channel_is_one_line_and_other_times_are_not_covered() -> None:
    flight = new_flight(
        START + (TIME * 1e9).astype("timedelta64[ns]"), {"co": TIME}, make_suite({"gas": {"co": "ppb"}})
    )
    with pytest.raises(ResponseError, match="the flight has no channel 'xo'"):
        steps_of(flight, [Exposure("xo", START, START + np.timedelta64(9, "s"))])
    later = START + np.timedelta64(1, "D")
    assert steps_of(flight, [Exposure("co", later, later + np.timedelta64(9, "s"))]) == []
