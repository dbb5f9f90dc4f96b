"""Noise level, autocorrelation and zero of each channel, offline and live."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from pc2dae.edge.levels import STEP, WARMUP, of_flight, survey, trailing
from pc2dae.noise import is_held, level_doubt, noise_level, shared_noise
from pc2dae.registry import load_model
from pc2dae.suite import parse_suite

model = cache(load_model)
LIVE = ("adaptive-short", "adaptive-causal")


def run(name: str, values: np.ndarray, *, profile: str = "live", bound: float = 0.0, noise: float | None = None):
    stated = "" if noise is None else f"noise_sigma={noise}\n"
    channels = [
        f'[[family.channel]]\nname="c{i}"\nunits="1"\nlower_bound={bound}\n{stated}' for i in range(len(values))
    ]
    suite = parse_suite('name="s"\n[[family]]\nname="f"\n' + "".join(channels), where="test")
    job = model(name, profile=profile).prepare(None, suite)  # type: ignore[arg-type]
    return job(values, np.full((3, values.shape[1]), np.nan), np.isfinite(values))


def test_repeats_of_a_held_sensor_are_not_noise_free() -> None:
    """One value in three is new: the noise level is that of the new ones; repeats are not measurements."""
    rng = np.random.default_rng(0)
    fresh = 400 + rng.standard_normal(200)
    held = np.repeat(fresh, 3)[None]
    levels, new = of_flight(held, np.ones(held.shape, bool), np.zeros(1))
    assert levels.sigma[0, 0] == pytest.approx(1, abs=0.2)
    assert new.sum() == 200
    assert new[0, ::3].all()


def test_repeated_zeros_and_the_lowest_value_of_a_held_sensor_are_measurements() -> None:
    """A particle counter in clean air, calibrated or not: without its zeros, a plume would begin before its front."""
    plume = np.where(np.arange(600) % 150 < 12, 0.0, 60 + np.random.default_rng(0).normal(0, 8, 600)).repeat(3)[None]
    for values in (plume, 1.3 * plume - 2.0):
        levels, new = of_flight(values, np.ones(values.shape, bool), np.zeros(1))
        assert levels.held[0, 0] == 1
        assert new[plume == 0].all()
        assert new[plume != 0].mean() == pytest.approx(1 / 3, abs=0.01)


def test_a_quantised_channel_at_rest_is_not_held() -> None:
    rng = np.random.default_rng(1)
    assert not is_held(np.round(10 + 0.4 * rng.standard_normal(600)))
    assert is_held(np.repeat(rng.standard_normal(200), 3))
    assert not is_held(np.full(300, 7.0))


def test_rounding_is_no_quantisation() -> None:
    values = np.full((1, 200), 0.1)
    values[0, ::2] += 1e-17 * 8
    assert np.isfinite(noise_level(values, np.ones(values.shape, bool)).step).all()


def test_copies_share_their_noise_and_neighbours_in_a_plume_do_not() -> None:
    rng = np.random.default_rng(2)
    t = np.arange(900)
    plume = sum(300 * np.exp(-0.5 * ((t - c) / 3) ** 2) for c in range(40, 900, 25))  # hardly any clean air
    x = np.stack([plume + rng.standard_normal(900), 0.5 * plume + rng.standard_normal(900)])
    copies = np.stack([x[0], x[1], 1.15 * x[0] + 3, -2 * x[1]])
    valid = np.ones(copies.shape, bool)
    assert shared_noise(copies, valid, noise_level(copies, valid).sigma).tolist() == [0, 1, 0, 1]


def test_a_level_from_few_samples_is_doubted() -> None:
    assert level_doubt(np.array([1, 2, 7, 10**6])) == pytest.approx([3.84, 3.84, 1.775, 1.0], abs=0.01)


def test_one_value_says_nothing_about_noise() -> None:
    values = np.array([[5.0, np.nan, np.nan], [7.0, 7.0, 7.0], [1.0, 3.0, np.nan]])
    assert survey(values, np.isfinite(values), np.zeros(3)).sigma == pytest.approx(
        [np.nan, np.nan, np.sqrt(2)], nan_ok=True
    )


def test_live_levels_do_not_look_ahead() -> None:
    rng = np.random.default_rng(3)
    values = 50 + rng.standard_normal((2, 500))
    changed = values.copy()
    changed[:, 250:] = 1e6 * rng.standard_normal((2, 250))
    bound, prior = np.zeros(2), np.array([np.nan, 2.0])
    for name in ("sigma", "lag1", "doubt", "zero", "group", "held"):
        before, after = (
            getattr(trailing(x, np.ones(x.shape, bool), bound, prior)[0], name)[:, :250] for x in (values, changed)
        )
        assert np.array_equal(before, after), name


def test_live_levels_follow_their_schedule() -> None:
    rng = np.random.default_rng(4)
    values = 50 + rng.standard_normal((1, 200))
    sigma = trailing(values, np.ones(values.shape, bool), np.zeros(1), np.array([np.nan]))[0].sigma[0]
    assert len(np.unique(sigma[2:WARMUP])) > 20  # at every sample at first
    for start in range(WARMUP, 200, STEP):
        assert len(np.unique(sigma[start : start + STEP])) == 1


@pytest.mark.parametrize("name", LIVE)
def test_the_first_seconds_live_are_in_physical_units(name: str) -> None:
    """CO₂ of 420 ppm with σ = 0.05 read 469.6 ± 18.6 at second 9."""
    values = 420 + 0.05 * np.random.default_rng(5).standard_normal((1, 40))
    estimate = run(name, values, bound=300.0)
    assert np.abs(estimate.value - 420).max() < 0.3
    assert (np.abs(estimate.value - 420) <= 1.645 * estimate.sigma).mean() > 0.8


@pytest.mark.parametrize("name", LIVE)
def test_a_sensor_that_died_keeps_what_it_measured(name: str) -> None:
    """Truth 10, σ = 3, dead since second 50: it read 57.6 ± 0.8 two hundred seconds later."""
    values = 10 + 3 * np.random.default_rng(6).standard_normal((1, 400))
    values[0, 50:] = np.nan
    estimate = run(name, values)
    assert np.abs(estimate.value[0, 60:300] - 10).max() < 9
    assert (np.abs(estimate.value[0, 60:300] - 10) <= 3 * estimate.sigma[0, 60:300]).mean() > 0.9
    assert np.isnan(estimate.value[0, 306:]).all()


@pytest.mark.parametrize("name", LIVE)
def test_live_is_nearly_as_good_as_offline(name: str) -> None:
    """At σ = 2 the rms error was 0.83 σ live against 0.19 σ offline."""
    values = 50 + 2 * np.random.default_rng(7).standard_normal((1, 1500))
    errors = [np.sqrt(np.mean((run(name, values, profile=p).unbounded[0, 60:] - 50) ** 2)) for p in ("live", "flight")]
    assert errors[0] < 1.3 * errors[1]


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("noise", [None, 1.0])
def test_the_first_ten_seconds_live_have_honest_intervals(name: str, noise: float | None) -> None:
    rng = np.random.default_rng(8)
    inside = []
    for _ in range(12):
        values = 50 + rng.standard_normal((4, 10))
        estimate = run(name, values, noise=noise)
        inside.append(np.abs(estimate.value - 50) <= 1.645 * estimate.sigma)
    assert np.mean(inside) >= 0.85


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
def test_records_of_a_few_samples_have_honest_intervals(length: int) -> None:
    """90 % intervals held 0 to 44 %."""
    rng = np.random.default_rng(9)
    inside = []
    for level, sigma in ((10, 3.0), (420, 0.05)):
        values = level + sigma * rng.standard_normal((40, length))
        for row in values:
            estimate = run("adaptive", row[None], profile="flight")
            inside.append(np.abs(estimate.value - level) <= 1.645 * estimate.sigma)
    assert np.mean(inside) >= 0.85


@pytest.mark.parametrize("name", ["adaptive", *LIVE])
@pytest.mark.parametrize("profile", ["flight", "live"])
def test_two_large_values_stay_two_large_values(name: str, profile: str) -> None:
    values = np.full((1, 30), np.nan)
    values[0, [3, 9]] = 3.3e6
    estimate = run(name, values, profile=profile)
    seen = np.isfinite(estimate.value)
    assert seen.any()
    assert estimate.unbounded[seen] == pytest.approx(3.3e6)
    assert np.isfinite(estimate.sigma[seen]).all()


@pytest.mark.parametrize("name", LIVE)
def test_a_channel_never_measured_has_no_estimate(name: str) -> None:
    """A slow sensor's first value is at second 2: there is no estimate before it."""
    values = np.stack([50.0 + np.arange(20) % 3, np.full(20, np.nan), np.full(20, np.nan)])
    values[2, 4::2] = 7.0
    estimate = run(name, values)
    assert np.isnan(estimate.value[1]).all()
    ahead = 1 if name == "adaptive-short" else 0
    assert np.isnan(estimate.value[2, : 4 - ahead]).all()
    assert np.isfinite(estimate.value[2, 4:]).all()
    assert np.isfinite(estimate.value[0]).all()


def test_a_stuck_channel_is_not_sure_of_itself() -> None:
    """150 ± 2e-13: its noise is unknown, so the uncertainty is as large as the value."""
    estimate = run("adaptive-short", np.full((1, 100), 150.0))
    assert estimate.value == pytest.approx(150.0)
    assert (estimate.sigma > 1).all()
