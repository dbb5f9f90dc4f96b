"""Looking at a flight in a real browser: axes, zooms, keys, channels, links, print and pictures."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytestmark = pytest.mark.slow
Open = Callable[..., Any]
Until = Callable[[Any, str], None]
Pixels = Callable[[Any, str, tuple[int, int, int]], int]

ESTIMATE, PLUME = (0, 114, 178), (194, 122, 0)  # of the style sheet
SHOWN = """() => [...document.querySelectorAll("#panels .panel")].filter((p) => p.offsetHeight)
  .map((p) => p.dataset.channel)"""
HASH = "location.hash"
PANEL = "#panels .panel:not([hidden])"
PLOT = f"{PANEL} .plot"
PIXELS_WIDE = "document.documentElement.scrollWidth"


def ready(page: Any) -> None:
    """Wait until the flight is drawn and scroll to it."""
    page.wait_for_selector(PANEL, state="attached")
    page.evaluate(f"document.querySelector('{PANEL}').scrollIntoView({{ behavior: 'instant' }})")
    page.wait_for_selector(f"{PANEL} .plot[data-from]")
    page.wait_for_timeout(600)  # finer series have arrived


def drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press the mouse, move, release."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def grey(page: Any, selector: str) -> Any:
    """The lightness of an element's pixels, 0 to 255."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(page.locator(selector).first.screenshot())).convert("L"), dtype=int)


def test_zoom_in_value_undo_keys_and_flags(opened: Open, until: Until, shots: Path) -> None:
    page = opened(timezone_id="America/Regina")
    ready(page)
    axis = page.locator("#panels .y-axis").first.bounding_box()
    whole = grey(page, PLOT)
    drag(page, (axis["x"] + 30, axis["y"] + 20), (axis["x"] + 30, axis["y"] + 60))
    until(page, "location.hash.includes('y=')")
    assert np.abs(grey(page, PLOT) - whole).max() > 50
    page.locator(PLOT).first.focus()
    page.keyboard.press("+")
    until(page, "location.hash.includes('from=')")
    page.keyboard.press("Backspace")
    until(page, "!location.hash.includes('from=')")
    page.keyboard.press("Control+z")
    until(page, "!location.hash.includes('y=') && document.getElementById('zoom-undo').disabled")
    page.mouse.move(0, 0)
    page.keyboard.press("Escape")
    inside = (slice(8, -8), slice(8, -8))  # of the ring that shows the focus
    assert np.abs(grey(page, PLOT)[inside] - whole[inside]).mean() < 1
    page.keyboard.press("ArrowRight")
    until(page, "/raw .*⚑/.test(document.getElementById('reading').textContent)")  # a simulated flight starts up
    assert "Not used as a measurement" in page.inner_text("#panels .flag-tip")
    assert re.search(r"\d\d:\d\d:\d\d", page.inner_text("#panels .summary.is-reading"))
    page.screenshot(path=shots / "look-keys.png")
    page.select_option("#time-zone", "local")
    assert "UTC−06:00" in page.inner_text("#range-words")
    assert "2025-10-13" in page.inner_text("#range-words")
    page.locator("#panels button:text-is('log')").first.click()
    page.wait_for_timeout(300)
    assert np.abs(grey(page, PLOT) - whole).max() > 50
    page.screenshot(path=shots / "look-log.png")


def test_channels_and_links_show_a_colleague_the_same(opened: Open, until: Until, shots: Path) -> None:
    page = opened()
    ready(page)
    every = page.evaluate(SHOWN)
    page.click("#choice summary")
    page.click("#choice button:text-is('None')")
    page.fill("#choice input[type=search]", "co_")
    page.click("#choice button:text-is('All')")
    page.screenshot(path=shots / "look-channels.png")
    page.keyboard.press("Escape")
    assert page.evaluate(SHOWN) == ["co_a", "co_b"] != every
    page.click("#plume-next")
    page.locator(f"{PANEL} button:text-is('log')").first.click()
    until(page, "location.hash.includes('plume=1') && location.hash.includes('log=')")
    page.mouse.move(0, 0)
    ready(page)
    address, picture = page.evaluate(HASH), grey(page, PLOT)
    colleague = opened(address)
    ready(colleague)
    assert colleague.evaluate(SHOWN) == ["co_a", "co_b"]
    assert np.abs(grey(colleague, PLOT) - picture).mean() < 2
    assert colleague.evaluate(HASH) == address
    page.go_back()  # from the plume to the whole flight, without loading it again
    until(page, "!location.hash.includes('plume=')")
    assert page.evaluate(SHOWN) == ["co_a", "co_b"]
    page.click("#copy-link")
    until(page, "document.getElementById('link-said').textContent !== ''")


