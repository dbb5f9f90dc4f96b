"""Live map, marks, cards and the recorded flight in a real browser, from a replay without a broker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ESTIMATE = (0, 114, 178)  # --estimate of the style sheet
MARK = (138, 62, 166)  # --mark of the style sheet
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
SAMPLES = "Number(document.querySelector('#recording').textContent.match(/, (\\d+) samples/)?.[1] ?? 0)"
CARDS = "[...document.querySelectorAll('#live-panels > .live:not([hidden])')].map((c) => c.dataset.channel)"
CONTRAST = """(() => {
  const linear = (v) => (v <= 10 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4), weights = [0.2126, 0.7152, 0.0722];
  const light = (rgb) => rgb.match(/[\\d.]+/g).slice(0, 3)
    .reduce((sum, v, i) => sum + weights[i] * linear(Number(v)), 0.05);
  const value = document.querySelector('.live.is-stale .value'), style = getComputedStyle(value);
  const [a, b] = [style.color, getComputedStyle(value.closest('.card')).backgroundColor].map(light);
  return style.opacity === '1' ? Math.max(a, b) / Math.min(a, b) : 0;
})()"""


def test_a_live_flight_is_mapped_marked_and_recorded(
    opened: Callable[..., Any], until: Any, pixels: Any, shots: Path
) -> None:
    page = opened("#/live")
    until(page, "[...document.querySelector('#replay-flight').options].some((o) => o.text === 'A simulated flight')")
    page.select_option("#replay-flight", label="A simulated flight")
    page.select_option("#replay-speed", "10")
    page.click("#replay-button")
    page.wait_for_selector("#live-map canvas")
    until(page, f"{SAMPLES} > 60")
    page.fill("#mark-note", "over the fire line")
    page.click("#mark-button")
    page.wait_for_selector("#marks li:has-text('over the fire line')")
    page.focus("#live-follow")
    page.keyboard.press("m")
    page.wait_for_selector("#marks li:nth-child(2)")
    until(page, "/\\d m\\/s/.test(document.querySelector('#live-figures').textContent)")
    assert "° N" in page.text_content("#live-figures") or "° S" in page.text_content("#live-figures")
    before = page.evaluate(CARDS)
    _arrange(page, before[0], "Move later")
    _arrange(page, before[2], "Hide")
    _arrange(page, before[1], "Enlarge or shrink")
    wanted = [before[1], before[0], *before[3:]]
    assert page.evaluate(CARDS) == wanted
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)
    assert pixels(page, "#live-map canvas", MARK) > 40  # both flags
    assert pixels(page, f"[data-channel={before[1]}] canvas", MARK) > 10  # and their lines
    page.screenshot(path=shots / "live-map.png")
    phone = opened("#/live", **PHONE)
    dark = opened("#/live", color_scheme="dark", viewport={"width": 1024, "height": 768})
    until(phone, f"{SAMPLES} > 0 && document.querySelectorAll('.brief b').length > 3")
    phone.wait_for_selector("#live-map canvas")
    top = {part: phone.locator(part).bounding_box()["y"] for part in ("#live-values", "#live-map", "#counters")}
    assert sorted(top, key=lambda part: top[part]) == ["#live-values", "#live-map", "#counters"]
    assert not phone.is_visible("#broker")  # the connection is folded
    until(dark, "Boolean(document.querySelector('.live canvas'))")
    dark.click("#live-follow")
    page.reload()
    page.wait_for_selector("#marks li:nth-child(2)")
    until(page, f"JSON.stringify({CARDS}) === {_json(wanted)}")  # remembered
    until(page, f"{SAMPLES} > 150")
    phone.screenshot(path=shots / "live-phone.png")
    dark.screenshot(path=shots / "live-tablet-dark.png")
    page.click("#replay-button")
    page.wait_for_selector(".live.is-stale .value")
    assert page.evaluate(CONTRAST) >= 4.5
    assert page.is_visible(".live.is-stale .stale")
    page.screenshot(path=shots / "live-stale.png")

    page.goto(page.url.replace("live", ""))
    page.click("#flights a:has-text('Replay of A-simulated-flight')")
    page.click("#compare-live")
    until(page, "document.querySelector('#other').value === 'live'")
    page.wait_for_selector("#recorded li:has-text('over the fire line')")
    page.wait_for_timeout(500)
    assert pixels(page, "#panels canvas", ESTIMATE) > 100
    page.screenshot(path=shots / "live-over-offline.png")
    page.select_option("#method", "live")
    until(page, "document.querySelector('#lead').textContent.includes('live')")


def _arrange(page: Any, channel: str, words: str) -> None:
    page.click(f"[data-channel={channel}] .card-tools summary")
    page.click(f"[data-channel={channel}] .card-tools button:has-text('{words}')")


def _json(names: list[str]) -> str:
    return "'[" + ",".join(f'"{name}"' for name in names) + "]'"
