"""Guaranteed properties of the shipped adaptive model, on constructed records not used for training."""

from dataclasses import replace

import numpy as np
import pytest

from pc2dae.edge import adaptive
from pc2dae.noise import noise_level
from pc2dae.registry import load_model
from pc2dae.simulate.random_scenes import random_scene
from pc2dae.suite import Suite, parse_suite

T = 1800


@pytest.fixture(scope="module")
def model():
    return load_model("adaptive")


def suite_of(count: int, bound: float = 0.0) -> Suite:
    channels = "".join(
        f'[[family.channel]]\nname = "c{i}"\nunits = "ppb"\nlower_bound = {bound}\n' for i in range(count)
    )
    return parse_suite(f'name = "test"\n[[family]]\nname = "f"\n{channels}', where="test")


def run(model, values, *, bound: float = 0.0, valid=None):
    valid = np.isfinite(values) if valid is None else valid
    return model.prepare(None, suite_of(len(values), bound))(values, np.full((3, values.shape[1]), np.nan), valid)


def plume(centre: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((np.arange(T) - centre) / width) ** 2)


def test_pure_noise_becomes_a_line(model) -> None:
    rng = np.random.default_rng(1)
    noise = 40 + rng.standard_normal((4, T))
    estimate = run(model, noise)
    assert np.all(estimate.value.std(axis=1) <= 0.15)
    assert np.all(np.abs(estimate.unbounded - 40).max(axis=1) < 1)  # no encounter: far below 3 σ
    assert np.all(np.abs(estimate.unbounded.mean(axis=1) - 40) < 0.06)  # the mean of the noise itself is ± 0.024


@pytest.mark.parametrize(("background", "limit"), [(0.0, 0.1), (0.5, 0.05), (3.0, 0.05)])
def test_clean_air_is_hardly_biased_by_the_bound(model, background: float, limit: float) -> None:
    noise = background + np.random.default_rng(2).standard_normal((6, T))
    sampled = noise.mean() - background
    estimate = run(model, noise)
    assert abs(estimate.value.mean() - background - sampled) <= limit
    assert abs(estimate.unbounded.mean() - background - sampled) <= 0.02


@pytest.mark.parametrize(("name", "profile", "limit"), [("adaptive", "flight", 0.02), ("adaptive-short", "live", 0.03)])
@pytest.mark.parametrize("zero", [-0.6, -0.3, -0.1])
def test_clean_air_below_the_bound_is_not_raised_before_it(name: str, profile: str, limit: float, zero: float) -> None:
    """Within 1 σ below the bound clean air was raised by up to 0.2 σ, outside nine tenths of the intervals."""
    noise = np.random.default_rng([2, 5]).standard_normal((6, T))
    estimate = run(load_model(name, profile=profile), zero + noise)
    later = slice(300, None)  # of a stream that has seen its clean air
    assert abs((estimate.unbounded - zero - noise)[:, later].mean()) <= limit
    assert np.mean(np.abs(estimate.unbounded - zero)[:, later] < 1.645 * estimate.sigma[:, later]) >= 0.9


def test_a_plume_in_one_channel_stays_there(model) -> None:
    rng = np.random.default_rng(3)
    quiet = 20 + rng.standard_normal((5, T))
    loud = quiet.copy()
    for centre in (300, 700, 1100, 1500):
        loud[0] += 30 * plume(centre, 8)
    moved = run(model, loud).unbounded - run(model, quiet).unbounded
    in_plume = sum(plume(c, 8) for c in (300, 700, 1100, 1500)) > 0.1
    assert np.all(np.abs(moved[1:, in_plume].mean(axis=1)) < 0.1)


def test_a_ratio_that_doubles_between_plumes_is_recovered(model) -> None:
    rng = np.random.default_rng(4)
    first, second = plume(500, 12), plume(1300, 12)
    clean = np.stack([50 * first + 50 * second, 20 * first + 40 * second]) + 10
    excess = run(model, clean + rng.standard_normal(clean.shape)).unbounded - 10
    ratios = [excess[1, part].sum() / excess[0, part].sum() for part in (slice(440, 560), slice(1240, 1360))]
    assert ratios == pytest.approx([0.4, 0.8], rel=0.05)


