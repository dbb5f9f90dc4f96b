"""Saturated samples are lower limits, the same for whole flights and live streams."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from pc2dae.denoiser import Estimate
from pc2dae.denoising import denoise
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.edge.limits import LowerLimits, raise_to_limits
from pc2dae.edge.load import open_network
from pc2dae.edge.messages import parse_sample
from pc2dae.edge.ready import Ready
from pc2dae.edge.replay import messages
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.flags import BELOW_BOUND, NOT_MEASURED, SATURATED
from pc2dae.flight.schema import new_flight
from pc2dae.ingestion import prepare
from pc2dae.response.stated import stated_responses
from pc2dae.suite import Suite
from suites import make_suite

PARTICLES = make_suite({"pm": {"pm": {"units": "ug m-3", "valid_max": 1000.0, "valid_min": 0.0}}})
LAGGING = make_suite({
    "pm": {"pm": {"units": "ug m-3", "valid_max": 1000.0, "t90_s": 5.0, "t90_uncertainty_s": 0.5, "delay_s": 2.4}},
    "co2": {"co2": {"units": "ppm", "lower_bound": 300.0}},
})  # fmt: skip
network = cache(open_network)
T = 400


def flight_of(values: dict[str, np.ndarray], suite: Suite) -> xr.Dataset:
    rows = len(next(iter(values.values())))
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(rows) * np.timedelta64(1, "s")
    return new_flight(time, values, suite)


def smoke(peak: float, seed: int = 0) -> np.ndarray:
    """A plume of some height in noise of 5 µg m-3, never below zero."""
    plume = peak * np.exp(-0.5 * ((np.arange(T) - 200) / 12) ** 2)
    return np.maximum(plume + 20 + np.random.default_rng(seed).normal(0, 5, T), 0.0)


def test_what_is_raised_and_what_becomes_uncertain() -> None:
    reading = np.array([[500.0, 1000.0, 2137.0]])
    limits = LowerLimits.of(PARTICLES, reading, reading >= 1000)
    x = np.array([[480.0, 990.0, 2200.0]])
    found = limits.raised(Estimate(x, x, np.full((1, 3), 10.0)), x)
    assert found.value.tolist() == found.unbounded.tolist() == [[480, 1000, 2200]]
    assert found.sigma is not None
    assert found.sigma[0] == pytest.approx([10, np.hypot(200, 10), np.hypot(1137, 10)])  # 0.2 · 1000, 2137 − 1000


def test_air_is_raised_together_with_its_delayed_response() -> None:
    """The reading lags behind the air: the air that it lacks is that of two samples earlier."""
    x = np.arange(6.0)[None]
    limit = np.array([[False, False, False, False, True, False]])
    estimate = Estimate(x, x, np.ones((1, 6)), np.zeros((1, 6)), 0.5 * x)
    found = raise_to_limits(estimate, PARTICLES, np.full((1, 6), 1500.0), limit, np.array([2]))
    assert found.response is not None
    assert found.systematic is not None
    assert found.response[0].tolist() == [0, 0.5, 1, 1.5, 1500, 2.5]
    assert found.unbounded[0].tolist() == [0, 1, 2 + 1498, 3, 4, 5]
    assert found.systematic[0].tolist() == [0, 0, 1498, 0, 0, 0]


@settings(max_examples=10, deadline=None)
@given(
    peak=st.floats(900, 9000),
    seed=st.integers(0, 99),
    clip=st.sampled_from([1000.0, 2000.0, np.inf]),
    model=st.sampled_from(["adaptive-short", "savgol", "rts"]),
)
def test_no_estimate_is_below_an_over_range_reading(peak: float, seed: int, clip: float, model: str) -> None:
    values = np.minimum(smoke(peak, seed), clip)
    clean = denoise(flight_of({"pm": values}, PARTICLES), model=model, keep=["pm"])
    over = values >= 1000
    assert ((clean["qc_pm"].values & SATURATED != 0) == over).all()
    assert not (clean["qc_pm"].values[over] & NOT_MEASURED).any()
    assert (clean["pm"].values[over] >= values[over]).all()
    assert (clean["pm_unbounded"].values[over] >= values[over]).all()
    if "pm_uncertainty" in clean:
        widest = np.maximum(values - 1000, 0.2 * values)
        assert (clean["pm_uncertainty"].values[over] >= widest[over]).all()


@pytest.mark.parametrize("profile", ["flight", "live"])
def test_a_clipped_plume_does_not_change_the_noise_level(profile: str) -> None:
    """After minutes at the end of its range a channel seemed to have no noise, and was not followed any more."""
    truth = 20 + 2000 * np.exp(-0.5 * ((np.arange(1200) - 600) / 160) ** 2)
    values = np.minimum(np.maximum(truth + np.random.default_rng(3).normal(0, 5, 1200), 0.0), 1000.0)
    clean = denoise(flight_of({"pm": values}, PARTICLES), profile=profile)
    assert (clean["qc_pm"].values[500:700] == SATURATED).all()
    assert np.sqrt(np.mean((clean["pm"].values - truth)[830:] ** 2)) < 5


@pytest.mark.parametrize("profile", ["flight", "live"])
def test_a_channel_that_is_always_saturated_keeps_its_limit(profile: str) -> None:
    flight = flight_of({"pm": np.full(T, 1000.0), "co2": np.full(T, 420.0)}, LAGGING)
    clean = denoise(flight, profile=profile)
    assert (clean["pm"].values[:-3] > 999.99).all()  # float32
    assert (clean["pm_uncertainty"].values[:-3] >= 200).all()
    assert (clean["pm_response"].values[3:] >= 1000).all()


def streamed(denoiser: AdaptiveDenoiser, flight: xr.Dataset, suite: Suite) -> list[Ready]:
    """The estimates of a live stream of a screened flight."""
    engine = replace(denoiser, responses=stated_responses(suite, {})[0]).engine(suite)
    stream, message = StreamingDenoiser(engine), messages(flight, suite, "f")
    found = [ready for n in range(T) for ready in stream.feed([parse_sample(message(n))])]
    return found + stream.flush()


def test_a_stream_raises_and_flags_as_a_flight_does() -> None:
    co2 = 420 + np.random.default_rng(1).normal(0, 3, T)
    co2[120:180] = 240.0 + np.random.default_rng(2).normal(0, 3, 60)  # below the bound, without a valid_min
    flight = prepare(flight_of({"pm": np.minimum(smoke(2500.0), 1800.0), "co2": co2}, LAGGING))
    denoiser, _ = network("adaptive-short", profile="live")
    assert isinstance(denoiser, AdaptiveDenoiser)
    clean = denoise(flight, model=denoiser, profile="live")
    assert clean["pm"].attrs["target"] == "ambient"
    ready = streamed(denoiser, flight, LAGGING)
    for row, name in enumerate(LAGGING.names):
        for part, live in (
            ("", "value"),
            ("_unbounded", "unbounded"),
            ("_uncertainty", "sigma"),
            ("_response", "response"),
        ):
            if f"{name}{part}" in clean:
                offline, scale = clean[f"{name}{part}"].values, np.ptp(clean[f"{name}_raw"].values)
                here = np.array([getattr(r, live)[row] for r in ready])
                np.testing.assert_allclose(here, offline, rtol=0, atol=1e-5 * scale, err_msg=f"{name}{part}")
        bits = np.array([r.bits[row] for r in ready])
        assert np.array_equal(bits, clean[f"qc_{name}"].values)
    over = clean["qc_pm"].values & SATURATED != 0
    assert over.sum() > 20
    assert (clean["pm_response"].values[over] >= clean["pm_raw"].values[over]).all()
    clipped = clean["co2"].values - clean["co2_unbounded"].values > clean["co2_uncertainty"].values
    assert clipped[125:175].all()  # followed and flagged, not averaged with the air before
    assert (clean["qc_co2"].values[clipped] & BELOW_BOUND).all()
    assert not (clean["qc_co2"].values[200:] & BELOW_BOUND).any()
