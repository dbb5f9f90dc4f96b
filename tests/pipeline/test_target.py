"""What `denoise(target=…)` writes: the air where the lag is known, the noise-free reading elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.errors import ModelError
from pc2dae.flight.schema import new_flight
from pc2dae.registry import load_model
from pc2dae.response.kernels import Kernel, respond
from suites import make_suite

SUITE = make_suite(
    {
        "gas": {
            "co": {"units": "ppb", "t90_s": 8.0, "delay_s": 2.0},
            "no": "ppb",
            "o3": {"units": "ppb", "t90_s": 20.0, "t90_uncertainty_s": 9.0},
        },
        "co2": {"co2": {"units": "ppm", "t90_s": 0.0, "lower_bound": 300.0}},
    },
    name="own",
)
T = np.arange(600)
AIR = np.where(T % 150 < 20, 120.0, 20.0)
LAG_ATTRIBUTES = {
    "t90_s", "t90_uncertainty_s", "t90_source", "response_kernel", "delay_s", "effective_resolution_s"
}  # fmt: skip
LAG_VARIABLES = ("response", "random_uncertainty", "systematic_uncertainty")


@pytest.fixture(scope="module")
def flight() -> xr.Dataset:
    rng = np.random.default_rng(0)
    clean = {"co": respond(np.roll(AIR, 2), Kernel(8.0)), "no": 20.0, "o3": 40.0, "co2": 420 + AIR / 10}
    noisy = {name: x + rng.normal(0, 2, len(T)) for name, x in clean.items()}
    return new_flight(np.datetime64("2026-08-01T00:00:00") + T * np.timedelta64(1, "s"), noisy, SUITE)


@pytest.fixture(scope="module")
def model() -> AdaptiveDenoiser:
    loaded = load_model("adaptive")
    assert isinstance(loaded, AdaptiveDenoiser)
    return loaded


@pytest.fixture(scope="module", params=["flight", "live"])
def ambient(request, flight, model) -> xr.Dataset:
    return pc2dae.denoise(flight, model=replace(model, profile=request.param))


def test_a_channel_of_known_lag_is_that_of_the_air(ambient) -> None:
    co = ambient["co"]
    assert co.attrs["target"] == "ambient"
    assert set(co.attrs) >= LAG_ATTRIBUTES
    assert co.attrs["t90_s"] == pytest.approx(8.0, abs=1.0)
    assert co.attrs["delay_s"] == pytest.approx(2.0, abs=0.5)
    assert co.attrs["response_kernel"] == "first_order"
    assert co.attrs["t90_source"] in ("suite", "suite and flight")
    assert 0.5 < co.attrs["effective_resolution_s"] < 20
    seen = slice(10, 580)
    response = ambient["co_response"].values[seen]
    assert np.abs(co.values[seen] - AIR[seen]).mean() < 0.3 * np.abs(response - AIR[seen]).mean()
    assert np.abs(response - respond(np.roll(AIR, 2), Kernel(8.0))[seen]).mean() < 2  # as logged, with the delay


def test_the_uncertainty_has_two_parts(ambient) -> None:
    total, random, systematic = (ambient[f"co_{part}uncertainty"].values for part in ("", "random_", "systematic_"))
    assert total == pytest.approx(np.hypot(random, systematic))
    steep = np.abs(np.diff(AIR, prepend=AIR[0])) > 0
    assert np.median(systematic[steep]) > 10 * np.median(systematic[~steep])
    names = set(ambient["co"].attrs["ancillary_variables"].split())
    assert names >= {"co_uncertainty", "co_random_uncertainty", "co_systematic_uncertainty"}
    assert "calibration is not included" in ambient["co_uncertainty"].attrs["comment"]


def test_a_channel_of_unknown_lag_is_the_reading_and_a_line_says_why(ambient) -> None:
    for name in ("no", "o3"):
        assert ambient[name].attrs["target"] == "response"
        assert not LAG_ATTRIBUTES & set(ambient[name].attrs)
        assert f"{name}_response" not in ambient
    assert ambient["no_uncertainty"].attrs["comment"] == "noise only"
    assert not any(f"no_{ending}" in ambient for ending in LAG_VARIABLES)
    said = "noise, the lag that is left (one-sided); calibration is not included"
    assert ambient["o3_uncertainty"].attrs["comment"] == said
    assert ambient["o3"].attrs["lag_not_corrected"].endswith("known only to 45 %")
    said = ambient.attrs["pc2dae_lag_not_corrected"].split("; ")
    assert [line.split(" (")[0] for line in said] == ["no", "o3"]
    assert "known only to 45 %" in said[1]


def test_target_response_has_nothing_of_the_lag(flight, model) -> None:
    clean = pc2dae.denoise(flight, model=model, target="response")
    for name in SUITE.names:
        assert clean[name].attrs["target"] == "response"
        assert not LAG_ATTRIBUTES & set(clean[name].attrs)
        assert not any(f"{name}_{ending}" in clean for ending in LAG_VARIABLES)
    reading = respond(np.roll(AIR, 2), Kernel(8.0))
    assert np.abs(clean["co"].values - reading).mean() < 1
    assert clean.attrs["pc2dae_lag_not_corrected"] == "none"


@pytest.mark.parametrize(
    ("choice", "said"),
    [({"model": "ma5"}, "'ma5'"), ({"model": "lean"}, "'lean'"), ({"strength": 0.5}, "strength 0.5")],
)
def test_what_estimates_the_reading_refuses_the_air_only_if_asked_for_it(flight, model, choice, said: str) -> None:
    choice = {"model": model} | choice
    with pytest.raises(ModelError, match=f"^{said} estimates the reading, not the air") as error:
        pc2dae.denoise(flight, target="ambient", **choice)
    assert "\n" not in str(error.value)
    if choice["model"] != "lean":  # which does not fit this suite
        clean = pc2dae.denoise(flight, **choice)
        assert clean["co"].attrs["target"] == "response"
        assert "co_response" not in clean


def test_an_unknown_target_names_the_nearest(flight) -> None:
    with pytest.raises(ModelError, match=r"unknown target 'ambiant'.*did you mean 'ambient'"):
        pc2dae.denoise(flight, model="ma5", target="ambiant")
