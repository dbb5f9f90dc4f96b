"""What a simulated flight on its true grid says about its sampling."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.known import sampling_delay_s
from pc2dae.simulate import SimulatedFlight, true_grid


@pytest.mark.parametrize("name", ["co_a", "co_b"])
def test_the_reading_is_late_by_what_the_sampling_offset_says(perfect: SimulatedFlight, name: str) -> None:
    offset = json.loads(true_grid(perfect.streams, perfect.truth).attrs["sampling_offset_s"])[f"afe/{name[-1]}"]
    kernel = Kernel(json.loads(perfect.truth.attrs["t90_s"])[name])
    reading = perfect.truth[f"{name}_response"].values
    model = respond(perfect.truth[f"{name}_instant"].values, kernel)
    at = np.arange(len(reading))

    def misfit(late: float) -> float:
        return float(np.std(np.interp(at - late, at, model) - reading))

    best = min(np.arange(-0.5, 1.5, 0.05), key=misfit)
    assert sampling_delay_s(kernel) - offset == pytest.approx(best, abs=0.15)
