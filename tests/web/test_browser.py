"""The page in a real browser: upload, view, compare methods, zoom, download, map an unknown table."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pc2dae
from pc2dae.simulate import plan_campaign, write_campaign

pytestmark = pytest.mark.slow
Open = Callable[..., Any]
Until = Callable[[Any, str], None]
Pixels = Callable[[Any, str, tuple[int, int, int]], int]

ESTIMATE, ESTIMATE_DARK = (0, 114, 178), (86, 180, 233)  # --estimate of the style sheet
PLUME = (194, 122, 0)
# Drop files on the window as a person does.
DROP = """(files) => {
  const transfer = new DataTransfer();
  const bytes = (data) => Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  for (const [name, data] of files) transfer.items.add(new File([bytes(data)], name));
  for (const kind of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""
# Begin and end of the time axis [ms] of every panel on the screen.
RANGES = """() => [...document.querySelectorAll("#panels .plot[data-from]")]
  .filter((p) => p.getBoundingClientRect().top < innerHeight && p.getBoundingClientRect().bottom > 0)
  .map((p) => [Number(p.dataset.from), Number(p.dataset.to)])"""
TOO_SMALL = """() => [...document.querySelectorAll("button:not(.link), select, summary, .bar a, .flights a")]
  .filter((e) => e.offsetHeight && e.getBoundingClientRect().height < 44).map((e) => e.id || e.textContent)"""
NAMELESS = """() => [...document.querySelectorAll("button, select, input:not([hidden]), canvas[tabindex]")]
  .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)"""
# Notes that a panel has shown the values under a finger: a browser without a screen takes its mouse away at once.
NOTE_READING = """() => {
  const panels = document.querySelector("#panels");
  const note = () => { window.wasRead ||= panels.querySelector(".is-reading") !== null; };
  new MutationObserver(note).observe(panels, { subtree: true, attributeFilter: ["class"] });
}"""
REFUSED = "#failure:not([hidden]), #drop-problem:not([hidden])"


def drawn(page: Any) -> None:
    """Wait until the first panel and the track are drawn."""
    page.wait_for_selector("#panels .plot[data-from]")
    page.wait_for_selector("#track canvas")


def test_first_start_shows_a_flight_in_every_light(opened: Open, pixels: Pixels, shots: Path) -> None:
    page = opened()
    drawn(page)
    assert "simulated" in page.inner_text("#eyebrow")
    assert pixels(page, "#panels .plot", ESTIMATE) > 400
    assert pixels(page, "#panels .plot", PLUME) > 40
    page.wait_for_selector("#scores tr.ours")
    page.screenshot(path=shots / "light.png")
    page.click("#theme")
    page.wait_for_timeout(300)
    assert pixels(page, "#panels .plot", ESTIMATE_DARK) > 400
    page.screenshot(path=shots / "dark.png")
    page.locator("#plumes-title").scroll_into_view_if_needed()
    page.screenshot(path=shots / "dark-tables.png")
    tablet = opened(viewport={"width": 834, "height": 1112}, has_touch=True)
    drawn(tablet)
    tablet.screenshot(path=shots / "tablet.png")
    assert tablet.evaluate(TOO_SMALL) == []  # fingers in gloves
    assert tablet.evaluate(NAMELESS) == []


def test_a_flight_from_drop_to_download(
    opened: Open, until: Until, pixels: Pixels, shots: Path, tmp_path: Path
) -> None:
    logs = next(iter(write_campaign(plan_campaign(5, flights=1, minutes=5), tmp_path)))
    odd = tmp_path / "notes.csv"
    odd.write_text("<img src=x onerror=alert(1)>,wind\n1,2\n3,4\n")
    page = opened()
    page.wait_for_selector("#flights li")
    dropped = [*sorted(logs.iterdir()), odd]
    page.evaluate(DROP, [[path.name, base64.b64encode(path.read_bytes()).decode()] for path in dropped])
    page.wait_for_selector("#work:not([hidden])")
    page.screenshot(path=shots / "progress.png")
    page.wait_for_selector("#ready:not([hidden])")
    drawn(page)
    assert pixels(page, "#panels .plot", ESTIMATE) > 300
    files = page.inner_text("#intake-tables")
    assert "ma200" in files
    assert "<img src=x onerror=alert(1)>" in files  # as text, not as an image
    assert page.locator("#intake-tables img").count() == 0
    assert "excluded" in page.inner_text("#quality-tables")
    assert "calibration not included" in page.inner_text("#uncertainty-tables")
    _switch_method(page, until)
    _zoom(page, shots)
    for suffix, text in (("nc", "netCDF"), ("csv", "CSV")):
        page.click("#downloads summary")
        with page.expect_download() as waiting:
            page.click(f"#download-list a:has-text('{text}')")
        waiting.value.save_as(tmp_path / f"clean.{suffix}")
        clean = pc2dae.open_flight(tmp_path / f"clean.{suffix}", suite="black-kite" if suffix == "csv" else None)
        assert clean.sizes["time"] == 300
        assert float(np.nanmin(clean["co_a"].values)) >= 0
    page.click("#flights li.is-shown button")
    until(page, "document.querySelectorAll('#flights li').length === 1")


def _switch_method(page: Any, until: Until) -> None:
    """Another filter draws another line and gets a line of scores; so does half its strength."""
    before = page.locator("#panels .plot").first.screenshot()
    page.select_option("#method", "savgol")
    until(page, "document.querySelector('#tiles').textContent.includes('savgol')")
    until(page, "document.querySelectorAll('#scores tbody tr:not(.rule)').length === 2")
    assert page.locator("#panels .plot").first.screenshot() != before
    page.fill("#strength", "0.5")
    until(page, "document.querySelector('#scores').textContent.includes('savgol, 50 %')")
    page.select_option("#other", "adaptive")
    page.wait_for_selector("#key .k-other")


def _zoom(page: Any, shots: Path) -> None:
    """Buttons, keys and the mouse move all panels together."""
    page.evaluate("document.querySelector('.timeline').scrollIntoView()")
    page.wait_for_timeout(300)
    begin, end = page.evaluate(RANGES)[0]
    span = end - begin
    page.locator("#plume-next").click()
    _shows(page, lambda length: length < 0.9 * span)
    page.screenshot(path=shots / "plume.png")
    page.focus("#timeline")
    page.keyboard.press("Home")
    page.keyboard.press("+")
    _shows(page, lambda length: length == pytest.approx(0.7 * span, rel=0.02))
    box = page.locator("#panels .u-over").first.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 60, steps=4)
    page.mouse.up()
    _shows(page, lambda length: length == pytest.approx(100 / box["width"] * 0.7 * span, rel=0.05))
    _cursor_reads_the_time_under_it(page, box)
    page.mouse.dblclick(box["x"] + 200, box["y"] + 40)
    _shows(page, lambda length: length == span)


def _cursor_reads_the_time_under_it(page: Any, box: dict[str, float]) -> None:
    """In every panel, after a zoom as well."""
    page.wait_for_timeout(400)  # finer series have arrived
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 50)
    page.wait_for_timeout(100)
    begin, end = page.evaluate(RANGES)[0]
    expected = begin + 0.25 * (end - begin)
    said = page.locator("#panels .summary.is-reading").all_inner_texts()
    assert len(said) >= 2
    for text in said:
        hours, minutes, seconds = map(int, text.split(" ")[0].split(":"))
        assert abs((expected / 1000) % 86_400 - (3600 * hours + 60 * minutes + seconds)) < 1.6


