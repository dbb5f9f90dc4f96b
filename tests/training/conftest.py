"""Small records with plumes and noise, so that training has something to learn in a second."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.windows.slicing import Record
from suites import make_suite

SUITE = make_suite(
    {"gas": {"co": "ppb", "no": "ppb"}, "co2": {"co2": {"units": "ppm", "lower_bound": 300.0}}}, name="small"
)


def small_record(length, seed, truth=False):
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    plume = sum(np.exp(-0.5 * ((t - c) / 6) ** 2) for c in rng.uniform(0, length, max(1, length // 80)))
    clean = np.stack([100 * plume, 40 * plume, 420 + 30 * plume])
    values = clean + rng.standard_normal((3, length)) * [[10], [10], [3]]
    target = clean.astype(np.float32) if truth else None
    return Record(values.astype(np.float32), np.ones((3, length), bool), np.zeros((3, length), np.float32), target)


@pytest.fixture(scope="session")
def suite():
    return SUITE


@pytest.fixture(scope="session")
def records():
    return [small_record(500, seed, truth=True) for seed in range(3)]
