"""From a co-location to a calibration, its scores, and what other payloads add."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from colocations import CROSS, GAIN, TEMPERATURE, ZERO, cell_suite, make_flight, make_pairs
from pc2dae.calibration.apply import calibrated
from pc2dae.calibration.budget import budget_of
from pc2dae.calibration.calibrate import Colocation, fit_colocation, pooled, species_name
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.errors import CalibrationError

PAIRS = make_pairs(count=1000, noise=0.5)


@pytest.fixture(scope="module")
def found() -> Colocation:
    return fit_colocation(make_flight(PAIRS), PAIRS)


def other_box(gain: float, zero: float, temperature: float, **keys: float) -> Calibration:
    """A calibration of another box, of NO2 alone."""
    curve = Curve(
        units="ppb", reading_units="nA",
        terms={"gain": gain, "zero": zero + temperature * 20 + gain * 10, "temperature": temperature},
        covariance=(np.diag([1e-6, 0.01, 1e-6])).tolist(),
        centre={"air": keys.get("centre", 10.0), "temperature": 20.0},
        range={"air": (0.0, 60.0), "temperature": (10.0, 30.0)}, residual=1.0, slow=0.5, wander=0.2, ageing=0.3,
    )  # fmt: skip
    when = datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 5, 3, tzinfo=UTC)
    return Calibration(method="co-location", period=when, channels={"no2": curve})


def test_the_file_states_the_cells(found: Colocation) -> None:
    o3 = found.calibration.channels["o3"]
    assert o3.terms["gain"] == pytest.approx(GAIN["o3"], rel=0.03)
    assert o3.terms["cross:no2"] == pytest.approx(CROSS, rel=0.05)
    assert o3.terms["temperature"] == pytest.approx(TEMPERATURE, rel=0.15)
    middle = {"air": o3.terms["gain"], "temperature": o3.terms["temperature"], "cross:no2": o3.terms["cross:no2"]}
    at_origin = o3.terms["zero"] - sum(k * o3.centre[t] for t, k in middle.items())
    assert at_origin == pytest.approx(ZERO["o3"], abs=0.7)
    assert o3.sigma("zero") < 0.3  # gain · 30 ppb of air · 1 % of the reference, and noise
    assert o3.range["air"] == (PAIRS.air["o3"].min(), PAIRS.air["o3"].max())
    assert found.calibration.period == (datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 6, 7, 22, 30, tzinfo=UTC))


def test_scores_are_of_blocks_that_were_left_out(found: Colocation) -> None:
    rows = {row["channel"]: row for row in found.calibration.scores}
    assert abs(rows["o3"]["slope"] - 1) < 0.05
    assert rows["o3"]["coverage_90"] is None  # the residuals themselves are stated
    assert rows["o3"]["epa"] == "met"
    error = found.estimate["no2"] - PAIRS.air["no2"]
    assert found.estimate["no2"].min() < 0  # scored before the bound, as it is integrated
    assert rows["no2"]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert rows["no2"]["rmse_bounded"] < rows["no2"]["rmse"]


def test_a_later_part_is_scored_on_its_own() -> None:
    early, late = PAIRS.rows(slice(0, 600)), PAIRS.rows(slice(600, None))
    found = fit_colocation(make_flight(PAIRS), early, test=late)
    assert found.calibration.period[1] < datetime(2025, 6, 5, 5, tzinfo=UTC)
    assert found.calibration.scores[0]["samples"] == 400
    assert 75 < found.calibration.scores[0]["coverage_90"] < 100
    assert found.sigma["o3"][-100:].mean() > found.sigma["o3"][:100].mean()  # older by two days


def test_the_same_record_is_recovered_by_its_calibration(found: Colocation) -> None:
    done = calibrated(make_flight(PAIRS), [found.calibration])
    budget = budget_of(done, "o3")
    assert budget is not None
    error = done["o3"].values - PAIRS.air["o3"]
    assert abs(error.mean()) < budget.zero < 3
    assert error.std() < 4


def test_gains_of_concentrations_are_shrunk_towards_one() -> None:
    short = make_pairs(count=60, noise=3.0)  # too short to know the gain well
    noise = np.random.default_rng(3).normal(0, 4, 60)
    as_ppb = {"o3": short.air["o3"], "no2": 0.6 * short.air["no2"] + noise}
    pairs = replace(short, readings=as_ppb, terms={}, rivals={"o3": (), "no2": ()})
    flight = make_flight(short, suite=cell_suite(units="ppb"))
    free = np.polyfit(pairs.air["no2"], as_ppb["no2"], 1)[0]
    gain = fit_colocation(flight, pairs).calibration.channels["no2"].terms["gain"]
    assert free < gain < 1


def test_similar_boxes_hold_a_short_record() -> None:
    short = make_pairs(seed=4, count=80, noise=3.0)
    readings, air = ({"no2": table["no2"]} for table in (short.readings, short.air))
    no2 = replace(short, readings=readings, air=air, terms={}, rivals={"no2": ()})
    boxes = [other_box(0.29, -4, 0.1), other_box(0.30, -4, 0.1), other_box(0.31, -4, 0.1)]
    flight = make_flight(short)
    alone, helped = (fit_colocation(flight, no2, like=like).calibration.channels["no2"] for like in ([], boxes))
    assert helped.sigma("gain") < alone.sigma("gain")
    assert abs(helped.terms["gain"] - 0.3) < abs(alone.terms["gain"] - 0.3)


def test_a_term_that_similar_boxes_lack_is_kept() -> None:
    boxes = [other_box(0.3, -4, 0.1), other_box(0.3, -4, 0.1)]
    helped = fit_colocation(make_flight(PAIRS), PAIRS, like=boxes).calibration.channels
    assert helped["o3"].terms["cross:no2"] == pytest.approx(CROSS, rel=0.05)


def test_pooled_boxes_give_mean_and_spread(found: Colocation) -> None:
    curve = pooled([other_box(0.2, 0, 0.1, centre=10), other_box(0.4, 0, 0.1, centre=10)]).channels["no2"]
    assert curve.terms["gain"] == pytest.approx(0.3)
    assert curve.sigma("gain") == pytest.approx(np.sqrt(0.02 * 1.5))  # variance 0.02 between boxes, and of their mean
    assert curve.terms["temperature"] == pytest.approx(0.1)
    with pytest.raises(CalibrationError, match="one payload says nothing about another; pass --like for at least two"):
        pooled([other_box(0.2, 0, 0.1)])
    with pytest.raises(CalibrationError, match="the calibrations share no channel"):
        pooled([other_box(0.2, 0, 0.1), found.calibration.model_copy(update={"channels": {"o3": curve}})])


def test_species_of_a_channel() -> None:
    assert [species_name(n) for n in ("o3_a", "NO2", "pm25_1")] == ["o3", "no2", "pm25"]
