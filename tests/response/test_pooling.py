"""The response of a payload, pooled over flights with known sensors."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.errors import FlightError, ResponseError
from pc2dae.flight.schema import new_flight, suite_of
from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.payload import ChannelResponse, PayloadResponse, parse_response, read_response, with_response
from pc2dae.response.pooling import below_limit, flights_mean
from puffs import air
from suites import make_suite

START = np.datetime64("2025-10-05T14:00:00", "ns")
GASES = {"gas": {"co": "ppb", "co2": {"units": "ppm", "t90_s": 2.0}}, "smoke": {"pm": "ug m-3"}}


def flown(seed: int, name: str = "payload", **changed: np.ndarray) -> xr.Dataset:
    """A flight: CO with t90 8 s and CO2 with 2 s in the same air, PM in other air."""
    rng = np.random.default_rng(seed)
    values = {
        "co": 100 + 2000 * respond(air(seed), Kernel(8.0)) + rng.normal(0, 10, 1500),
        "co2": 420 + 50 * respond(air(seed), Kernel(2.0)) + rng.normal(0, 0.5, 1500),
        "pm": 200 * respond(air(seed + 100), Kernel(3.0)) + rng.normal(0, 2, 1500),
    }
    time = START + np.arange(1500) * np.timedelta64(1, "s")
    return new_flight(time, values | changed, make_suite(GASES, name=name)).assign_attrs(id=f"flight {seed}")


@pytest.fixture(scope="module")
def pooled() -> PayloadResponse:
    return pc2dae.find_response([flown(seed) for seed in range(1, 5)])


def test_flights_together_give_the_t90_that_each_channel_has(pooled: PayloadResponse) -> None:
    co = pooled.channels["co"]
    assert co.t90_s == pytest.approx(8.0, abs=2 * co.t90_uncertainty_s)
    assert co.is_usable
    assert co.t90_uncertainty_s < 1.0
    assert co.limit_s is not None
    assert co.limit_s > 7.5
    assert co.source.startswith("co2")
    assert pooled.channels["co2"].t90_s == pytest.approx(2.0, abs=0.5)


def test_a_channel_that_saw_other_air_has_its_limit_at_most(pooled: PayloadResponse) -> None:
    pm = pooled.channels["pm"]
    assert pm.t90_s is None or pm.t90_s == pytest.approx(3.0, abs=3 * pm.t90_uncertainty_s)
    assert pm.limit_s is None or pm.limit_s > 2.7


def test_the_order_of_flights_does_not_matter(pooled: PayloadResponse) -> None:
    again = pc2dae.find_response([flown(seed) for seed in (3, 1, 4, 2)])
    for name, channel in again.channels.items():
        assert channel.t90_s == pytest.approx(pooled.channels[name].t90_s, rel=1e-3)


def test_a_flight_is_corrected_with_the_response_and_names_its_digest(pooled: PayloadResponse) -> None:
    clean = pc2dae.denoise(flown(9), response=pooled)
    assert clean.co.attrs["t90_s"] == pytest.approx(pooled.channels["co"].t90_s, rel=1e-3)
    assert clean.co.attrs["t90_source"] == pooled.channels["co"].source
    assert clean.attrs["pc2dae_response_sha256"] == pooled.digest
    assert pooled.digest[:12] in clean.attrs["history"]


def test_the_file_reads_back_and_its_digest_is_that_of_its_bytes(pooled: PayloadResponse, tmp_path: Path) -> None:
    path = tmp_path / "response.json"
    pooled.write(path)
    assert read_response(path) == pooled
    assert hashlib.sha256(path.read_bytes()).hexdigest() == pooled.digest


def test_scatter_between_flights_counts() -> None:
    assert flights_mean([(10.0, 0.1), (14.0, 0.1)])[1] == pytest.approx(2.0, rel=0.1)  # 4 s apart: ± 2 s, not ± 0.07
    assert flights_mean([(12.0, 1.0)]) == (12.0, 1.0)


def test_a_limit_bounds_an_estimate_and_refuses_one_that_contradicts_it() -> None:
    below = below_limit((14.0, 1.0), (12.0, 0.1))
    assert below is not None
    assert below[0] < 12.0
    assert below_limit((33.0, 3.0), (12.0, 0.5)) is None
    assert below_limit((8.0, 0.0), (30.0, 3.0)) == (8.0, 0.0)
    assert below_limit((8.0, 1.0), (30.0, 3.0)) == pytest.approx((8.0, 1.0), rel=1e-2)


def test_a_stated_t90_that_the_falls_contradict_is_not_kept() -> None:
    suite = make_suite({"gas": {"co": {"units": "ppb", "t90_s": 40.0}}}, name="slow")
    flights = [flown(seed).assign_attrs(suite=suite.model_dump_json())[["co", "qc_co"]] for seed in (1, 2, 3)]
    co = pc2dae.find_response(flights).channels["co"]
    assert "contradicts the falls" in co.reason or co.t90_s == pytest.approx(8.0, abs=1.5)
    assert co.t90_s is None or co.t90_s < 12.0


def test_flights_of_other_payloads_or_channels_are_one_line() -> None:
    with pytest.raises(ResponseError, match="flight 1 was flown with payload 'payload', flight 2 with 'other'"):
        pc2dae.find_response([flown(1), flown(2, name="other")])
    less = make_suite({"gas": {"co": "ppb"}}, name="payload").model_dump_json()
    with pytest.raises(ResponseError, match="flight 2 has no channel 'co2', which other flights have"):
        pc2dae.find_response([flown(1), flown(2)[["co", "qc_co"]].assign_attrs(suite=less)])
    with pytest.raises(ResponseError, match="there is no flight to pool"):
        pc2dae.find_response([])
    with pytest.raises(FlightError, match="is denoised already"):
        pc2dae.find_response([flown(1).assign_attrs(level="denoised")])


def test_a_suite_takes_what_is_known_and_only_the_limit_of_the_rest() -> None:
    suite = suite_of(flown(1))
    known = {
        "co": ChannelResponse(t90_s=8.0, t90_uncertainty_s=0.5, source="falls", limit_s=9.0),
        "pm": ChannelResponse(limit_s=4.0, reason="5 falls do not pile up"),
    }
    done = with_response(suite, known)
    assert (done["co"].t90_s, done["co"].t90_source, done["pm"].t90_s, done["pm"].t90_limit_s) == (8, "falls", None, 4)
    assert done["co2"] == suite["co2"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[]", "x.json is not a response file"),
        ("{", "x.json is not JSON"),
        ('{"kind": "pc2dae-response", "channels": {"co": {"t90_s": -1}}}', "x.json: channels.co.t90_s"),
    ],
)
def test_a_damaged_file_is_one_line(text: str, line: str) -> None:
    with pytest.raises(ResponseError, match=line):
        parse_response(text, name="x.json")


@pytest.mark.parametrize("t90", [0.0, 8.0])
def test_a_t90_that_is_stated_exactly_is_kept(t90: float) -> None:
    stated = {"units": "ppb", "t90_s": t90, "t90_uncertainty_s": 0.0}
    suite = make_suite({"gas": GASES["gas"] | {"co": stated}, "smoke": GASES["smoke"]}, name="exact")
    flights = [flown(seed).assign_attrs(suite=suite.model_dump_json()) for seed in (1, 2, 3)]
    co = pc2dae.find_response(flights).channels["co"]
    assert (co.t90_s, co.t90_uncertainty_s, co.is_usable) == (t90, 0.0, True)
