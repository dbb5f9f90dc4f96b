"""A stream of NDIR readings gives what `denoise --profile live` gives, with the pressure of its last message."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from pc2dae.denoising import denoise
from pc2dae.edge.messages import Sample, parse_sample
from pc2dae.edge.replay import messages
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.flags import MISSING, OUT_OF_RANGE, OUTSIDE_CALIBRATION, STALE
from pc2dae.flight.schema import new_flight, suite_of
from pc2dae.ingestion import prepare
from pc2dae.registry import load_model
from suites import make_suite

LENGTH = 400
CO2 = {"units": "ppm", "lower_bound": 300.0, "valid_min": 300.0, "valid_max": 20000.0, "native_rate_hz": 0.5}
NDIR = {"pressure_exponent": 1.6}
FLAGS = MISSING | STALE | OUT_OF_RANGE | OUTSIDE_CALIBRATION


def flight(**keys: float) -> xr.Dataset:
    """Readings of 420 ppm at 708 to 724 hPa, each logged twice; the pressure starts late, fails, and has a gap."""
    rng, t = np.random.default_rng(0), np.arange(LENGTH)
    air = 420 + 60 * np.exp(-0.5 * ((t - 200) / 10) ** 2) + rng.normal(0, 1, LENGTH)
    pressure = 716 + 8 * np.sin(t / 60)
    reading = air * (pressure / 1013.25) ** float(keys.get("pressure_exponent", 0.0))
    values = {"co2": np.repeat(reading[::2], 2), "co": 50 + rng.normal(0, 1, LENGTH)}
    values |= {"air_pressure": pressure.copy(), "air_temperature": np.full(LENGTH, 25.0)}
    values["relative_humidity"] = 40 + 10 * np.cos(t / 50)
    values["air_pressure"][:15] = values["air_pressure"][100:125] = np.nan
    values["air_pressure"][300:303] = 0.0
    values["co2"][50:56] = -9999.0
    suite = make_suite({"co2": {"co2": CO2 | keys}, "co": {"co": {"units": "ppb"}}})
    return new_flight(np.datetime64("2025-10-05T14:00") + t * np.timedelta64(1, "s"), values, suite)


def stream_of(record: xr.Dataset) -> StreamingDenoiser:
    return StreamingDenoiser(load_model("adaptive-short", profile="live").engine(suite_of(record)))


def samples(record: xr.Dataset) -> list[Sample]:
    """Messages of a sender that has neither screened nor corrected."""
    message = messages(record, suite_of(record), "f")
    return [parse_sample(message(n)).model_copy(update={"qc": None}) for n in range(LENGTH)]


@pytest.mark.parametrize("keys", [NDIR, {"dry": True}, NDIR | {"dry": True}])
def test_a_stream_equals_the_live_profile(keys: dict[str, float]) -> None:
    record = flight(**keys)
    clean = denoise(prepare(record), model="adaptive-short", profile="live")
    stream, given = stream_of(record), samples(record)
    ready = stream.feed(given[:110])
    state = stream.state()
    stream.reset()
    stream.restore(state)
    ready += stream.feed(given[110:]) + stream.flush()
    got = np.array([r.unbounded for r in ready]).T
    np.testing.assert_allclose(got[0], clean["co2_unbounded"], rtol=1e-5)
    bits = np.array([r.bits[0] for r in ready])
    assert np.array_equal(bits & FLAGS, clean["qc_co2"].values & FLAGS)
    before = [] if "pressure_exponent" in keys else range(15)  # without humidity a value is a little off, not absurd
    assert np.flatnonzero(bits & OUTSIDE_CALIBRATION).tolist() == [*before, *range(105, 125)]
    if "pressure_exponent" in keys:
        assert (np.flatnonzero(bits & MISSING) == [*range(15), *range(50, 56)]).all()
        assert np.nanmin(got[0]) > 400


def test_readings_corrected_by_their_sender_are_not_corrected_again() -> None:
    record = prepare(flight(**NDIR))
    message = messages(record, stream_of(record).suite, "f")
    ready = (stream := stream_of(record)).feed([parse_sample(message(n)) for n in range(LENGTH)]) + stream.flush()
    assert 400 < np.nanmedian([r.unbounded[0] for r in ready]) < 440


def test_a_stream_without_pressure_gives_no_concentration() -> None:
    record = flight(**NDIR)
    given = [s.model_copy(update={"environment": {}}) for s in samples(record)]
    ready = (stream := stream_of(record)).feed(given) + stream.flush()
    values = np.array([r.unbounded for r in ready])
    assert np.isnan(values[:, 0]).all()
    assert np.isfinite(values[:, 1]).all()
    assert [p.error for p in stream.problems] == ["co2 is missing until a message has air_pressure, for its correction"]
