"""`pc2dae response`, and the file it writes at the doors of other commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.errors import FlightError, Pc2daeError, ResponseError
from pc2dae.flight import read_flight
from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.payload import read_response
from pc2dae.suite import load_suite
from puffs import air

SUITE = """
name = "payload"
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppb"
[[family.channel]]
name = "co2"
units = "ppm"
t90_s = 2.0
"""
runner = CliRunner()


@pytest.fixture(scope="module")
def payload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite and three flights of its payload."""
    home = tmp_path_factory.mktemp("payload")
    (home / "suite.toml").write_text(SUITE)
    (home / "flights").mkdir()
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        co = 100 + 2000 * respond(air(seed), Kernel(8.0)) + rng.normal(0, 10, 1500)
        co2 = 420 + 50 * respond(air(seed), Kernel(2.0)) + rng.normal(0, 0.5, 1500)
        start = np.datetime64(f"2025-10-0{seed}T12:00:00")
        rows = [f"{start + k}Z,{a:.3f},{b:.3f}" for k, (a, b) in enumerate(zip(co, co2, strict=True))]
        (home / "flights" / f"f{seed}.csv").write_text("\n".join(["time,co,co2", *rows]) + "\n")
    return home


def call(*words: object) -> str:
    done = runner.invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_the_file_of_a_payload_corrects_its_flights(payload: Path, tmp_path: Path) -> None:
    made, suite, flights = tmp_path / "r.json", payload / "suite.toml", payload / "flights"
    out = call("response", flights, "--suite", suite, "-o", made, "--suite-out", tmp_path / "s.toml")
    known = read_response(made)
    assert known.flights == ("f1", "f2", "f3")
    assert known.channels["co"].t90_s == pytest.approx(8.0, abs=1.0)
    assert out.startswith("3 flights\nchannel")
    assert load_suite(tmp_path / "s.toml")["co"].t90_s == known.channels["co"].t90_s
    call("denoise", flights / "f1.csv", "--suite", suite, "--response", made, "-o", tmp_path / "c.nc")
    clean = read_flight(tmp_path / "c.nc")
    assert clean.co.attrs["t90_s"] == pytest.approx(known.channels["co"].t90_s, rel=1e-3)
    assert clean.attrs["pc2dae_response_sha256"] == known.digest


def test_a_stream_uses_the_file(payload: Path, tmp_path: Path) -> None:
    from pc2dae.edge.load import live_engine

    call("response", payload / "flights", "--suite", payload / "suite.toml", "-o", tmp_path / "r.json")
    plain, without = live_engine("adaptive-short", suite=payload / "suite.toml")
    engine, card = live_engine("adaptive-short", suite=payload / "suite.toml", response=tmp_path / "r.json")
    assert [known is not None for known in plain.lags.known] == [False, True]
    assert [known is not None for known in engine.lags.known] == [True, True]
    assert card["response_sha256"] == read_response(tmp_path / "r.json").digest
    assert engine.key != plain.key
    reasons = [[c.get("lag_not_corrected") for c in made["payload"]["channels"]] for made in (without, card)]
    assert reasons == [["t90 unknown: not in the suite", None], [None, None]]


def test_a_figure_shows_every_channel(payload: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    call("response", payload / "flights", "--suite", payload / "suite.toml", "--plot", tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    call("response", payload / "flights", "--suite", payload / "suite.toml", "--plot", tmp_path / "r.png")  # its own


def test_what_cannot_be_pooled_is_one_line(payload: Path, tmp_path: Path) -> None:
    flights, suite = payload / "flights", payload / "suite.toml"
    (tmp_path / "empty").mkdir()
    with pytest.raises(FlightError, match="no flight in"):
        call("response", tmp_path / "empty")
    with pytest.raises(ResponseError, match="--step co@x is not CHANNEL@START/END"):
        call("response", flights, "--suite", suite, "--step", "co@x")
    with pytest.raises(ResponseError, match="no flight covers the step co@2024-10-01T12:00:00Z/2024-10-01T12:05:00Z"):
        call("response", flights, "--suite", suite, "--step", "co@2024-10-01T12:00Z/2024-10-01T12:05Z")
    with pytest.raises(ResponseError, match="the flight has no channel 'no'"):
        call("response", flights, "--suite", suite, "--step", "no@2025-10-01T12:00Z/2025-10-01T12:05Z")
    with pytest.raises(Pc2daeError, match="is not JSON"):
        call("denoise", flights / "f1.csv", "--suite", suite, "--response", suite, "-o", tmp_path / "c.nc")
