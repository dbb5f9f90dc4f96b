import numpy as np
import pandas as pd
import pytest

from pc2dae.denoiser import Estimate
from pc2dae.metrics import with_means
from pc2dae.metrics.budget import budget_rows, budget_table
from suites import make_suite

SUITE = make_suite({"gas": {"co": "ppb", "no": "ppb"}, "co2": {"co2": "ppm"}}, name="s")
T = np.arange(900)


def scores() -> pd.DataFrame:
    """Noise of σ = 5; in a plume the air is 100 higher and read 10 lower for the lag; calibration adds 20."""
    rng = np.random.default_rng(0)
    plume = (T >= 400) & (T < 430)
    ambient = np.tile(200.0 + 100.0 * plume, (3, 1))
    instant = ambient + 20.0
    response = instant - 10.0 * plume
    values = response + rng.normal(0, 5, response.shape)
    answers = {"oracle": Estimate(instant + 1.0, instant + 1.0), "raw": Estimate(values, values)}
    rows = budget_rows(
        answers, values, np.ones(values.shape, bool), SUITE, target=instant, readings=values, response=response,
        instant=instant, ambient=ambient,
    )  # fmt: skip
    return pd.concat([with_means(r).assign(method=m) for m, r in rows.items()], ignore_index=True)


def test_parts_of_the_error_and_what_is_left() -> None:
    table = budget_table(scores())
    assert list(table.index)[-3:] == [("gas", "all"), ("co2", "all"), ("all", "all")]
    co = table.loc["gas", "co"]
    assert co["budget_noise"] == pytest.approx(0.8, rel=0.1)  # mean |N(0, 1)| = √(2/π)
    assert co["budget_lag_plume"] == pytest.approx(2.0, rel=0.1)
    assert co["budget_lag"] == pytest.approx(2.0 * 30 / 900, rel=0.1)
    assert co["budget_calibration"] == pytest.approx(4.0, rel=0.1)
    assert co["budget_left"] == co["budget_left_plume"] == pytest.approx(0.2, rel=0.1)
    assert table.loc["all", "all"].to_numpy() == pytest.approx(co.to_numpy(), rel=0.3)


def test_what_the_raw_data_leave_is_noise_and_lag_together() -> None:
    table = scores()
    left = table[(table.method == "raw") & (table.metric == "budget_left_plume") & (table.channel == "co2")].value
    assert left.iloc[0] == pytest.approx(2.0, rel=0.2)


def test_scores_without_truth_have_no_budget() -> None:
    blind = with_means([("co", "gas", "smoothness", 50.0)]).assign(method="oracle")
    assert budget_table(blind).empty
