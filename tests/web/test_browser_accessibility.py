"""axe-core in every view, light and dark; and the simulated flight's responses as the API describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import httpx
import pytest
from ground import wait_for

from pc2dae.web.view_models import FlightDetail, FlightShown, PlumesShown, TrackShown

pytestmark = pytest.mark.slow
VIOLATIONS = """async () => {
  const repeated = [".scroll tbody tr:nth-child(n+3)", ".panel:nth-of-type(n+3)", ".live:nth-of-type(n+4)"];
  const where = { include: document, exclude: repeated.filter((rows) => document.querySelector(rows)) };
  const { violations } = await axe.run(where, { resultTypes: ["violations"], preload: false });
  const shown = (node) => `${node.target.join(" ")} ${node.any.map((check) => check.message).join()}`;
  return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map(shown).join(" | ")}`);
}"""


@pytest.fixture
def client(station: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=station, timeout=60) as client:
        yield client


def test_axe_finds_no_violation(opened: Callable[..., Any], client: httpx.Client) -> None:
    pytest.importorskip("axe_playwright_python")
    axe = (files("axe_playwright_python") / "axe.min.js").read_text()
    page = opened()
    page.wait_for_selector("#panels .plot[data-from]")
    page.evaluate(axe)
    found: dict[str, list[str]] = {}

    def check(view: str) -> None:
        for _ in range(2):
            theme = page.evaluate("document.documentElement.dataset.theme")
            page.wait_for_timeout(250)  # colours fade
            if violations := page.evaluate(VIOLATIONS):
                found[f"{view}, {theme}"] = violations
            page.evaluate("document.getElementById('theme').click()")

    check("ready flight")
    page.evaluate("document.getElementById('downloads').open = true")
    check("downloads")
    bad = client.post("/api/flights", files=[("files", ("odd.csv", b"when,smoke\n1,2\n3,4\n"))]).json()["flight"]["id"]
    wait_for(lambda: client.get(f"/api/flights/{bad}").json()["state"] == "failed")
    page.evaluate(f"location.hash = '#/flight/{bad}'")
    page.wait_for_selector("#failure:not([hidden])")
    check("failed flight")
    page.evaluate("document.getElementById('ask').showModal()")
    check("dialog")
    page.evaluate("document.getElementById('ask').close()")
    page.evaluate("location.hash = '#/live'")
    page.wait_for_selector("#live-view:not([hidden])")
    check("live, empty")
    gallery = next(flight["id"] for flight in client.get("/api/flights").json() if flight["gallery"])
    client.post("/api/live/replay", json={"flight": gallery, "speed": 60}).raise_for_status()
    page.wait_for_selector(".live canvas")
    check("live, running")
    client.delete("/api/live/replay")
    wait_for(lambda: any(flight["recorded"] for flight in client.get("/api/flights").json()))
    for flight in client.get("/api/flights").json():  # other tests expect the simulated one alone
        if not flight["gallery"]:
            client.delete(f"/api/flights/{flight['id']}")
    assert found == {}


def test_the_simulated_flight_is_as_described(client: httpx.Client) -> None:
    def get(path: str, **query: str) -> Any:
        return client.get(path, params=query).raise_for_status().json()

    def simulated() -> dict[str, Any]:
        return next((dict(flight) for flight in get("/api/flights") if flight["gallery"]), {"state": None})

    wait_for(lambda: simulated()["state"] == "ready")
    flight = simulated()
    here = f"/api/flights/{flight['id']}"
    assert FlightDetail.model_validate(get(here)).has_truth
    assert FlightShown.model_validate(get(f"{here}/view", run=flight["default_run"])).profile is not None
    assert PlumesShown.model_validate(get(f"{here}/plumes")).table
    assert TrackShown.model_validate(get(f"{here}/track")).east
