"""A live flight is recorded as it arrives, and stands among the flights after landing: nothing lost, nothing twice."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from ground import Ground, wait_for

import pc2dae
from pc2dae.edge.broker import Broker
from pc2dae.edge.messages import Clean, Sample, parse_sample
from pc2dae.edge.publisher import Publisher
from pc2dae.edge.sample_log import SampleLog, flight_folder
from pc2dae.flight.netcdf import read_netcdf
from pc2dae.suite import load_suite
from pc2dae.web.live.recorder import LivePayload, Recorder, Recording
from pc2dae.web.problems import Refused
from pc2dae.web.settings import Settings

COUNT = 150
NOISE = np.random.default_rng(1).normal(0, [[8.0], [2.0]], (2, COUNT))
SUITE = """
name = "small"
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppb"
noise_sigma = 8.0
t90_s = 4.0
[[family.channel]]
name = "no"
units = "ppb"
[[family]]
name = "unsent"
[[family.channel]]
name = "so2"
units = "ppb"
"""


def message(seq: int, **more: Any) -> bytes:
    """A drone that circles through a plume, as a logger without flags sends it."""
    noise, smoke = NOISE[:, seq], 900 * np.exp(-0.5 * ((seq - 90) / 8) ** 2)
    turn = 2 * math.pi * seq / 60
    sample = {
        "flight": "kite-1",
        "seq": seq,
        "time": f"2025-10-01T12:{seq // 60:02}:{seq % 60:02}Z",
        "values": {"co": round(200 + smoke + noise[0], 1), "no": round(20 + smoke / 30 + noise[1], 1)},
        "environment": {"air_temperature": 24.5},
        "motion": {"latitude": 39.1 + 1e-3 * math.sin(turn), "longitude": -96.6 + 1e-3 * math.cos(turn),
                   "altitude": 400.0 + seq, "ground_speed": 8.0},
    }  # fmt: skip
    return json.dumps(sample | more).encode()


def clean(seq: int) -> Clean:
    values = {"co": 1.0}
    time = parse_sample(message(seq)).time
    return Clean(
        flight="kite-1", seq=seq, time=time, estimate=values, unbounded=values, uncertainty={}, qc={}, latency_s=5
    )


def recorder(folder: Path) -> tuple[Recorder, list[Recording]]:
    landed: list[Recording] = []
    return Recorder(
        folder, lambda flight: LivePayload(load_suite("black-kite"), "adaptive-short"), landed.append
    ), landed


def test_a_killed_recorder_continues_with_whole_lines(tmp_path: Path) -> None:
    first, _ = recorder(tmp_path)
    for seq in (0, 1, 1, 2):
        first.add_sample(parse_sample(message(seq)))
    first.add_estimate(clean(0))
    mark = first.mark("smoke left")
    assert (mark.time, mark.note, mark.motion["altitude"]) == (1759320002000, "smoke left", 402.0)
    path = tmp_path / "flight-kite-1" / "samples.jsonl"
    with path.open("ab") as file:
        file.write(message(3)[:50])  # killed in the middle of a line
    killed = first.current
    assert killed is not None
    killed.close()
    second, landed = recorder(tmp_path)
    for seq in (2, 3, 4):
        second.add_sample(parse_sample(message(seq, end=seq == 4)))
    lines = [json.loads(line)["seq"] for line in path.read_text().splitlines()]
    assert lines == [0, 1, 2, 3, 4]
    now = second.current
    assert now is not None
    assert (len(now.track), [each.note for each in now.marks]) == (5, ["smoke left"])
    assert not now.has_ended(time.monotonic())  # its estimates are not complete
    second.add_estimate(clean(4))
    assert now.has_ended(time.monotonic())
    second.end_all()
    assert [each.flight for each in landed] == ["kite-1"]
    second.add_sample(parse_sample(message(4)))  # sent again after the end
    assert second.current is None
    with pytest.raises(Refused, match="no flight is being received"):
        second.mark("too late")


def test_a_gateway_logs_what_it_accepts(tmp_path: Path) -> None:
    log = SampleLog(tmp_path)
    log.write({"kite-1": [parse_sample(message(0)), parse_sample(message(1))], "..": []})
    log.write({"kite-1": [parse_sample(message(2))]})
    lines = (flight_folder(tmp_path, "kite-1") / "gateway.jsonl").read_text().splitlines()
    assert [Sample.model_validate_json(line).seq for line in lines] == [0, 1, 2]
    assert Sample.model_validate_json(lines[0]).model_dump() == parse_sample(message(0)).model_dump()


SERVE = """
import sys
from pathlib import Path
from pc2dae.web.server import open_socket, serve
from pc2dae.web.settings import Settings
settings = Settings(data=Path(sys.argv[1]), port=0, any_broker=True, gallery=False)
listener = open_socket(settings)
print(listener.getsockname()[1], flush=True)
serve(settings, listener)
"""


@contextmanager
def killable(data: Path) -> Iterator[tuple[Ground, subprocess.Popen[bytes]]]:
    """A server in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(data)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    ground = Ground(Settings(data=data), int(process.stdout.readline()))
    try:
        wait_for(lambda: _answers(ground))
        yield ground, process
    finally:
        ground.client.close()
        process.terminate()
        process.wait(30)
        process.stdout.close()


