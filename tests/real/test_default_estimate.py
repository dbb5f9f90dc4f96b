"""The default estimate of every real record, with and without each of its channels, is no worse than the reading."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from real_air import Effect, effect
from real_checks import denoised_names
from real_data import ABSENT, RECORDS, ROOT

import pc2dae
from pc2dae.flight.schema import observed, suite_of
from pc2dae.noise import noise_level
from pc2dae.response.falls import falls_of, pooled
from pc2dae.response.payload import ChannelResponse, with_response

KONZA = tuple(record for record in RECORDS if "kolibri" in record.id)
EXAMPLE = ROOT / "examples" / "kolibri.toml"


def konza(name: str, **responses: ChannelResponse) -> xr.Dataset:
    """One of the six flights, as a new user opens it; with `responses` stated."""
    record = next(r for r in KONZA if name in r.id)
    if not record.source.is_file():
        pytest.skip(ABSENT)
    flight = pc2dae.open_flight(record.source, suite=EXAMPLE)
    if not responses:
        return flight
    return flight.assign_attrs(suite=with_response(suite_of(flight), responses).model_dump_json(exclude_defaults=True))


def impossible(found: Effect, *, corrected: bool) -> list[str]:
    """What an estimate must not do to a reading; a corrected lag makes peaks higher and edges steeper."""
    limits = {
        "peak": not (found.peak <= (4.0 if corrected else 1.05)),
        "area": abs(found.area - 1) > 0.005 and abs(found.area - 1) > 3 * found.area_noise,
        "roughness": not (found.roughness <= (6.0 if corrected else 1.05)),
        "below clean air": found.below > 0.005,
    }
    return [what for what, is_wrong in limits.items() if is_wrong]


def test_no_default_estimate_is_worse_than_its_reading(opened) -> None:
    clean = opened.clean("adaptive", "flight")
    wrong = {n: impossible(effect(clean, n), corrected="t90_s" in clean[n].attrs) for n in denoised_names(clean)}
    assert not {name: what for name, what in wrong.items() if what}


@pytest.mark.parametrize("left_out", ["co2", "gas", "pm"])
@pytest.mark.parametrize("name", ["1D", "K20A", "HQ_2"])
def test_a_family_more_or_less_leaves_the_others_right(name: str, left_out: str) -> None:
    whole, less = (pc2dae.denoise(konza(name), exclude=without) for without in ((), (left_out,)))
    for channel in denoised_names(less):
        assert impossible(effect(less, channel), corrected=False) == []
        assert less[channel].attrs.get("t90_s") == whole[channel].attrs.get("t90_s")
        assert np.nanmax(less[channel].values) == pytest.approx(np.nanmax(whole[channel].values), rel=0.01)


@pytest.mark.parametrize("name", ["1D", "K20A"])
def test_a_t90_that_the_record_contradicts_is_not_used_because_it_was_stated(name: str) -> None:
    stated = ChannelResponse(t90_s=35.0, t90_uncertainty_s=3.0, source="suite")
    channels = ("co2", "co") if name == "1D" else ("co",)  # K20A is too smoky to bound its CO2 by itself
    clean = pc2dae.denoise(konza(name, **dict.fromkeys(channels, stated)))
    for channel in channels:
        assert "lag_not_corrected" in clean[channel].attrs
        assert impossible(effect(clean, channel), corrected=False) == []
    assert "falls allow" in clean["co"].attrs["lag_not_corrected"]


def test_falls_of_six_flights_bound_what_the_payload_can_be() -> None:
    """SCIENCE of the data: CO piles up at 12 to 14 s in every flight, CO2 spreads out above about 10 s."""
    falls = {"co": [], "co2": []}
    for record in KONZA:
        flight = konza(record.file.split("/")[1])
        for channel, seen in falls.items():
            values, ok = flight[channel].values.astype(np.float64), observed(flight, channel)
            level = float(noise_level(values[None], ok[None]).sigma[0])
            seen.append(falls_of(values, ok, sigma=level))
    assert all(11.0 < flight.limit_s < 17.0 for flight in falls["co"])
    t90, uncertainty, count = pooled(falls["co"]).pile()
    assert abs(t90 - 12.4) < 2 * np.hypot(uncertainty, 1.0)
    assert count > 50
    assert 9.0 < pooled(falls["co2"]).limit_s < 20.0
    assert np.isnan(pooled(falls["co2"]).pile()[0])


def test_plumes_of_other_air_say_nothing_about_a_response(tmp_path) -> None:
    """BC of traffic beside its CO2 had been given a t90 of 7 s, and a maximum of nearly twice its reading."""
    cars = [record for record in RECORDS if record.folder == "bengaluru_car"]
    if not cars[0].source.is_file():
        pytest.skip(ABSENT)
    flight, _ = pc2dae.ingest([record.source for record in cars], zone=cars[0].zone)
    clean = pc2dae.denoise(flight)
    assert "saw other air" in clean["bc"].attrs["lag_not_corrected"]
    assert impossible(effect(clean, "bc"), corrected=False) == []