def test_a_dip_stays_a_dip(model) -> None:
    rng = np.random.default_rng(5)
    smoke = plume(600, 10) + plume(1200, 10)
    clean = np.stack([40 - 25 * smoke, 10 + 60 * smoke])
    estimate = run(model, clean + rng.standard_normal(clean.shape))
    assert estimate.value[0, [600, 1200]] == pytest.approx([15, 15], abs=1.5)


def test_excess_and_peak_are_kept(model) -> None:
    rng = np.random.default_rng(6)
    centres = np.arange(120, T - 100, 150)
    clean = 5 + sum(25 * plume(c, 6) for c in centres)
    estimate = run(model, clean + rng.standard_normal((4, T)))
    excess = np.array([estimate.unbounded[:, c - 30 : c + 31].sum(axis=1) - 5 * 61 for c in centres])
    assert excess.mean() / (25 * plume(0, 6)[1:31].sum() * 2 + 25) == pytest.approx(1, abs=0.02)
    peaks = np.array([estimate.value[:, c - 3 : c + 4].max(axis=1) - 5 for c in centres])
    assert peaks.mean() / 25 == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("shift", [0.0, -3.0])
def test_an_offset_below_the_bound_leaves_the_excess_right(model, shift: float) -> None:
    rng = np.random.default_rng(7)
    centres = np.arange(150, T - 100, 200)
    clean = shift + sum(30 * plume(c, 8) for c in centres)
    estimate = run(model, clean + rng.standard_normal((4, T))).unbounded
    background = np.median(estimate, axis=1)
    excess = np.mean([estimate[:, c - 32 : c + 33].sum(axis=1) - 65 * background for c in centres])
    assert excess == pytest.approx(30 * 8 * np.sqrt(2 * np.pi), rel=0.02)


def test_a_cell_that_settles_from_far_below_the_bound_is_followed(model) -> None:
    """Not replaced by an average over the plume that comes minutes later."""
    settling = -40 * np.exp(-np.arange(T) / 15)
    truth = 5 + settling + 1000 * plume(600, 15)
    estimate = run(model, (truth + np.random.default_rng(11).standard_normal(T))[None])
    start = slice(0, 60)
    assert np.abs(estimate.unbounded[0, start] - truth[start]).max() < 4
    assert np.abs(estimate.unbounded[0, start] - truth[start]).mean() < 1
    assert estimate.value[0, :15].max() < 1


def test_a_level_far_above_the_bound_costs_no_precision(model) -> None:
    noise = np.random.default_rng(12).standard_normal((2, T))
    near, far = (run(model, level + noise).unbounded - level for level in (500.0, 5e8))
    assert far == pytest.approx(near, abs=0.02)


def test_pieces_are_the_whole(model, monkeypatch) -> None:
    rng = np.random.default_rng(8)
    values = 5 + rng.standard_normal((3, T)) + 20 * plume(700, 15)
    whole = run(model, values)
    monkeypatch.setattr(adaptive, "PIECE", 3 * 257)
    pieces = run(model, values)
    for name in ("value", "unbounded", "sigma"):
        assert getattr(pieces, name) == pytest.approx(getattr(whole, name), abs=1e-5 * np.ptp(values))


