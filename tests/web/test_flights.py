"""A flight from upload to download through the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ground import Ground, plain_csv

import pc2dae

PLUME = (1759320080000, 1759320100000)  # 12:01:20 to 12:01:40 of that day


def test_what_was_dropped_is_described(dropped: dict[str, Any]) -> None:
    assert (dropped["name"], dropped["suite"], dropped["span_s"]) == ("kite", "black-kite", 120.0)
    assert dropped["files"][0] == {"name": "gas.csv", "bytes": len(plain_csv())}
    assert {i["file"] for i in dropped["intake"]["ignored"]} == {"photo.jpg", "notes.txt"}
    assert all(i["reason"] for i in dropped["intake"]["ignored"])
    assert [(s["file"], s["instrument"], s["rows"]) for s in dropped["intake"]["sources"]] == [("gas.csv", "csv", 120)]
    assert dropped["verdicts"][0]["family"] == "gas"
    assert dropped["channels"][0]["name"] == "no_a"
    assert 0.2 < dropped["channels"][0]["below"] < 0.6
    (run,) = dropped["runs"]
    assert (run["id"], run["method"], run["state"]) == (dropped["default_run"], "adaptive", "ready")
    assert run["channels"]["co_a"]["below"] == 0
    assert run["channels"]["co_a"]["uncertainty"] > 0
    assert "9 channels" in dropped["lead"]


def test_the_view_of_a_run_and_of_the_flight_as_measured(ground: Ground, dropped: dict[str, Any]) -> None:
    path = f"/api/flights/{dropped['id']}/view"
    run, flight = ground.get(path, run=dropped["default_run"]), ground.get(path)
    assert run["lead"] == dropped["lead"]
    assert len(run["channels"]) == len(flight["channels"]) == 9
    assert "→" in next(c["summary"] for c in run["channels"] if c["name"] == "co_a")  # noise before → after
    assert run["tables"]["scores"] != []
    assert flight["tables"]["scores"] == []


def test_curves_hold_the_estimate_inside_its_band(ground: Ground, dropped: dict[str, Any]) -> None:
    found = ground.get(f"/api/flights/{dropped['id']}/series", run=dropped["default_run"], channels="co_a,no_a")
    assert list(found["channels"]) == ["co_a", "no_a"]
    assert len(found["time"]) == 120
    curve = {k: np.array(v) for k, v in found["channels"]["co_a"].items() if k not in ("flags", "truth")}
    assert (curve["low"] <= curve["estimate"]).all()
    assert (curve["estimate"] <= curve["high"]).all()
    assert curve["low"].min() >= 0
    assert curve["raw"].min() < 0
    assert found["channels"]["co_a"]["truth"] is None


def test_a_stretch_is_cut_and_a_long_one_thinned(ground: Ground, dropped: dict[str, Any]) -> None:
    path = f"/api/flights/{dropped['id']}/series"
    cut = ground.get(path, **{"from": PLUME[0], "to": PLUME[1], "channels": "co_a"})
    assert (cut["time"][0], cut["time"][-1]) == (PLUME[0] - 1000, PLUME[1] + 1000)
    assert cut["channels"]["co_a"]["estimate"] is None
    thin = ground.get(path, points=20, channels="co_a")
    assert thin["thinned"]
    assert len(thin["time"]) <= 22
    assert max(thin["channels"]["co_a"]["raw"]) == max(ground.get(path)["channels"]["co_a"]["raw"])


def test_another_strength_is_a_blend_and_costs_no_second_run(ground: Ground, dropped: dict[str, Any]) -> None:
    half = ground.denoise(dropped["id"], method="adaptive", strength=0.5)
    assert (half["state"], half["strength"]) == ("ready", 0.5)
    path = f"/api/flights/{dropped['id']}/series"
    whole = ground.get(path, run=dropped["default_run"], channels="co_a")["channels"]["co_a"]
    blend = ground.get(path, run=half["id"], channels="co_a")["channels"]["co_a"]
    estimate, got = np.array(whole["estimate"]), np.array(blend["estimate"])
    expected = np.maximum(0.5 * estimate + 0.5 * np.array(whole["raw"]), 0)
    blended = np.isclose(got, expected, atol=0.01)
    assert blended.sum() > 30
    np.testing.assert_allclose(got[~blended], estimate[~blended], atol=0.01)  # flagged: nothing was observed there
    assert ground.denoise(dropped["id"], method="adaptive", strength=0.5)["id"] == half["id"]
    scores = ground.get(f"/api/flights/{dropped['id']}/scores")
    assert {(s["method"], s["strength"]) for s in scores} >= {("adaptive", 1.0), ("adaptive", 0.5), ("raw", None)}


def test_plumes_are_found_where_they_were(ground: Ground, dropped: dict[str, Any]) -> None:
    found = ground.get(f"/api/flights/{dropped['id']}/plumes")
    assert [e["number"] for e in found["encounters"] if e["channel"] == "co_a"] == [1]
    # All channels of the table move in step, so that another common rise may be found in its two minutes.
    ((begin, end),) = (part for part in found["intervals"] if part[0] < PLUME[1] and part[1] > PLUME[0])
    assert begin <= PLUME[0] + 2000
    assert end >= PLUME[1] - 2000
    assert ground.get(f"/api/flights/{dropped['id']}/track") is None


@pytest.mark.parametrize("form", ["nc", "csv"])
def test_a_download_opens_again(form: str, ground: Ground, dropped: dict[str, Any], tmp_path: Path) -> None:
    answer = ground.client.get(
        f"/api/flights/{dropped['id']}/download", params={"run": dropped["default_run"], "format": form}
    )
    assert answer.headers["content-disposition"] == f'attachment; filename="kite-adaptive.{form}"'
    assert answer.headers["content-security-policy"].startswith("sandbox")
    (tmp_path / f"x.{form}").write_bytes(answer.content)
    opened = pc2dae.open_flight(tmp_path / f"x.{form}")
    curve = ground.get(f"/api/flights/{dropped['id']}/series", run=dropped["default_run"])["channels"]["co_a"]
    np.testing.assert_allclose(opened["co_a"].values, curve["estimate"], rtol=1e-5, atol=1e-4)


def test_the_report_is_a_page_to_keep(ground: Ground, dropped: dict[str, Any]) -> None:
    answer = ground.client.get(
        f"/api/flights/{dropped['id']}/download", params={"run": dropped["default_run"], "format": "html"}
    )
    assert answer.headers["content-disposition"].startswith("attachment")
    assert b"</html>" in answer.content


def test_a_denoised_flight_comes_back_with_its_run(ground: Ground, dropped: dict[str, Any]) -> None:
    clean = ground.client.get(f"/api/flights/{dropped['id']}/download", params={"run": dropped["default_run"]}).content
    again = ground.drop(("clean.nc", clean), name="once more")
    assert (again["state"], again["name"]) == ("ready", "once more")
    assert [(r["method"], r["strength"]) for r in again["runs"]] == [("adaptive", 1.0)]
    raw = ground.get(f"/api/flights/{again['id']}/series", channels="co_a")["channels"]["co_a"]["raw"]
    assert raw == ground.get(f"/api/flights/{dropped['id']}/series", channels="co_a")["channels"]["co_a"]["raw"]
    assert ground.client.delete(f"/api/flights/{again['id']}").status_code == 204
    assert ground.client.get(f"/api/flights/{again['id']}").status_code == 404
    assert not (ground.settings.data / "flights" / again["id"]).exists()
    assert ground.client.post(f"/api/flights/{again['id']}/restore").json()["name"] == "once more"
    assert ground.get(f"/api/flights/{again['id']}")["default_run"] == again["default_run"]
    assert ground.client.post(f"/api/flights/{again['id']}/restore").status_code == 404


def test_unknown_columns_are_mapped_and_the_files_read_again(ground: Ground) -> None:
    rows = [f"2025-10-01T12:{n // 60:02}:{n % 60:02},{(n * 37 % 23) / 10 - 1}" for n in range(90)]
    failed = ground.drop(("my log.csv", "\n".join(["Zeit,=CO", *rows]).encode()))
    assert failed["state"] == "failed"
    assert failed["error"] == "my log.csv: unknown instrument (columns Zeit, =CO)"
    assert failed["intake"]["columns"][1] == {"column": "=CO", "file": "my log.csv", "example": "-1.0"}
    assert failed["intake"]["time_columns"] == ["Zeit"]
    mapping = {"time_column": "Zeit", "zone": "UTC",
               "channels": [{"column": "=CO", "name": "co", "units": "ppm", "family": "gas"}]}  # fmt: skip
    assert ground.client.put("/api/suites/kolibri", json=mapping).status_code == 200
    assert 'column = "=CO"' in ground.client.get("/api/suites/kolibri.toml").text
    answer = ground.client.post(f"/api/flights/{failed['id']}/again", json={"suite": "kolibri"})
    assert ground.wait(answer.json()["job"]["id"])["state"] == "done"
    found = ground.get(f"/api/flights/{failed['id']}")
    assert (found["state"], found["suite"], found["channels"][0]["name"]) == ("ready", "kolibri", "co")
    assert ground.client.delete("/api/suites/kolibri").status_code == 204


def test_a_bad_file_is_one_line(ground: Ground) -> None:
    found = ground.drop(("broken.nc", b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 20))
    assert found["state"] == "failed"
    assert found["error"].startswith("broken.nc")
    assert str(ground.settings.data) not in found["error"]