def _answers(ground: Ground) -> bool:
    try:
        return ground.client.get("/health").status_code == 200
    except httpx.HTTPError:
        return False


@pytest.mark.slow
def test_a_recorded_flight_equals_denoise_live_after_kills(mosquitto: Any, free_port: int, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port}"
    publisher = Publisher(Broker.parse(address), topic="smoke/raw", flight="kite-1", count=COUNT,
                          message=lambda seq: message(seq, end=seq == COUNT - 1))  # fmt: skip
    (tmp_path / "data" / "suites").mkdir(parents=True)
    (tmp_path / "data" / "suites" / "small.toml").write_text(SUITE)
    sender = threading.Thread(target=publisher.run, kwargs={"rate_hz": 20.0}, daemon=True)
    with mosquitto(tmp_path, free_port) as broker:
        with killable(tmp_path / "data") as (ground, server):
            wanted = {"broker": address, "suite": "small", "exclude": ["unsent"]}
            assert ground.client.post("/api/live", json=wanted).status_code == 200
            sender.start()
            wait_for(lambda: (ground.get("/api/live")["recording"] or {"samples": 0})["samples"] > 30)
            made = ground.client.post("/api/live/marks", json={"note": "first smoke"})
            assert made.status_code == 201
            server.send_signal(signal.SIGKILL)
            server.wait()
        broker.kill()
    with mosquitto(tmp_path, free_port), killable(tmp_path / "data") as (ground, _):
        wait_for(lambda: [f for f in ground.get("/api/flights") if f["state"] == "ready"], 150)
        flights = ground.get("/api/flights")
        assert [(f["name"], f["recorded"], f["marks"][0]["note"]) for f in flights] == [("kite-1", True, "first smoke")]
        detail = ground.get(f"/api/flights/{flights[0]['id']}")
        assert [run["method"] for run in detail["runs"]] == ["adaptive", "live"]
        assert detail["default_run"] == detail["runs"][0]["id"]
        assert detail["has_track"]
        assert ground.get("/api/live")["recording"] is None
    home = tmp_path / "data" / "flights" / detail["id"]
    table = home / "uploads" / "kite-1.csv"
    rows = table.read_text().splitlines()
    assert {"latitude", "air_temperature", "co"} <= {*rows[0].split(",")}
    assert "so2" not in rows[0]
    assert [row.split(",")[0] for row in rows[1:]] == [json.loads(message(n))["time"] for n in range(COUNT)]
    live = read_netcdf(home / "runs" / detail["runs"][1]["id"] / "clean.nc")
    offline = pc2dae.denoise(pc2dae.open_flight(table, suite=home / "recording" / "columns.toml"), profile="live")
    for name in ("co", "no"):
        scale = np.nanmax(np.abs(offline[name].values))
        np.testing.assert_allclose(live[name].values, offline[name].values, atol=1e-5 * scale)
        sigma = f"{name}_uncertainty"
        np.testing.assert_allclose(live[sigma].values, offline[sigma].values, atol=1e-5 * scale)
        assert live[name].attrs["target"] == offline[name].attrs["target"]
