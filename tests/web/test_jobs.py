"""Jobs and their limits: any failure of a worker is reported in one line, and the server continues."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from ground import LIMITS, Ground, grounded, plain_csv, wait_for


def workers() -> list[psutil.Process]:
    first = [p for p in psutil.Process().children() if "pc2dae.web.template" in p.cmdline()]
    return [worker for process in first for template in process.children() for worker in template.children()]


def drop(ground: Ground, rows: int = 90) -> httpx.Response:
    return ground.client.post("/api/flights", files={"files": ("a.csv", plain_csv(rows))})


def begun(ground: Ground, rows: int = 3000) -> dict[str, Any]:
    """A running job."""
    answer = drop(ground, rows).json()
    wait_for(lambda: ground.get(f"/api/jobs/{answer['job']['id']}")["fraction"] > 0)
    return dict(answer)


def test_whatever_happens_to_a_job_the_server_goes_on(tmp_path: Path) -> None:
    """Killed, cancelled while it works, cancelled while it waits, too many; and no worker outlives its server."""
    with grounded(tmp_path, limits=replace(LIMITS, queue=2)) as ground:
        first = begun(ground)
        second, third = (drop(ground).json() for _ in range(2))
        assert (second["job"]["position"], third["job"]["position"]) == (0, 1)
        fourth = drop(ground)
        assert (fourth.status_code, fourth.json()["error"]) == (429, "2 jobs are waiting")
        for process in workers():
            os.kill(process.pid, signal.SIGSEGV)
        told = ground.wait(first["job"]["id"])
        assert (told["state"], told["error"]) == ("failed", "the file crashed the reader (SIGSEGV)")
        wait_for(lambda: ground.get(f"/api/jobs/{second['job']['id']}")["fraction"] > 0)
        for job in (third, second):
            assert ground.client.delete(f"/api/jobs/{job['job']['id']}").json()["state"] == "cancelled"
        assert [f["error"] for f in ground.get("/api/flights")][:2] == ["cancelled", "cancelled"]
        assert ground.get("/health")["queued"] == 0
        again = ground.client.post(f"/api/flights/{second['flight']['id']}/again", json={}).json()
        wait_for(lambda: ground.get(f"/api/jobs/{again['job']['id']}")["state"] == "working")
        wait_for(workers)
        mine = workers()
    time.sleep(0.2)
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in mine)


@pytest.mark.parametrize(("change", "said"), [
    ({"wall_s": 0.3}, "timed out after 0.3 s"),
    ({"cpu_s": 0}, "stopped: more than 0 s of processor time"),
    ({"memory_bytes": 150_000_000}, "memory"),
])  # fmt: skip
def test_a_job_ends_at_its_limits(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with grounded(tmp_path, limits=replace(LIMITS, **change)) as ground:
        found = ground.drop(("a.csv", plain_csv(40_000)))  # several seconds of work
    assert found["state"] == "failed"
    assert said in found["error"]


def test_what_was_under_way_is_done_after_a_restart(tmp_path: Path) -> None:
    with grounded(tmp_path) as ground:
        job = begun(ground)
        kept = drop(ground).json()
    records = {p.parent.name: json.loads(p.read_text()) for p in tmp_path.glob("flights/*/record.json")}
    assert records[job["flight"]["id"]]["state"] == "working"
    assert records[kept["flight"]["id"]]["state"] == "queued"
    (tmp_path / "flights" / "AAAAAAAAAAAAAAAAAAAAAA").mkdir()  # what a crash leaves of an upload
    spent = tmp_path / "flights" / job["flight"]["id"] / "record.json"
    spent.write_text(json.dumps(records[job["flight"]["id"]] | {"attempts": 2}))
    with grounded(tmp_path) as ground:
        assert ground.wait(kept["job"]["id"])["state"] == "done"  # under the same number
        states = {f["id"]: (f["state"], f["error"]) for f in ground.get("/api/flights")}
        assert states == {
            kept["flight"]["id"]: ("ready", None),
            job["flight"]["id"]: ("failed", "the server stopped while working on it"),
        }
    with grounded(tmp_path) as ground:
        flight = ground.get(f"/api/flights/{kept['flight']['id']}")
        assert len(ground.get(f"/api/flights/{flight['id']}/series", run=flight["default_run"])["time"]) == 90
