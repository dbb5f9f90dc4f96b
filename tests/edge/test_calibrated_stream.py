"""A stream with a calibration gives what `denoise --profile live --calibration` gives."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.denoising import denoise
from pc2dae.edge.load import live_engine
from pc2dae.edge.messages import Clean, Sample, parse_sample
from pc2dae.edge.ready import Ready
from pc2dae.edge.replay import messages
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.errors import CalibrationError, ModelError, Pc2daeError
from pc2dae.flags import OUTSIDE_CALIBRATION, SATURATED
from pc2dae.flight.schema import new_flight
from pc2dae.ingestion import prepare
from suites import make_suite

SUITE = make_suite(
    {
        "cells": {
            "no2": {"units": "nA", "lower_bound": -1000.0, "t90_s": 8.0, "t90_uncertainty_s": 1.0},
            "o3": {"units": "nA", "lower_bound": -1000.0, "t90_s": 15.0, "t90_uncertainty_s": 2.0, "valid_max": 600.0},
        },
        "co2": {"co2": {"units": "ppm", "lower_bound": 300.0}},
    }
)
START = datetime(2026, 6, 1, 12, tzinfo=UTC)
LENGTH = 500
FLAGS = OUTSIDE_CALIBRATION | SATURATED


def calibration(day: int, *, gain: float = 2.0, units: str = "nA") -> Calibration:
    """Two cells that answer to both gases, to temperature and to changes of humidity, and CO2 in its own units."""

    def cell(gain: float, zero: float, other: str, cross: float) -> Curve:
        terms = {"gain": gain, "zero": zero, "temperature": 0.8, "humidity_change": -0.3, f"cross:{other}": cross}
        centre = {"air": 20.0, "temperature": 22.0, "humidity_change": 0.0, f"cross:{other}": 15.0}
        limits = {"air": (0.0, 90.0), "temperature": (10.0, 25.0), "humidity_change": (-9.0, 9.0)}
        return Curve(units="ppb", reading_units=units, terms=terms, centre=centre, range=limits, residual=2.0, slow=1.0,
                     wander=0.5, ageing=0.5, covariance=np.diag([0.01, 1.0, 1e-4, 1e-4, 1e-4]).tolist())  # fmt: skip

    plain = Curve(units="ppm", reading_units="ppm", terms={"gain": 1.1, "zero": 460.0}, centre={"air": 420.0},
                  range={"air": (400.0, 450.0)}, residual=2.0, slow=3.0, wander=1.0, ageing=0.5,
                  covariance=((1e-4, 0.0), (0.0, 4.0)))  # fmt: skip
    start = START + timedelta(days=day)
    return Calibration(
        method="co-location", period=(start, start + timedelta(hours=6)),
        channels={"no2": cell(gain, 60.0, "o3", 0.2), "o3": cell(3.0, 90.0, "no2", 1.5), "co2": plain},
    )  # fmt: skip


def flight(*, dead: str | None = None) -> xr.Dataset:
    """Readings with plumes, gaps, a saturated stretch, and a temperature that leaves the range of the calibration."""
    rng, t = np.random.default_rng(0), np.arange(LENGTH)
    plume = np.exp(-0.5 * ((t - 150) / 8) ** 2) + np.exp(-0.5 * ((t - 330) / 15) ** 2)
    values = {
        "no2": 60 + 90 * plume + rng.normal(0, 2, LENGTH),
        "o3": 100 - 30 * plume + rng.normal(0, 2, LENGTH),
        "co2": 460 + 40 * plume + rng.normal(0, 1, LENGTH),
        "air_temperature": 18 + 12 * t / LENGTH,
        "relative_humidity": 40 + 5 * np.sin(t / 30),
    }
    values["no2"][200:230] = np.nan
    values["air_temperature"][100:140] = np.nan
    values["o3"][400:405] = 600.0
    values |= {} if dead is None else {dead: np.full(LENGTH, np.nan)}
    return prepare(new_flight(np.datetime64("2026-06-01T12:00") + t * np.timedelta64(1, "s"), values, SUITE))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / f"{name}.json" for name in ("before", "after", "suite")}
    calibration(-3).write(found["before"])
    calibration(2, gain=2.4).write(found["after"])
    found["suite"].write_text(SUITE.model_dump_json(), encoding="utf-8")
    return found


def engine(files: dict[str, Path], *names: str, exclude: tuple[str, ...] = ()):
    calibrations = [files[name] for name in names]
    return live_engine("adaptive-short", suite=files["suite"], calibration=calibrations, exclude=exclude)[0]


def items(record: xr.Dataset) -> list[Sample]:
    message = messages(record, SUITE, "f")
    return [parse_sample(message(n)) for n in range(record.sizes["time"])]


def streamed(stream: StreamingDenoiser, parts: Iterable[list[Sample]]) -> list[Ready]:
    return [ready for part in parts for ready in stream.feed(part)] + stream.flush()


@pytest.mark.parametrize(("names", "exclude"), [(["before"], ()), (["before", "after"], ("co2",))])
def test_a_stream_equals_the_live_profile(files: dict[str, Path], names: list[str], exclude: tuple[str, ...]) -> None:
    record = flight()
    clean = denoise(record, model="adaptive-short", profile="live", calibration=[files[n] for n in names],
                    exclude=exclude)  # fmt: skip
    live = engine(files, *names, exclude=exclude)
    ready = streamed(StreamingDenoiser(live), [items(record)[:211], items(record)[211:]])
    assert [live.suite[name].units for name in live.suite.names[:2]] == ["ppb", "ppb"]
    assert live.lags.ambient == ("no2", "o3")
    for row, name in enumerate(live.suite.names):
        for kind in ("unbounded", "response"):
            if f"{name}_{kind}" in clean:
                got = np.array([getattr(r, kind)[row] for r in ready])
                np.testing.assert_allclose(got, clean[f"{name}_{kind}"], rtol=1e-5, atol=1e-3, err_msg=f"{name} {kind}")
        sigma = np.array([r.sigma[row] for r in ready if r.sigma is not None])
        # A stream takes the conditions of each second, a flight its medians.
        np.testing.assert_allclose(sigma, clean[f"{name}_uncertainty"], rtol=0.02)
        bits = np.array([r.bits[row] for r in ready])
        assert np.array_equal(bits & FLAGS, clean[f"qc_{name}"].values & FLAGS)
    assert (ready[-1].bits[:2] == OUTSIDE_CALIBRATION).all()
    assert ready[402].bits[1] & SATURATED


def test_samples_of_one_second_in_any_order_make_one_calibrated_second(files: dict[str, Path]) -> None:
    whole, record = engine(files, "before"), items(flight())[:60]
    parts = [
        sample.model_copy(update={"values": {n: x for n, x in sample.values.items() if (n == "o3") == is_o3},
                                  "qc": {n: 0 for n in SUITE.names if (n == "o3") == is_o3}, "seq": 2 * n + is_o3,
                                  "environment": {} if is_o3 else sample.environment,
                                  "time": sample.time + is_o3 * timedelta(seconds=0.3)})
        for n, sample in enumerate(record) for is_o3 in (False, True)
    ]  # fmt: skip
    one, two = StreamingDenoiser(whole), StreamingDenoiser(whole)
    one.feed(record)
    for part in parts:
        two.feed([part])
    assert not two.problems
    np.testing.assert_allclose(two.ring.values[:, :60], one.ring.values[:, :60], rtol=1e-12)
    assert np.array_equal(two.ring.seen[:, :60], one.ring.seen[:, :60])


def test_a_restored_stream_continues_and_another_calibration_is_refused(files: dict[str, Path]) -> None:
    own, record = engine(files, "before"), items(flight())
    whole = streamed(StreamingDenoiser(own), [record])
    first, second = StreamingDenoiser(own), StreamingDenoiser(own)
    ready = first.feed(record[:230])
    second.restore(first.state())
    ready += streamed(second, [record[230:]])
    np.testing.assert_allclose([r.unbounded for r in ready], [r.unbounded for r in whole], rtol=1e-6)
    for other in (engine(files, "after"), engine(files)):
        with pytest.raises(ModelError, match="another model"):
            StreamingDenoiser(other).restore(first.state())


def test_a_message_names_the_calibrated_channels_and_includes_what_they_leave_open(files: dict[str, Path]) -> None:
    live = engine(files, "before")
    ready = StreamingDenoiser(live).feed(items(flight())[:40])[-1]
    assert live.calibration is not None
    names = live.suite.names
    message = Clean.model_validate_json(ready.message("f", names, live.latency_s, (), tuple(live.calibration.own)))
    assert message.calibrated == ["no2", "o3", "co2"]
    assert message.uncertainty["co2"] > 3.0  # slow 3 and wander 1 ppm divided by the gain, and 2 ppm of the zero


def test_what_does_not_fit_is_refused_in_one_line(files: dict[str, Path], tmp_path: Path) -> None:
    damaged, other = tmp_path / "damaged.json", tmp_path / "other.json"
    content = json.loads(files["before"].read_text(encoding="utf-8"))
    content["channels"]["co2"]["terms"]["zero"] = 0.0
    damaged.write_text(json.dumps(content), encoding="utf-8")
    calibration(0, units="mV").write(other)
    files |= {"damaged": damaged, "other": other, "text": files["suite"], "none": tmp_path / "none.json"}
    for name, line in [("damaged", "does not match its SHA-256"), ("text", "is not a calibration"),
                       ("other", "is of readings in mV, the flight has nA"), ("none", "cannot be opened")]:  # fmt: skip
        with pytest.raises(CalibrationError, match=line) as caught:
            engine(files, name)
        assert "\n" not in str(caught.value)
    with pytest.raises(Pc2daeError, match="of which 'black-kite' has none"):
        live_engine("adaptive-causal", suite="black-kite", calibration=[_only_co2_mass(tmp_path)])


def _only_co2_mass(folder: Path) -> Path:
    full = calibration(0)
    path = folder / "mass.json"
    full.model_copy(update={"channels": {"methane_x": full.channels["co2"]}}).write(path)
    return path
