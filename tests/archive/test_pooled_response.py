"""An archive pools the response of its own flights first, and keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pc2dae.archive import run
from pc2dae.archive.layout import Archive
from pc2dae.archive.run import pending, with_pooled_response
from pc2dae.archive.task import denoise_one, order_of
from pc2dae.archive.verify import verify
from pc2dae.errors import ResponseError
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.payload import ChannelResponse, PayloadResponse, read_response
from puffs import air
from suites import make_suite


def fly(path: Path, seed: int, name: str = "payload") -> None:
    rng = np.random.default_rng(seed)
    values = {
        "co": 100 + 2000 * respond(air(seed), Kernel(8.0)) + rng.normal(0, 10, 1500),
        "co2": 420 + 50 * respond(air(seed), Kernel(2.0)) + rng.normal(0, 0.5, 1500),
    }
    suite = make_suite({"gas": {"co": "ppb", "co2": {"units": "ppm", "t90_s": 2.0}}}, name=name)
    time = np.datetime64("2025-10-05T12:00:00", "ns") + np.arange(1500) * np.timedelta64(1, "s")
    path.parent.mkdir(exist_ok=True)
    write_flight(new_flight(time, values, suite), path)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three flights, a torn one, and a cluster that works from the last to the first."""

    def backwards(_: Any, work: Callable[..., Any], jobs: Iterable[tuple[str, tuple[Any, ...]]]) -> Iterator[Any]:
        for name, arguments in reversed(list(jobs)):
            try:
                yield name, work(*arguments)
            except Exception as error:  # noqa: BLE001  as `each` does
                yield name, error

    monkeypatch.setattr(run, "each", backwards)
    for seed in (1, 2, 3):
        fly(tmp_path / "source" / f"f{seed}.nc", seed)
    (tmp_path / "source" / "torn.nc").write_bytes(b"torn")
    return tmp_path / "source"


def prepared(root: Path) -> Archive:
    archive = Archive(root)
    archive.prepare()
    return archive


def test_flights_are_denoised_with_what_they_show_together(source: Path, tmp_path: Path) -> None:
    archive = prepared(tmp_path / "clean")
    order = with_pooled_response(source, archive, order_of("adaptive"), object)  # type: ignore[arg-type]
    known = read_response(archive.response)
    assert known.flights == ("f1", "f2", "f3")
    for one in pending(source, archive, order)[0]:
        denoise_one(one, order, archive)
    for name in known.flights:
        clean = read_flight(archive.output(name))
        assert clean.co.attrs["t90_s"] == pytest.approx(known.channels["co"].t90_s, rel=1e-3)
        assert clean.attrs["pc2dae_response_sha256"] == known.digest
    assert [finding.what for finding in verify(archive)[0]] == ["torn"]  # the response is not foreign


def test_a_resumed_run_keeps_its_response_and_flights_stay_done(source: Path, tmp_path: Path) -> None:
    archive = prepared(tmp_path / "clean")
    order = with_pooled_response(source, archive, order_of("adaptive"), object)  # type: ignore[arg-type]
    denoise_one(pending(source, archive, order)[0][0], order, archive)
    fly(source / "f4.nc", 4)
    again = with_pooled_response(source, archive, order_of("adaptive"), lambda: pytest.fail("pooled twice"))
    assert again.key == order.key
    assert [one.name for one in pending(source, archive, again)[0]] == ["f2", "f3", "f4", "torn"]


def test_a_given_response_and_a_filter_need_no_pooling(source: Path, tmp_path: Path) -> None:
    archive = prepared(tmp_path / "clean")
    PayloadResponse(channels={"co": ChannelResponse(t90_s=8.0, t90_uncertainty_s=0.5)}).write(tmp_path / "r.json")
    for order in (order_of("adaptive", response=tmp_path / "r.json"), order_of("savgol")):
        assert with_pooled_response(source, archive, order, lambda: pytest.fail("pooled")) is order
    assert not archive.response.exists()
    assert order_of("adaptive", response=tmp_path / "r.json").key != order_of("adaptive").key


def test_flights_of_several_payloads_are_one_line(source: Path, tmp_path: Path) -> None:
    fly(source / "g.nc", 5, name="other")
    archive = prepared(tmp_path / "clean")
    with pytest.raises(ResponseError, match="flown with payload 'payload', g with 'other'"):
        with_pooled_response(source, archive, order_of("adaptive"), object)  # type: ignore[arg-type]
