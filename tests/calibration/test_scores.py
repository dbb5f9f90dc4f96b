"""Figures of held-out data, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.arrays import Array
from pc2dae.calibration.scores import expanded_uncertainty, held_out_scores
from pc2dae.errors import CalibrationError

HOURS = 240
AIR = 30 + 15 * np.sin(np.arange(HOURS) / 4)


def scores(estimate: Array, air: Array = AIR, *, species: str = "o3", units: str = "ppb", **keys: float) -> dict:
    sigma = np.ones(len(air))
    return held_out_scores(species, species, units, estimate, sigma, air, step_s=3600.0)


def test_a_line_is_found_again() -> None:
    row = scores(1.1 * AIR - 2)
    assert row["slope"] == pytest.approx(1.1)
    assert row["intercept"] == pytest.approx(-2)
    assert row["r2"] == pytest.approx(1)
    error = 0.1 * AIR - 2
    assert row["bias"] == pytest.approx(error.mean())
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert row["mae"] == pytest.approx(np.abs(error).mean())
    assert row["nrmse"] == pytest.approx(100 * row["rmse"] / AIR.mean())
    assert row["coverage_90"] == pytest.approx(100 * np.mean(np.abs(error) <= 1.645), abs=1)


def test_scores_are_of_what_is_integrated() -> None:
    """Values cut at zero hide most of an error of −40 in air of 15 to 45; they have figures of their own."""
    row = scores(AIR - 40)
    cut = np.maximum(AIR - 40, 0) - AIR
    assert (row["rmse"], row["bias"]) == pytest.approx((40, -40))
    assert (row["rmse_bounded"], row["bias_bounded"]) == pytest.approx((np.sqrt(np.mean(cut**2)), cut.mean()))
    assert row["coverage_90"] == 0


@pytest.mark.parametrize(
    ("species", "estimate", "met"),
    [
        ("o3", 1.1 * AIR, "met"),
        ("o3", 1.25 * AIR, "not met"),  # slope within 1 ± 0.2
        ("no2", 1.25 * AIR, "met"),  # within 1 ± 0.35
        ("o3", AIR + 5.5, "not met"),  # intercept within 5 ppb
        ("no2", AIR + 14 * np.resize([1, -1], HOURS), "not met"),  # R2 at least 0.7
        ("no", AIR, "not applicable"),  # no target
    ],
)
def test_epa_targets(species: str, estimate: Array, met: str) -> None:
    assert scores(estimate, species=species)["epa"] == met


def test_pm25_is_judged_by_days() -> None:
    days = np.repeat(10 + 8 * np.sin(np.arange(40)), 24)
    hourly = 10 * np.resize([1, -1], len(days))  # averages out over a day
    assert scores(days + hourly, days, species="pm25", units="ug m-3")["epa"] == "met"
    assert scores(days[:480], days[:480], species="pm25", units="ug m-3")["epa"] == "not applicable"


def test_a_short_or_other_record_has_no_targets() -> None:
    assert scores(AIR[:20], AIR[:20])["epa"] == "not applicable"
    assert scores(AIR, species="o3", units="nA")["epa"] == "not applicable"
    assert scores(AIR, species="o3", units="nA")["eu"] == "not applicable"
    assert scores(AIR / 1000, AIR / 1000, units="ppm")["epa"] == "met"


def test_gaps_do_not_count() -> None:
    holed = np.where(np.arange(HOURS) % 3 == 0, np.nan, AIR)
    row = scores(holed)
    assert row["samples"] == 160
    assert row["rmse"] == pytest.approx(0)
    with pytest.raises(CalibrationError, match="o3 has no estimate in the part to be scored"):
        scores(np.full(HOURS, np.nan))


def test_expanded_uncertainty_of_an_offset_and_of_a_slope() -> None:
    # Without scatter U = 2·|b0 + (b1 − 1)·x|/x: an offset of 3 at 60 is 10 %, a slope of 1.1 is 20 %.
    assert expanded_uncertainty(AIR, AIR + 3, np.array([60.0]))[0] == pytest.approx(10)
    assert expanded_uncertainty(AIR, 1.1 * AIR, np.array([60.0]))[0] == pytest.approx(20)
    assert scores(AIR + 3)["eu_level"] == pytest.approx(AIR.max())  # the record ends below the limit of 60 ppb
    assert scores(AIR + 3)["eu"] == "objective 30 %"
