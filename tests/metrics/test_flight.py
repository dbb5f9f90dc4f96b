import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.errors import FlightError
from pc2dae.flags import STALE
from pc2dae.flight.schema import new_flight
from pc2dae.metrics import score_flight
from pc2dae.suite import load_suite

SUITE = load_suite("black-kite").only(["gas", "co2"])
T = np.arange(900)
TIME = np.datetime64("2025-10-14T18:00:00", "ns") + T * np.timedelta64(1, "s")


def denoised() -> tuple[xr.Dataset, xr.Dataset]:
    """A flight denoised by an oracle that is exactly right but for 1 unit too much, and its truth."""
    rng = np.random.default_rng(0)
    smoke = np.exp(-0.5 * ((T - 400) / 15) ** 2)
    raw, truth = {}, {}
    for c in SUITE.channels:
        truth[c.name] = c.lower_bound + 50 + 400 * smoke
        raw[c.name] = truth[c.name] + rng.normal(0, 5, len(T))
    clean = new_flight(TIME, raw, SUITE, level="denoised")
    for name in SUITE.names:
        clean[f"{name}_raw"] = clean[name].copy()
        clean[name] = ("time", truth[name] + 1, clean[name].attrs)
        clean[f"{name}_unbounded"] = ("time", truth[name] + 1)
        clean[f"{name}_uncertainty"] = ("time", np.full(len(T), 1.0))
    clean.attrs["pc2dae_model"] = "oracle"
    known = xr.Dataset(
        {f"{n}_{k}": ("time", v) for n, v in truth.items() for k in ("response", "ambient")}, {"time": TIME}
    )
    return clean, known


def value(table, method: str, metric: str) -> float:
    row = table[
        (table.method == method) & (table.channel == "all") & (table.family == "all") & (table.metric == metric)
    ]
    return float(row.value.iloc[0])


def test_the_flights_own_answer_stands_beside_the_yardsticks() -> None:
    clean, truth = denoised()
    table = pc2dae.evaluate(clean, truth=truth)
    assert list(table.method.unique()) == ["oracle", "raw", "clip", "constant", "truth"]
    assert value(table, "raw", "mae_improvement") == 0
    assert value(table, "truth", "mae_improvement") == pytest.approx(100)
    assert value(table, "constant", "smoothness") == pytest.approx(100)
    # The mean absolute error of N(0, 5²) is 5·√(2/π) = 3.99; ours is 1.
    assert value(table, "oracle", "mae_improvement") == pytest.approx(100 * (1 - 1 / 3.99), abs=2)
    assert value(table, "oracle", "background_bias") == pytest.approx(0.2, rel=0.1)
    assert value(table, "oracle", "coverage_90") == pytest.approx(100)
    assert value(table, "oracle", "ambient_error") == pytest.approx(0.2, rel=0.1)


def test_a_lag_corrected_channel_is_scored_against_the_instant_reading() -> None:
    clean, truth = denoised()
    for name in SUITE.names:
        truth[f"{name}_instant"] = truth[f"{name}_response"] + 3.0
    clean["co_a"].attrs["target"] = "ambient"
    table = pc2dae.evaluate(clean, truth=truth)
    bias = table[(table.method == "oracle") & (table.metric == "background_bias")].set_index("channel").value
    assert bias["co_a"] == pytest.approx(-0.4, rel=0.1)  # 1 − 3 units, of 5 units noise
    assert bias["co_b"] == pytest.approx(0.2, rel=0.1)
    raw = table[(table.method == "raw") & (table.metric == "background_bias")].set_index("channel").value
    assert raw["co_a"] == pytest.approx(-0.6, abs=0.1)


def test_a_truth_without_instant_readings_says_to_simulate_again() -> None:
    clean, truth = denoised()
    clean["co_b"].attrs["target"] = "ambient"
    with pytest.raises(FlightError, match=r"the truth has no 'co_b_instant'.*run `pc2dae simulate` again"):
        score_flight(clean, truth=truth)


def test_without_truth_only_blind_metrics_and_stale_samples_do_not_count() -> None:
    clean, _ = denoised()
    before = score_flight(clean)
    assert "mae_improvement" not in set(before.metric)
    clean["co_a_raw"][100] = 9e4
    clean["qc_co_a"][100] = STALE
    after = score_flight(clean)
    rows = [
        t[(t.method == "oracle") & (t.channel == "co_a") & (t.metric == "smoothness")].value.iloc[0]
        for t in (before, after)
    ]
    assert rows[1] == pytest.approx(rows[0], abs=0.5)


def test_with_the_model_duplicates_are_withheld_and_leakage_is_looked_for() -> None:
    clean, _ = denoised()
    table = pc2dae.evaluate(clean, model="ma5")
    assert value(table, "oracle", "leakage") == 0
    assert value(table, "oracle", "pair_agreement") < 1


def test_the_truth_of_another_flight_is_refused() -> None:
    clean, truth = denoised()
    with pytest.raises(FlightError, match="share no time"):
        score_flight(clean, truth=truth.assign_coords(time=TIME + np.timedelta64(1, "D")))
    with pytest.raises(FlightError, match="the truth has no 'no_a_response'"):
        score_flight(clean, truth=xr.Dataset(coords={"time": TIME}))


def test_a_flight_that_is_not_denoised_is_refused() -> None:
    clean, _ = denoised()
    with pytest.raises(FlightError, match="'denoised' is needed"):
        score_flight(clean.assign_attrs(level="raw"))
