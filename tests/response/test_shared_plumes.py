"""t90 and delay from plumes that two sensors share."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.shared_plumes import PlumeFit, fit_shared_plumes
from puffs import air

SEEN = np.ones(1500, dtype=bool)


def fit(kernel: Kernel, *, stated: Kernel | None = None, noise: float = 8.0, delay: int = 3) -> PlumeFit:
    """Of a channel late by `delay` seconds, whose ratio to the fast one differs between plumes."""
    rng = np.random.default_rng(1)
    fast = 50 * respond(air(), Kernel(2.0)) + rng.normal(0, 0.5, 1500)
    ratio = np.repeat(rng.uniform(0.5, 2.0, 10), 150)
    slow = 30 + respond(np.roll(200 * ratio * air(), delay), kernel) + rng.normal(0, noise, 1500)
    return fit_shared_plumes(slow, SEEN, fast, Kernel(2.0), sigma=noise, kernel=stated)


@pytest.mark.parametrize("t90", [2.0, 4.0, 12.0, 46.0])
def test_t90_and_delay_behind_a_faster_channel(t90: float) -> None:
    found = fit(Kernel(t90))
    sigma = np.sqrt(np.diag(found.covariance))
    assert np.exp(found.log_t90) == pytest.approx(t90, rel=0.12)
    assert 0.05 < sigma[0] < 0.3
    assert found.delay_s == pytest.approx(3.0, abs=max(0.25, 2 * sigma[1]))
    assert found.note == ""


def test_stated_kernels_are_fitted_as_stated() -> None:
    two = Kernel(5.0, "two_step", 60.0, 0.3)
    assert np.exp(fit(two, stated=two, noise=1.0).log_t90) == pytest.approx(5.0, rel=0.1)
    tube = Kernel(6.0, "gaussian")
    found = fit(tube, stated=tube, noise=1.0)
    assert np.exp(found.log_t90) == pytest.approx(6.0, rel=0.1)
    assert found.note == ""


def test_a_kernel_that_does_not_fit_is_named_with_its_misfit() -> None:
    assert fit(Kernel(8.0, "gaussian"), noise=1.0).note.startswith("kernel first_order does not fit: it leaves ")
    assert ", first_order " in fit(Kernel(8.0), stated=Kernel(8.0, "gaussian"), noise=1.0).note


def test_two_channels_without_anything_in_common() -> None:
    noise = np.random.default_rng(2).normal(0, 1, 1500)
    assert np.isnan(fit_shared_plumes(noise, SEEN, air() * 50, Kernel(2.0), sigma=1.0).log_t90)


def test_an_independent_delay_moves_t90_along_their_correlation() -> None:
    found = PlumeFit(np.log(4.0), 1.0, np.array([[0.04, -0.08], [-0.08, 0.25]]))
    told = found.with_delay(0.5, 0.0)
    assert told.delay_s == pytest.approx(0.5)
    assert told.log_t90 == pytest.approx(np.log(4.0) + 0.5 * 0.08 / 0.25)
    assert told.covariance[0, 0] == pytest.approx(0.04 - 0.08**2 / 0.25)
    assert found.with_delay(9.0, 0.5) is found  # a clock that is wrong by seconds is no information
