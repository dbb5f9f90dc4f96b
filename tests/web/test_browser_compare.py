"""Comparing in a real browser: two methods, two sensors of a species, two flights, and the uncertainty budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ground import plain_csv

pytestmark = pytest.mark.slow
Open = Callable[..., Any]
Until = Callable[[Any, str], None]
Pixels = Callable[[Any, str, tuple[int, int, int]], int]

DARK, TABLET = {"color_scheme": "dark"}, {"viewport": {"width": 1024, "height": 768}, "has_touch": True}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SCREENS = {"dark": DARK, "tablet": TABLET, "phone": PHONE}
ZERO_LINE = (23, 32, 42)  # --ink
NOISE, IN_PLUME = (140, 199, 234), "--truth"
# The first panel as drawn before and after a press of the key, one frame apart, and the requests of it.
FLIP = """() => new Promise((done) => {
  const canvas = document.querySelector("#panels .plot canvas"), before = canvas.toDataURL();
  performance.clearResourceTimings();
  dispatchEvent(new KeyboardEvent("keydown", { key: "c" }));
  dispatchEvent(new KeyboardEvent("keyup", { key: "c" }));
  requestAnimationFrame(() => done([before !== canvas.toDataURL(), performance.getEntriesByType("resource").length]));
})"""
TABLE = """(selector) => [...document.querySelectorAll(`${selector} tbody tr`)]
  .map((row) => [...row.children].map((cell) => cell.textContent))"""
WIDE = "document.documentElement.scrollWidth > innerWidth"


def scroll_to(page: Any, selector: str) -> None:
    page.evaluate("(s) => document.querySelector(s).scrollIntoView({ behavior: 'instant' })", selector)
    page.wait_for_timeout(300)


def pictures(opened: Open, address: str, selector: str, path: Path, ready: str) -> None:
    """What a link shows on other screens; none scrolls sideways."""
    for name, screen in SCREENS.items():
        page = opened(address, **screen)
        page.wait_for_selector("#panels .panel", state="attached")
        scroll_to(page, selector)  # panels are drawn when they come into view
        page.wait_for_selector(ready, state="attached")
        scroll_to(page, selector)
        page.screenshot(path=path.with_name(f"{path.name}-{name}.png"))
        assert not page.evaluate(WIDE), name


def test_two_methods_as_difference_and_as_flip(opened: Open, until: Until, pixels: Pixels, shots: Path) -> None:
    page = opened()
    page.wait_for_selector("#panels .plot[data-from]")
    page.select_option("#other", "ma5")
    page.wait_for_selector("#shown-as:not([hidden])")
    page.select_option("#compare-mode", "difference")
    page.wait_for_selector(".difference .uplot")
    said = page.inner_text(".difference p")
    assert "mean bias" in said
    assert "RMS" in said
    assert pixels(page, ".difference .small-plot", ZERO_LINE) > 300
    assert "compare=difference" in page.evaluate("location.hash")
    page.locator(".difference").first.scroll_into_view_if_needed()
    page.screenshot(path=shots / "difference-light.png")
    address = page.evaluate("location.hash")
    page.select_option("#compare-mode", "toggle")
    first = page.inner_text(".flip b")
    page.wait_for_timeout(500)
    assert page.evaluate(FLIP) == [True, 0]  # drawn in the next frame, without a request
    assert page.inner_text(".flip b") != first
    scale = "document.querySelector('.flip').dataset.shown"
    page.dispatch_event(".flip", "pointerdown")
    assert page.evaluate(scale) == "run"
    page.wait_for_timeout(500)  # held
    page.dispatch_event(".flip", "pointerup")
    assert page.evaluate(scale) == "other"
    page.screenshot(path=shots / "flip-light.png")
    pictures(opened, address, "#panels", shots / "difference", ".difference .uplot")


def test_two_sensors_of_a_species(opened: Open, until: Until, pixels: Pixels, shots: Path) -> None:
    page = opened()
    page.wait_for_selector("#sensors:not([hidden]) .scatter canvas")
    choice = page.locator("#sensor-pairs select").first
    choice.select_option(label="CO: co_a, co_b")
    assert page.evaluate("location.hash").endswith("compare=scatter:co")
    scroll_to(page, "#sensors")
    truth = page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{IN_PLUME}')").strip()
    colour = tuple(int(truth[i : i + 2], 16) for i in (1, 3, 5))
    assert pixels(page, ".scatter", colour) > 100
    figures = {row[0]: row[1] for row in page.evaluate(TABLE, "#sensor-pairs")}
    slope, sigma = map(float, figures["slope"].split(" ± "))
    assert abs(slope - 1) < 0.5
    assert 0 < sigma < 0.5
    page.focus(".scatter canvas")
    page.keyboard.press("ArrowRight")
    assert "UTC" in page.inner_text(".scatter .tip")
    box = page.locator(".scatter canvas").bounding_box()
    page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 0.98 * box["height"])
    assert page.locator(".scatter .tip").is_hidden()
    page.screenshot(path=shots / "scatter-light.png")
    address = page.evaluate("location.hash")
    pictures(opened, address, "#sensors", shots / "scatter", "#sensors:not([hidden]) .scatter canvas")


def test_two_flights_side_by_side(opened: Open, until: Until, pixels: Pixels, shots: Path, tmp_path: Path) -> None:
    table = tmp_path / "second.csv"
    table.write_bytes(plain_csv(200))
    page = opened()
    page.wait_for_selector("#panels .panel")
    page.set_input_files("#files", table)
    until(page, "document.querySelector('#title').textContent.startsWith('second')")
    page.wait_for_selector("#ready:not([hidden]) #panels [data-channel=co_a]")
    until(page, "document.querySelectorAll('#beside-flight option').length > 1")
    page.select_option("#beside-flight", index=1)
    page.wait_for_selector("#beside-tables tbody tr")
    facts = {row[0]: row[2:] for row in page.evaluate(TABLE, "#beside-tables")}
    assert facts["duration"][0] == "3 min 20 s"
    scroll_to(page, "#beside-tables .beside-grid")
    page.wait_for_selector(".beside-grid .uplot")
    assert page.locator(".beside-grid h4").all_inner_texts()[0].startswith("no_a")
    page.wait_for_timeout(300)
    page.screenshot(path=shots / "flights-light.png")
    address = page.evaluate("location.hash")
    assert "compare=flight" in address
    pictures(opened, address, "#beside", shots / "flights", "#beside-tables tbody tr")


def test_calibration_state_and_uncertainty_budget(opened: Open, pixels: Pixels, shots: Path) -> None:
    page = opened()
    page.wait_for_selector("#budget-bars .budget-bar")
    scroll_to(page, "#uncertainty")
    assert pixels(page, "#budget-bars .pieces", NOISE) > 500
    bars = page.locator("#budget-bars [role=img]").evaluate_all("(all) => all.map((e) => e.getAttribute('aria-label'))")
    assert any(label.startswith("co_a in clean air: noise ") for label in bars)
    rows = {row[0]: row[1:] for row in page.evaluate(TABLE, "#uncertainty-tables .scroll")}
    assert "co_a" in rows
    page.screenshot(path=shots / "budget-light.png")
    pictures(opened, "", "#uncertainty", shots / "budget", "#budget-bars .budget-bar")