def _shows(page: Any, fits: Callable[[float], bool]) -> None:
    """Wait until all panels on the screen show the same stretch, of a length that `fits`."""
    for _ in range(100):
        page.wait_for_timeout(50)
        shown = np.array(page.evaluate(RANGES))
        if len(shown) >= 2 and np.ptp(shown, axis=0).max() < 2 and fits(float(shown[0, 1] - shown[0, 0])):
            return
    pytest.fail(f"the panels show {shown.tolist()}")


def test_fingers_pinch_drag_and_tap(opened: Open, until: Until, shots: Path) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.wait_for_selector("#panels .panel")
    page.evaluate("document.querySelector('#panels .panel').scrollIntoView({ block: 'center', behavior: 'instant' })")
    drawn(page)
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#panels .u-over").first.bounding_box()
    begin, end = page.evaluate(RANGES)[0]
    client = page.context.new_cdp_session(page)

    def touch(kind: str, *xs: float) -> None:
        points = [{"x": box["x"] + x, "y": box["y"] + 60, "id": i} for i, x in enumerate(xs)]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 120, 160)
    touch("touchMove", 110, 170)
    touch("touchMove", 100, 180)  # from 40 px apart to 80
    touch("touchEnd")
    page.wait_for_timeout(300)
    zoomed = page.evaluate(RANGES)[0]
    assert zoomed[1] - zoomed[0] == pytest.approx(0.5 * (end - begin), rel=0.05)
    touch("touchStart", 150)
    touch("touchMove", 130)
    touch("touchMove", 100)
    touch("touchEnd")
    page.wait_for_timeout(300)
    moved = page.evaluate(RANGES)[0]
    assert moved[0] > zoomed[0]
    page.evaluate(NOTE_READING)
    page.touchscreen.tap(box["x"] + 150, box["y"] + 60)
    until(page, "window.wasRead")
    page.screenshot(path=shots / "phone.png")


def test_a_bad_file_says_why_in_one_line(opened: Open, shots: Path, tmp_path: Path) -> None:
    page = opened()
    page.wait_for_selector("#flights li")
    bad = tmp_path / "holiday.nc"
    bad.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
    page.set_input_files("#files", bad)
    page.wait_for_selector(REFUSED)
    said = page.inner_text("#drop-problem") or page.inner_text("#failure-title")
    assert "holiday.nc" in said
    assert "\n" not in said.strip()
    assert "Traceback" not in page.inner_text("body")
    page.screenshot(path=shots / "bad-file.png")


def test_a_strange_table_is_mapped_and_its_suite_kept(
    opened: Open, pixels: Pixels, shots: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    level = 200 + 900 * np.exp(-(((np.arange(300) - 150) / 12.0) ** 2)) + rng.normal(0, 20, 300)
    rows = [f"2025-07-01T12:{i // 60:02d}:{i % 60:02d},{v:.2f},{20 + i / 100:.2f}" for i, v in enumerate(level)]
    table = tmp_path / "kolibri.csv"
    table.write_text("\n".join(["stamp_time,Carbon ppb,T", *rows]) + "\n")
    page = opened()
    page.wait_for_selector("#flights li")
    page.set_input_files("#files", table)
    page.wait_for_selector("#mapping:not([hidden]) .map-line")
    page.screenshot(path=shots / "mapping.png")
    page.get_by_label("Name of Carbon ppb").fill("co")
    page.get_by_label("Time zone, if stamps have none").fill("UTC")
    page.click("#mapping button.primary")
    page.wait_for_selector("#ready:not([hidden]) #panels [data-channel=co] .plot[data-from]")
    assert pixels(page, "#panels [data-channel=co] .plot", ESTIMATE) > 200
    assert 'name = "co"' in page.evaluate("fetch('/api/suites/kolibri.toml').then((r) => r.text())")
