"""Channels that saw the same air are told from others, with and without noise."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.response.coherence import COHERENT, coherence
from pc2dae.response.kernels import Kernel, respond
from puffs import air


def pair(seed: int, other: int, noise: float) -> float:
    rng = np.random.default_rng(seed)
    slow = 100 * respond(air(seed), Kernel(12.0)) + rng.normal(0, noise, 1500)
    fast = 3 * respond(air(other), Kernel(1.5)) + rng.normal(0, noise / 100, 1500)
    return coherence(slow, fast, t90_s=12.0, sigma=(noise, noise / 100))


@pytest.mark.parametrize("noise", [0.1, 2.0])
def test_one_air_is_coherent_through_two_sensors_and_two_airs_are_not(noise: float) -> None:
    assert min(pair(seed, seed, noise) for seed in range(8)) > COHERENT
    assert max(pair(seed, seed + 50, noise) for seed in range(8)) < COHERENT / 2


def test_air_that_is_shared_in_part_is_not_enough() -> None:
    slow, own = (100 * respond(air(seed), Kernel(12.0)) for seed in (1, 2))
    assert coherence(slow + own, air(1), t90_s=12.0, sigma=(0.0, 0.0)) < COHERENT


def test_noise_and_short_records_show_nothing() -> None:
    noise = np.random.default_rng(0).normal(0, 1, (2, 1500))
    assert np.isnan(coherence(*noise, t90_s=12.0, sigma=(1.0, 1.0)))
    assert coherence(air(1)[:60], air(1)[:60], t90_s=12.0, sigma=(0.0, 0.0)) == 0.0
