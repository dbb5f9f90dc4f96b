import numpy as np
import pytest

from pc2dae.denoiser import Estimate
from pc2dae.filters import FILTERS
from pc2dae.metrics import ALL, RATIO, inject, leakage_scores, pair_scores, paired_difference, scales, score
from pc2dae.metrics.ratio import ratio_error
from pc2dae.suite import load_suite

SUITE = load_suite("black-kite").only(["bc", "gas", "co2"])
T = np.arange(1200.0)


def campaign(noise: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, values and noise of one constructed flight: every channel sees the same three plumes."""
    rng = np.random.default_rng(0)
    shape = sum(h * np.exp(-0.5 * ((T - c) / 9) ** 2) for h, c in [(1.0, 250), (0.6, 600), (0.8, 950)])
    bound = np.array([[c.lower_bound] for c in SUITE.channels])
    sigma = np.array([c.noise_sigma for c in SUITE.channels])
    truth = bound + 2 * sigma[:, None] + 60 * sigma[:, None] * shape
    return truth, truth + noise * sigma[:, None] * rng.normal(size=truth.shape), sigma


def test_the_table_is_tidy_and_its_means_are_means_of_means() -> None:
    truth, values, _ = campaign()
    ok = np.ones(values.shape, bool)
    table = score(Estimate(truth, truth), values, ok, SUITE, truth=truth)
    assert list(table.columns) == ["channel", "family", "metric", "value"]
    one = table[table.metric == "smoothness"].set_index(["family", "channel"]).value
    families = {f.name: np.mean([one[f.name, c.name] for c in f.channel]) for f in SUITE.family}
    assert {f: one[f, ALL] for f in families} == pytest.approx(families)
    assert one[ALL, ALL] == pytest.approx(np.mean(list(families.values())))
    overall = table[(table.channel == ALL) & (table.family == ALL)].set_index("metric").value
    assert overall["mae_improvement"] == pytest.approx(100)
    assert overall["excess_error"] == pytest.approx(0, abs=1e-9)
    assert overall["ratio_error"] == pytest.approx(0, abs=1e-9)
    assert set(table[table.family == RATIO].channel) == {"bc/co", "co/co2", ALL}
    assert "crps" not in set(table.metric)


def test_an_uncertainty_brings_its_own_scores_and_no_truth_leaves_only_blind_ones() -> None:
    truth, values, sigma = campaign()
    ok = np.ones(values.shape, bool)
    spread = np.broadcast_to(sigma[:, None], truth.shape)
    assert "coverage_90_plume" in set(score(Estimate(values, values, spread), values, ok, SUITE, truth=truth).metric)
    blind = score(Estimate(values, values), values, ok, SUITE)
    assert set(blind.metric) == {"smoothness", "hf_reduction", "negatives", "mean_10s_change"}


def test_the_ratio_of_a_lowered_channel_is_wrong_by_as_much() -> None:
    truth, _, sigma = campaign()
    bound = np.array([[c.lower_bound] for c in SUITE.channels])
    low = truth.copy()
    bc = [i for i, c in enumerate(SUITE.channels) if c.name.startswith("bc_ir")]
    base = bound[bc] + 2 * sigma[bc][:, None]
    low[bc] = base + 0.8 * (low[bc] - base)
    errors = ratio_error(low, truth, sigma, SUITE)
    assert errors["bc/co"] == pytest.approx(20, abs=0.5)
    assert errors["co/co2"] == pytest.approx(0, abs=0.1)


def test_pairs_and_leakage_of_a_filter() -> None:
    _, values, _ = campaign()
    ok = np.ones(values.shape, bool)
    import xarray as xr

    job = FILTERS["ma5"].prepare(xr.Dataset(), SUITE)
    environment = np.full((3, len(T)), np.nan)
    pairs = pair_scores(job, values, environment, ok, SUITE).set_index("channel").value
    assert pairs["co_a"] < 1
    assert "so2_a" not in pairs
    leaks = leakage_scores(job, values, environment, ok, SUITE, channels=["co_a"])
    assert leaks.set_index("channel").value["co_a"] == 0


def test_injected_noise_has_the_size_asked_for() -> None:
    clean = np.stack([np.linspace(0, 100, 20001), np.full(20001, 300.0)])
    scale = scales(clean, np.array([0.0, 300.0]))
    assert scale == pytest.approx([99.5, 1.0])
    noise = inject(clean, scale, sigma=0.05, seed=1) - clean
    assert noise.std(axis=1) == pytest.approx(0.05 * scale, rel=0.02)
    assert np.array_equal(noise, inject(clean, scale, sigma=0.05, seed=1) - clean)


def test_a_lead_counts_only_when_it_holds_over_flights() -> None:
    first = np.array([3.0, 4.0, 5.0, 4.0, 3.5, np.nan])
    steady = paired_difference(first, first - 1)
    assert (steady.mean, steady.low, steady.high, steady.flights) == (1.0, 1.0, 1.0, 5)
    assert steady.is_lead
    shaky = paired_difference(first, first + np.array([5.0, -5, 4, -4, 0.1, 0]))
    assert not shaky.is_lead
    assert shaky.low < 0 < shaky.high
    assert paired_difference(np.array([np.nan]), np.array([1.0])).flights == 0
