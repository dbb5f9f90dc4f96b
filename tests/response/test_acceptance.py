"""An estimate is kept where it can be the air, and refused with the reason where it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pc2dae.response.acceptance import CorrectedChannel, rejection
from pc2dae.response.inverse import invert
from pc2dae.response.kernels import LN10, Kernel, respond
from puffs import air

AIR, TRUE = 20.0 + 100 * air(5), Kernel(12.0)
READING = respond(AIR, TRUE) + np.random.default_rng(0).normal(0, 0.3, len(AIR))


def corrected(estimate: np.ndarray, kernel: Kernel = TRUE) -> CorrectedChannel:
    """The estimate beside the reading; the uncertainty is three times its noise, the gain that of the inverse."""
    size = len(AIR)
    return CorrectedChannel(READING, np.ones(size, bool), respond(estimate, kernel), estimate, np.full(size, 1.0), 0.3,
                            0.3, kernel.t90_s / LN10, 8.0, 0.0)  # fmt: skip


def test_the_air_itself_is_accepted() -> None:
    assert rejection(corrected(AIR)) == ""


def test_a_t90_that_is_too_long_drives_the_air_below_clean_air() -> None:
    smooth = np.convolve(np.pad(READING, 2, mode="edge"), np.ones(5) / 5, "valid")
    for t90 in (24.0, 36.0):
        kernel = Kernel(t90)
        estimate = invert(smooth, np.ones(len(AIR), bool), kernel).values
        assert rejection(corrected(estimate, kernel)).startswith("air goes below clean air")


@pytest.mark.parametrize(
    ("estimate", "reason"),
    [
        (AIR + 2, "the reading is not reproduced"),
        (0.5 * AIR + 10, "falls are not reproduced"),
        (20 + 1.02 * (AIR - 20), "area is not kept"),
    ],
)
def test_what_does_not_give_the_reading_is_named(estimate: np.ndarray, reason: str) -> None:
    assert reason in rejection(corrected(estimate))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (2.0, "clean air moved"),
        (np.where(np.arange(len(AIR)) % 50 < 3, -50.0, 0.0), "air goes below clean air"),
        (np.where(np.arange(len(AIR)) % 250 < 3, -40.0, 0.0), "air is below its bound"),
        (40.0 * (-1.0) ** np.arange(len(AIR)) * (AIR > 20), "rougher than announced"),
    ],
)
def test_what_no_sensor_sees_is_named(change: np.ndarray | float, reason: str) -> None:
    seen = corrected(AIR)
    assert reason in rejection(replace(seen, air=seen.air + change, gain=2.0))


def test_a_reading_below_its_bound_is_no_fault_of_the_estimate() -> None:
    low = corrected(AIR)
    low = replace(low, reading=low.reading - 25, response=low.response - 25, air=low.air - 25)
    assert rejection(low) == ""


def test_little_data_says_nothing() -> None:
    assert rejection(replace(corrected(AIR + 100), seen=np.arange(len(AIR)) < 5)) == ""
