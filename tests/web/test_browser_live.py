"""The live view in a real browser, with a real broker that is killed and a server that is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ESTIMATE = (0, 114, 178)  # --estimate of the style sheet
COUNT = "Number(document.querySelector('#count-estimates b')?.textContent.replace(/\\D/g, '') || 0)"
READY = """document.querySelector("#broker").value && [...document.querySelector("#replay-flight").options]
  .some((o) => o.text === "A simulated flight")"""


def test_live_through_the_death_of_the_broker(
    opened: Callable[..., Any], until: Any, pixels: Any, mosquitto: Any, free_port: int, shots: Path, tmp_path: Path
) -> None:
    page = opened("#/live")
    until(page, READY)
    page.fill("#broker", f"127.0.0.1:{free_port}")
    with mosquitto(tmp_path, free_port) as broker:
        page.click("#connect-button")
        page.wait_for_selector("#live-badge.wait:has-text('waiting for samples')")
        page.select_option("#replay-flight", label="A simulated flight")
        page.click("#replay-button")
        page.wait_for_selector(".live canvas")
        page.fill("[data-channel=co2_li830] input", "1")
        page.press("[data-channel=co2_li830] input", "Tab")
        until(page, f"{COUNT} > 20")
        page.wait_for_selector(".alarm")
        assert "co2_li830" in page.text_content("#announce")
        until(page, f"{COUNT} > 100")  # a line to look at
        page.evaluate("scrollTo(0, 0)")
        end = time.monotonic() + 20
        while pixels(page, ".live canvas", ESTIMATE) <= 60:
            assert time.monotonic() < end, "no line of estimates"
            page.wait_for_timeout(300)
        page.screenshot(path=shots / "live.png")
        broker.kill()
        page.wait_for_selector("#live-badge.bad")
        page.screenshot(path=shots / "live-lost.png")
    then = page.evaluate(COUNT)
    with mosquitto(tmp_path, free_port):
        page.wait_for_selector("#live-badge.good")
        until(page, f"{COUNT} > {then} + 20")
        assert page.inner_text("#count-lost b") == "0"
        page.reload()
        page.wait_for_selector(".live canvas")
        until(page, "document.querySelector('[data-channel=co2_li830] input').value === '1'")  # thresholds are kept
        page.click("#connect-button:has-text('Disconnect')")
        page.wait_for_selector("#connect-button:has-text('Connect'):not(:has-text('Disconnect'))")


def test_the_page_survives_a_restart_of_the_server(browser: Any, serving: Any, free_port: int, tmp_path: Path) -> None:
    page = browser.new_page()
    with serving(tmp_path, free_port) as address:
        page.goto(f"{address}/#/live")
        page.wait_for_selector("#live-badge:not(.wait)")
    page.wait_for_selector("#live-badge.wait")
    with serving(tmp_path, free_port):
        page.wait_for_selector("#live-badge:not(.wait)", timeout=60_000)
        page.close()
