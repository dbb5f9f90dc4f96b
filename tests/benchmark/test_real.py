"""Real records: only those reserved for scoring, B never an input, no network scored on its training data."""

from pathlib import Path

import numpy as np
import pytest

from pc2dae.benchmark import QUICK, plan_of
from pc2dae.benchmark.denoisers import denoiser_of
from pc2dae.benchmark.plan import Contender
from pc2dae.benchmark.real import SETS, has_training, present, real_cases, training_of
from pc2dae.benchmark.task import units_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="real measurements are not beside this tree")


def test_development_files_are_never_scored():
    scored = {(s.name, file) for s in SETS for file in s.scored}
    for name, file in (("goamazon", "G1_dryseason_23.xlsx"), ("konza", "1D.csv"), ("konza", "HQ_1.csv")):
        assert (name, file) not in scored


def test_nothing_is_scored_where_there_is_no_data(tmp_path):
    assert present(None) == present(tmp_path) == []
    assert units_of(plan_of(QUICK, parts=["real"], methods=["ma5"]), None) == []


def test_a_network_learns_from_every_file_but_the_one_it_is_scored_on():
    for kind in SETS:
        for file in kind.scored:
            assert file not in kind.training(file)
    assert [s.name for s in SETS if not has_training(s.name)] == ["ae51", "stap"]


@needs_data
def test_a_drone_flight_is_scored_without_a_truth():
    (case,) = real_cases(DATA, "konza", "HQ_2.csv")
    assert case.suite.names == ("co2", "co", "pm25")
    assert case.truth is None
    assert denoiser_of(Contender("truth"), case, None) is None
    assert denoiser_of(Contender("ma5", "oracle"), case, None) is None


@needs_data
@pytest.mark.slow
def test_analyser_b_is_no_input_and_only_the_second_half_is_scored():
    file = "2018-05-06_Licor_comparison.zip"
    (case,) = real_cases(DATA, "li840a", file)
    flights, suite = training_of(DATA, "li840a", file)
    assert case.suite.names == suite.names == ("co2_1",)
    assert case.values.shape[0] == 1
    assert flights[0]["time"].values[-1] < case.flight["time"].values[0]
    ok = np.isfinite(case.truth[0])
    assert abs(np.median(case.values[0, ok] - case.truth[0, ok])) < 0.2  # the 6.8 ppm between them is taken out


@needs_data
@pytest.mark.slow
def test_aircraft_noise_is_injected_in_units_of_the_middle_range():
    low, high = real_cases(DATA, "goamazon", "G1_dryseason_24.xlsx")
    assert low.suite.names == ("co", "nox")
    for case, sigma in ((low, 0.05), (high, 0.10)):
        span = np.nanpercentile(case.truth, 98, axis=1) - np.nanpercentile(case.truth, 2, axis=1)
        assert np.nanstd(case.values - case.truth, axis=1) / span == pytest.approx([sigma, sigma], rel=0.05)
