import numpy as np
import pytest

from pc2dae.metrics import blind

RNG = np.random.default_rng(0)
NAN = np.nan


def everywhere(x: np.ndarray) -> np.ndarray:
    return np.ones(x.shape, bool)


def test_smoothness_of_literals() -> None:
    rough = np.array([[0.0, 2, 0, 2], [1, 1, 1, 1]])
    calm = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1]])
    # TV 6 → 1; a record that never moves has no smoothness to gain.
    assert blind.smoothness(calm, rough, everywhere(rough)) == pytest.approx([100 * (1 - 1 / 6), NAN], nan_ok=True)


def test_smoothness_steps_over_what_was_not_observed() -> None:
    x = np.array([[0.0, 99, 4, 0]])
    ok = np.array([[True, False, True, True]])
    assert blind.smoothness(x / 2, x, ok) == pytest.approx([50.0])
    assert blind.smoothness(np.array([[0.0, -99, 2, 0]]), x, ok) == pytest.approx([50.0])


def test_a_constant_scores_everything_and_the_raw_record_nothing() -> None:
    x = RNG.normal(size=(2, 1000))
    ok = everywhere(x)
    flat = np.zeros_like(x)
    for metric in (blind.smoothness, blind.hf_reduction):
        assert metric(flat, x, ok) == pytest.approx([100, 100])
        assert metric(x, x, ok) == pytest.approx([0, 0])


def test_hf_reduction_hears_only_above_a_quarter_of_nyquist() -> None:
    t = np.arange(4096)
    slow, fast = np.sin(2 * np.pi * 0.05 * t), np.sin(2 * np.pi * 0.3 * t)
    both = (slow + fast)[None]
    assert blind.hf_reduction(slow[None], both, everywhere(both)) == pytest.approx([100], abs=0.1)
    assert blind.hf_reduction(fast[None], both, everywhere(both)) == pytest.approx([0], abs=0.1)
    assert blind.hf_reduction(slow[None] + fast[None] / 2, both, everywhere(both)) == pytest.approx([75], abs=0.1)


def test_hf_reduction_ignores_the_jump_across_a_gap() -> None:
    x = RNG.normal(size=(1, 2000))
    x[:, 1000:] += 500
    ok = everywhere(x)
    ok[:, 990:1010] = False
    halved = x - 0.5 * (x - np.where(np.arange(2000) < 1000, 0, 500))
    assert blind.hf_reduction(halved, x, ok) == pytest.approx([75], abs=1)


def test_hf_reduction_of_a_stale_sensor_is_on_its_own_clock() -> None:
    x = np.repeat(RNG.normal(size=(1, 1000)), 2, axis=1)
    fresh = np.zeros(x.shape, bool)
    fresh[:, ::2] = True
    assert blind.hf_reduction(x / 2, x, fresh) == pytest.approx([75])


def test_negatives_count_what_is_not_a_number_too() -> None:
    out = np.array([[-1.0, 0.0, 1.0, NAN], [-1, -1, -1, -1]])
    ok = np.array([[True] * 4, [False] * 4])
    assert blind.negatives(out, ok) == pytest.approx([50.0, NAN], nan_ok=True)


def test_no_value_before_the_first_observation_is_no_fault_but_in_a_gap_it_is() -> None:
    out = np.array([[NAN, NAN, 1.0, NAN, 1.0, 1.0, NAN], [-1.0, NAN, 1.0, NAN, 1.0, 1.0, NAN]])
    ok = np.array([[False, False, True, False, True, True, False]] * 2)
    assert blind.negatives(out, ok) == pytest.approx([25.0, 40.0])


def test_means_moved_by_two_sigma_of_the_mean() -> None:
    x = np.zeros((1, 40))
    # σ = 1, ten observations: the mean's σ is 1/√10; a shift of 2/√10 is 2 of them.
    assert blind.mean_10s_change(x + 2 / np.sqrt(10), x, everywhere(x), np.ones(1)) == pytest.approx([2.0])
    assert blind.mean_10s_change(x, x, everywhere(x), np.ones(1)) == pytest.approx([0.0])


def test_pair_agreement_rewards_less_noise_and_punishes_a_smeared_plume() -> None:
    t = np.arange(3000)
    truth = 100 * np.exp(-0.5 * ((t - 1500) / 4) ** 2)
    a, b = truth + RNG.normal(size=(2, 3000))
    ok = np.ones(3000, bool)
    assert blind.pair_agreement(a, a, b, ok) == pytest.approx(1.0)
    assert blind.pair_agreement(truth, a, b, ok) == pytest.approx(np.sqrt(0.5), abs=0.03)
    assert blind.pair_agreement(truth, a, b + 40 + t / 300, ok) == pytest.approx(
        np.sqrt(0.5), abs=0.03
    )  # offset, drift
    assert blind.pair_agreement(np.full(3000, a.mean()), a, b, ok) > 3