def test_a_plume_is_marked_and_tables_fit_a_phone(opened: Open, until: Until, pixels: Pixels, shots: Path) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.wait_for_selector("#plume-tables tr.clickable")
    ready(page)
    assert page.evaluate(PIXELS_WIDE) <= 390
    before = pixels(page, PLOT, PLUME)
    page.locator("#plume-tables tr.clickable button").first.click()
    until(page, "document.activeElement.className === 'plot'")
    page.wait_for_timeout(500)
    box = page.evaluate("document.activeElement.getBoundingClientRect().toJSON()")
    assert 100 < box["top"] < 600  # below the timeline
    assert pixels(page, PLOT, PLUME) > before + 100
    page.screenshot(path=shots / "look-phone-plume.png")
    page.locator("#quality").scroll_into_view_if_needed()
    page.screenshot(path=shots / "look-phone-tables.png")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('.printed').length") == page.locator(".panel").count()


def test_print_and_pictures_show_everything(opened: Open, until: Until, shots: Path) -> None:
    page = opened(color_scheme="dark")
    ready(page)
    for kind in ("svg", "png"):
        page.locator(".picture summary").first.click()
        with page.expect_download() as waiting:
            page.locator(f"[data-save={kind}]").first.click()
        waiting.value.save_as(shots / f"look-panel.{kind}")
    drawing = ElementTree.parse(shots / "look-panel.svg").getroot()
    words = " ".join(drawing.itertext())
    for expected in ("A simulated flight", "estimate", "plume encounter", "2025-10-13", "time, UTC", "["):
        assert expected in words
    lines = {e.get("class"): e for e in drawing.iter() if (e.get("class") or "") in ("raw", "estimate", "truth")}
    assert all(len(line.get("d") or "") > 5000 for line in lines.values())
    assert lines["estimate"].get("stroke") == "#0072b2"  # light, also from a dark page
    assert lines["truth"].get("stroke-dasharray") != lines["estimate"].get("stroke-dasharray")
    from PIL import Image

    with Image.open(shots / "look-panel.png") as image:
        assert image.size == (1920, 720)
        found = np.asarray(image.convert("RGB"), dtype=int)
    assert (np.abs(found - ESTIMATE).max(axis=2) < 24).sum() > 2000
    page.evaluate("location.hash += '?channels=co_a,co_b'")  # all of them take long
    until(page, "document.querySelectorAll('#panels .panel:not([hidden])').length === 2")
    page.pdf(path=shots / "look-print.pdf", format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", (shots / "look-print.pdf").read_bytes())) > 2
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"  # again
    assert page.locator(".printed").count() == 0


STATED = (
    "fetch(`/api/flights/${location.hash.match(/[A-Za-z0-9_-]{8,}/)[0]}`).then((r) => r.json())"
    ".then((f) => fetch(`/api/flights/${f.id}/view?run=${f.default_run}`)).then((r) => r.json())"
    ".then((view) => view.clean_air.length)"
)


def test_clean_air_is_marked_by_dragging_several_times(opened: Open, until: Until, shots: Path) -> None:
    page = opened()
    ready(page)
    page.click("#mark-clean")
    for count, (left, right) in enumerate([(0.02, 0.08), (0.9, 0.97)], 1):
        page.evaluate(f"document.querySelector('{PANEL}').scrollIntoView({{ behavior: 'instant' }})")
        box = page.locator(f"{PLOT} .u-over").first.bounding_box()
        y = box["y"] + box["height"] / 2
        drag(page, (box["x"] + left * box["width"], y), (box["x"] + right * box["width"], y))
        until(page, f"{STATED}.then((n) => n === {count})")
        until(page, "document.getElementById('run-work').hidden && !document.getElementById('forget-clean').hidden")
    page.screenshot(path=shots / "look-clean-air.png")
    assert "ratio" in page.inner_text("#plume-tables")
    page.click("#mark-clean")
    page.click("#forget-clean")
    until(page, f"{STATED}.then((n) => n === 0)")
    until(page, "document.getElementById('forget-clean').hidden")
