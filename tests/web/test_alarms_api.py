"""Limits and alarms over HTTP, raised by a replayed flight."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from ground import Ground, grounded, plain_csv, wait_for


@pytest.mark.parametrize(
    ("limits", "status", "error"),
    [
        ({"co_x": {"above": 1}}, 422, "unknown channel 'co_x'"),
        ({"co_a": {"above": 1, "below": 1}}, 422, "co_a: the lower limit 1 is not below the upper 1"),
        ({"co_a": {"above": 9, "units": "ppm"}}, 422, "co_a is measured in ppb, the limit is in 'ppm'"),
        ({"co_a": {"above": 9, "below": 5, "hysteresis": 5}}, 422, "co_a: the hysteresis 5 is wider than the limits"),
        ({"co_a": {"rise_per_min": -1}}, 422, "co_a.rise_per_min: input should be greater than 0"),
        ({"co_a": {"abov": 1}}, 422, "co_a.abov: extra inputs are not permitted"),
        ([], 422, "Input should be a valid dictionary"),
    ],
)
def test_invalid_limits_are_refused_in_one_line(ground: Ground, limits: object, status: int, error: str) -> None:
    answer = ground.client.put("/api/live/limits", json=limits)
    assert (answer.status_code, answer.json()["error"][: len(error)]) == (status, error)
    assert ground.get("/api/live/limits") == {}


@pytest.mark.parametrize(
    "text", ['{"co_a": {"above": Infinity}}', '{"co_a": {"above": 1e999}}', '{"co_a": {"above": NaN}}']
)
def test_infinite_limits_are_refused(ground: Ground, text: str) -> None:
    answer = ground.client.put("/api/live/limits", content=text, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("co_a.above: ")


def test_alarms_of_a_flight_nobody_watches_are_listed_exported_and_survive_a_restart(tmp_path: Path) -> None:
    with grounded(tmp_path) as ground:
        flight = ground.drop(("gas.csv", plain_csv()))  # a plume of 300 ppb from second 81 to 99
        limits = {"co_a": {"above": 150.0}, "no_a": {"above": 1e6}}
        shown = ground.client.put("/api/live/limits", json=limits).json()
        assert shown["co_a"] | {"note": None} == shown["co_a"]
        assert (shown["co_a"]["units"], shown["co_a"]["above"]) == ("ppb", 150)
        assert ground.client.put("/api/live/limits", json={"no_a": None}).json().keys() == {"co_a"}
        ground.client.post("/api/live/replay", json={"flight": flight["id"], "speed": 1000})
        wait_for(lambda: ground.get("/api/live")["replay"]["state"] == "done", 120)
        wait_for(lambda: ground.get("/api/live")["counters"]["estimates"] == 120)
        (alarm,) = ground.get("/api/live/alarms")
        assert (alarm["channel"], alarm["kind"], alarm["source"], alarm["units"]) == ("co_a", "above", "raw", "ppb")
        assert alarm["since"] == flight["start"] + 82_000  # the median follows with the second of three
        assert alarm["until"] is not None
        assert 289 <= alarm["peak"] <= 400
        (row,) = csv.DictReader(io.StringIO(ground.client.get("/api/live/alarms.csv").text))
        assert (row["since"], row["channel"], row["limit"], row["seen"]) == (
            "2025-10-01T12:01:22.000Z", "co_a", "150.0", "no")  # fmt: skip
        assert ground.client.post("/api/live/alarms/AAAAAAAAAAAAAAAA/seen").status_code == 404
        assert ground.client.post(f"/api/live/alarms/{alarm['id']}/seen").json()["seen"] is True
    kept = json.loads((tmp_path / "alarms.json").read_text())
    assert [a["seen"] for a in kept["alarms"]] == [True]
    with grounded(tmp_path) as ground:
        assert ground.get("/api/live/limits")["co_a"]["above"] == 150
        assert [a["id"] for a in ground.get("/api/live/alarms")] == [alarm["id"]]
        assert all(a["seen"] for a in ground.client.post("/api/live/alarms/seen").json())


def test_a_damaged_file_is_kept_beside(tmp_path: Path) -> None:
    (tmp_path / "alarms.json").write_text('{"limits": 3}')
    with grounded(tmp_path) as ground:
        assert ground.get("/api/live/limits") == {}
    assert (tmp_path / "alarms.invalid.json").read_text() == '{"limits": 3}'
