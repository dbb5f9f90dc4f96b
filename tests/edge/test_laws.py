"""Metamorphic tests of the shipped adaptive models: changes of a record that must not change the estimate.

Movements are in units of the noise (σ = 1). docs/model-card.md states the limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest

from pc2dae.arrays import Array
from pc2dae.denoiser import Estimate
from pc2dae.edge.engine import Stretch
from pc2dae.edge.levels import WINDOW, of_flight
from pc2dae.registry import load_model
from pc2dae.suite import Suite, parse_suite

DOORS = [("adaptive", "flight"), ("adaptive-short", "flight"), ("adaptive-short", "live"), ("adaptive-causal", "live")]
T = 900
SEEDS = range(4)
EXACT = 1e-4

each_door = pytest.mark.parametrize(("name", "profile"), DOORS)
model = cache(load_model)


def run(name: str, profile: str, values: Array, *, bound: float = 0.0, rate: float = 1.0) -> Estimate:
    job = model(name, profile=profile).prepare(None, suite_of(len(values), bound, rate))  # type: ignore[arg-type]
    return job(values, np.full((3, values.shape[1]), np.nan), np.isfinite(values))


def suite_of(count: int, bound: float = 0.0, rate: float = 1.0) -> Suite:
    channels = [f'[[family.channel]]\nname="c{i}"\nunits="1"\nlower_bound={bound}\n' for i in range(count)]
    return parse_suite(f'name="law"\nrate_hz={rate}\n[[family]]\nname="f"\n' + "".join(channels), where="law")


@cache
def record(seed: int) -> tuple[Array, Array]:
    """Three channels in the same plumes, one of them three seconds late, and their truth."""
    rng = np.random.default_rng(seed)
    t = np.arange(T)
    widths = np.exp(rng.uniform(0, 2.5, 9))
    smoke = sum(
        rng.lognormal(2.5, 0.7) * np.exp(-0.5 * ((t - centre) / width) ** 2)
        for centre, width in zip(rng.uniform(0, T, 9), widths, strict=True)
    )
    clean = np.stack([10 + smoke, 5 + 0.4 * smoke, 8 + 0.2 * np.roll(smoke, 3)])
    return clean, clean + rng.standard_normal(clean.shape)


def waves(seed: int) -> Array:
    """A loud and smooth channel that nothing connects with the others."""
    rng = np.random.default_rng(seed + 50)
    return 50 + 20 * np.sin(np.arange(T) / rng.uniform(3, 30)) + 0.5 * rng.standard_normal(T)


@cache
def plain(name: str, profile: str, seed: int) -> Estimate:
    return run(name, profile, record(seed)[1])


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2)))


def coverage(estimate: Estimate, clean: Array, rows: slice) -> float:
    assert estimate.sigma is not None
    return float(np.mean(np.abs(estimate.value[rows] - clean[rows]) <= 1.645 * estimate.sigma[rows]))


@dataclass(frozen=True)
class Moved:
    """How far estimates moved when something was added that must not matter [σ], and how often intervals hold."""

    rms: float
    largest: float
    coverage: float


def moved(changed: Estimate, expected: Estimate, clean: Array) -> Moved:
    """Of the rows of `clean`, from the first minute on: live, who shares whose noise must be learned."""
    rows = slice(0, len(clean))
    difference = (changed.unbounded[rows] - expected.unbounded[rows])[:, 60:]
    return Moved(rms(difference), float(np.abs(difference).max()), coverage(changed, clean, rows))


def with_copy(name: str, profile: str, seed: int) -> Moved:
    clean, x = record(seed)
    return moved(run(name, profile, np.concatenate([x, 2.5 * x[:1] + 1])), plain(name, profile, seed), clean)


def six_copies(name: str, profile: str, seed: int) -> Moved:
    clean, x = record(seed)
    return moved(run(name, profile, np.repeat(x[:1], 6, axis=0)), run(name, profile, x[:1]), clean[:1])


def with_unrelated(name: str, profile: str, seed: int) -> Moved:
    clean, x = record(seed)
    return moved(run(name, profile, np.concatenate([x, waves(seed)[None]])), plain(name, profile, seed), clean)


def at_twice_the_rate(name: str, profile: str, seed: int, *, interpolated: bool = False) -> Moved:
    clean, x = record(seed)
    fine = np.arange(2 * T) / 2
    doubled = np.stack([np.interp(fine, np.arange(T), row) for row in x]) if interpolated else np.repeat(x, 2, axis=1)
    twice = run(name, profile, doubled, rate=2.0)
    assert twice.sigma is not None
    thinned = Estimate(twice.value[:, ::2], twice.unbounded[:, ::2], twice.sigma[:, ::2])
    return moved(thinned, plain(name, profile, seed), clean)


@dataclass(frozen=True)
class Law:
    """A change that must have no effect, and the tolerance."""

    measure: Callable[[str, str, int], Moved]
    rms: float
    largest: float
    coverage: float = 0.85


LAWS = {
    "a copy of a channel in other units": Law(with_copy, 0.01, 0.1),
    "one channel six times": Law(six_copies, 0.01, 0.1),
    "a loud unrelated channel": Law(with_unrelated, 0.15, 1.5),
    "twice the rate by repetition": Law(at_twice_the_rate, 0.5, 5.0),
    "twice the rate by interpolation": Law(partial(at_twice_the_rate, interpolated=True), 1.0, 5.0, coverage=0.5),
}


@each_door
def test_scale_shift_and_order_do_not_matter(name: str, profile: str) -> None:
    x = record(0)[1]
    expected = plain(name, profile, 0).unbounded
    assert np.abs(run(name, profile, 1e3 * x).unbounded / 1e3 - expected).max() < EXACT
    assert np.abs(run(name, profile, x + 1e4, bound=1e4).unbounded - 1e4 - expected).max() < EXACT
    assert np.abs(run(name, profile, x[::-1]).unbounded[::-1] - expected).max() < EXACT


@each_door
def test_a_constant_far_above_the_bound_does_not_matter(name: str, profile: str) -> None:
    x = record(0)[1]
    near, far = (run(name, profile, x + level).unbounded - level for level in (1e4, 1e6))
    assert np.abs(far - near).max() < 0.1


@each_door
def test_a_record_may_be_cut(name: str, profile: str) -> None:
    """Beyond the reach of the seam a part is the whole: live by itself, offline with the levels of the whole."""
    denoiser = model(name, profile=profile)
    x, seam = 10 + np.random.default_rng(1).standard_normal((1, 2600)), 1000
    if profile == "live":
        whole, part = run(name, profile, x).unbounded, run(name, profile, x[:, seam:]).unbounded
    else:
        levels, new = of_flight(x, np.isfinite(x), np.zeros(1))
        engine = denoiser.engine(suite_of(1))
        stretch = Stretch(x, new, new, levels, np.full((3, 2600), np.nan), slice(0))
        whole = engine._in_pieces(stretch)[0]
        part = engine._in_pieces(stretch.part(seam, 2600, back=0, ahead=0))[0]
    beyond = denoiser.look_back + WINDOW
    assert np.abs(whole[:, seam + beyond :] - part[:, beyond:]).max() < EXACT


@pytest.mark.parametrize("law", LAWS)
@each_door
def test_what_must_not_matter_hardly_does(name: str, profile: str, law: str) -> None:
    measured = [LAWS[law].measure(name, profile, seed) for seed in SEEDS]
    assert rms(np.array([m.rms for m in measured])) <= LAWS[law].rms
    assert max(m.largest for m in measured) <= LAWS[law].largest
    assert LAWS[law].coverage <= np.mean([m.coverage for m in measured]) <= 0.97


def test_time_may_run_backwards() -> None:
    """Offline only; sensors lag, so the network has learned a direction of time."""
    x = record(0)[1]
    forwards, backwards = plain("adaptive", "flight", 0).unbounded, run("adaptive", "flight", x[:, ::-1]).unbounded
    assert rms(backwards[:, ::-1] - forwards) < 0.2


def main() -> None:
    """Print the table of docs/model-card.md."""
    print("| law | " + " | ".join(f"{name}, {profile}" for name, profile in DOORS) + " |")
    print("|---|" + "---|" * len(DOORS))
    for law, limits in LAWS.items():
        cells = []
        for door in DOORS:
            found = [limits.measure(*door, seed) for seed in SEEDS]
            size, inside = rms(np.array([m.rms for m in found])), np.mean([m.coverage for m in found])
            cells.append(f"{size:.3f}, {max(m.largest for m in found):.2f}, {100 * inside:.0f} %")
        print(f"| {law} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