@pytest.mark.parametrize("name", ["adaptive", "adaptive-short", "adaptive-causal"])
@pytest.mark.parametrize("length", [1, 2, 3, 10, 300])
def test_a_record_of_any_length_is_given_to_the_network_as_it_is(name: str, length: int) -> None:
    lengths = []
    model = load_model(name)

    def network(*inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        lengths.append([x.shape[-1] for x in inputs])
        return model.network(*inputs)

    values = 50 + np.random.default_rng(13).standard_normal((3, length))
    values[1, : length // 2] = np.nan  # begins late
    estimate = run(replace(model, network=network), values)
    assert lengths == [[length] * len(adaptive.INPUTS)]
    assert np.abs(estimate.value[[0, 2]] - 50).max() < 4
    assert np.isfinite(estimate.value[1, length // 2 :]).all()


def test_gaps_and_rubbish_are_not_looked_at(model) -> None:
    values = 5 + np.random.default_rng(9).standard_normal((2, T))
    valid = np.ones(values.shape, bool)
    valid[0, 500:520] = False
    holed, rubbish = values.copy(), values.copy()
    holed[0, 500:520], rubbish[0, 500:520] = np.nan, 1e12
    estimate = run(model, holed, valid=valid)
    assert np.isfinite(estimate.value).all()
    assert run(model, rubbish, valid=valid).value == pytest.approx(estimate.value, abs=1e-6)


def test_far_from_any_observation_there_is_no_estimate(model) -> None:
    values = np.full((1, T), np.nan)
    values[0, :300] = 7.0 + np.random.default_rng(10).standard_normal(300)
    value = run(model, values).value[0]
    assert np.isfinite(value[:550]).all()
    assert np.isnan(value[600:]).all()


@pytest.mark.parametrize("kind", ["white", "heavy", "differenced", "laplace and counting"])
def test_intervals_are_never_too_narrow(model, kind: str) -> None:
    rng = np.random.default_rng(11)
    plumes = [(20, 200, 4), (8, 500, 25), (40, 900, 9), (15, 1300, 2), (25, 1500, 14)]
    clean = 10 + sum(height * plume(centre, width) for height, centre, width in plumes)
    shape = (6, T)
    noise = {
        "white": rng.standard_normal(shape),
        "heavy": rng.standard_t(4, shape) / np.sqrt(2),
        "differenced": np.diff(rng.standard_normal((6, T + 1)), axis=1) / np.sqrt(2),
        "laplace and counting": rng.laplace(0, np.sqrt(0.5), shape) * np.sqrt(1 + 0.05 * (clean - 10)),
    }[kind]
    estimate = run(model, clean + noise)
    inside = np.abs(estimate.value - clean) <= 1.645 * estimate.sigma
    assert inside[:, clean > 13].mean() >= 0.85
    assert inside[:, clean <= 13].mean() >= 0.85
    assert np.median(estimate.sigma) < 0.5 * noise_level(clean + noise, np.ones(shape, bool)).sigma.min()


def test_intervals_cover_nine_tenths_over_random_suites(model) -> None:
    rng = np.random.default_rng(987)  # training draws from generators seeded with two numbers
    inside, is_plume = [], []
    for _ in range(24):
        scene = random_scene(rng, int(rng.integers(1, 6)), 1500)
        job = model.prepare(None, suite_of(len(scene.bound)))
        estimate = job(scene.noisy - scene.bound[:, None], np.full((3, 1500), np.nan), scene.valid)
        clean, sigma = scene.clean - scene.bound[:, None], noise_level(scene.noisy, scene.valid).sigma[:, None]
        low, span = np.quantile(clean, 0.2, axis=1, keepdims=True), np.ptp(clean, axis=1, keepdims=True)
        inside.append((np.abs(estimate.value - clean) <= 1.645 * estimate.sigma)[scene.valid])
        is_plume.append((clean > low + np.maximum(3 * sigma, 0.05 * span))[scene.valid])
    covered, plumes = np.concatenate(inside), np.concatenate(is_plume)
    for part in (covered, covered[plumes], covered[~plumes]):
        assert 0.85 <= part.mean() <= 0.95


def test_latency_is_in_seconds() -> None:
    model = replace(load_model("adaptive-short"))
    one, two = (model.engine(suite_of(1).model_copy(update={"rate_hz": rate})) for rate in (1.0, 2.0))
    assert model.latency_s == model.look_ahead / 2
    assert one.latency_s == 2 * two.latency_s == one.look_ahead + one.hop - 1
