"""Any payload live, in a real browser: login, the wrong suite, and a badge that follows the data in every view."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pc2dae.edge.broker import Broker

pytestmark = pytest.mark.slow
KONZA = {"channels": [{"column": n, "name": n, "units": u, "family": f} for n, u, f in
                      (("co", "ppm", "gas"), ("co2", "ppm", "gas"), ("pm25", "ug m-3", "pm"))]}  # fmt: skip
ESTIMATE = (0, 114, 178)  # --estimate of the style sheet
COUNT = "Number(document.querySelector('#count-estimates b')?.textContent.replace(/\\D/g, '') || 0)"
FLIGHTS = "[...document.querySelector('#replay-flight').options].some((o) => o.text === 'A simulated flight')"


class Payload(threading.Thread):
    """Sends a sample every 0.2 s, one second of flight each in the first minute of samples, until it is stopped."""

    def __init__(self, broker: Broker) -> None:
        super().__init__()
        self.broker, self.done = broker, threading.Event()

    def run(self) -> None:
        client = self.broker.client("")
        self.broker.connect(client)
        start = time.time() - 30
        for n in range(10_000):
            if self.done.wait(max(0.0, start + n - time.time()) if n > 30 else 0.02):
                break
            values = {"co": 0.4 + 3 * (n % 17 == 0), "co2": 410.0 + n % 7, "spare": 1.0}
            at = datetime.fromtimestamp(start + n, UTC).isoformat()
            message = {"flight": "konza", "seq": n, "time": at, "values": values}
            client.publish("smoke/raw", json.dumps(message), qos=1)
        client.disconnect()
        client.loop_stop()


def test_any_payload_and_a_badge_that_follows_the_data(
    opened: Callable[..., Any], until: Any, pixels: Any, mosquitto: Any, free_port: int, shots: Path, tmp_path: Path,
    station: str,
) -> None:  # fmt: skip
    if shutil.which("mosquitto_passwd") is None:
        pytest.skip("mosquitto_passwd is not installed: make system")
    subprocess.run(["mosquitto_passwd", "-b", "-c", "users", "pilot", "kite"], cwd=tmp_path, check=True)
    (tmp_path / "users").chmod(0o644)
    page = opened("#/live")
    page.request.put(f"{station}/api/suites/konza", data=KONZA)
    until(page, """document.querySelector("#live-suite").options.length && document.querySelector("#broker").value""")
    page.fill("#broker", f"127.0.0.1:{free_port}")
    page.click("#connect-button")
    page.wait_for_selector("#live-problem:has-text('connection refused')", timeout=5_000)
    page.wait_for_selector("#link.bad:has-text('no connection')")
    with mosquitto(tmp_path, free_port, "allow_anonymous false", f"password_file {tmp_path / 'users'}"):
        page.click(".login summary")
        page.fill("#live-user", "pilot")
        page.fill("#live-password", "hawk")
        page.click("#connect-button:has-text('Connect')")
        page.wait_for_selector("#live-problem:has-text('Not authorized')", timeout=5_000)
        page.screenshot(path=shots / "lnk-refused.png")
        page.fill("#live-password", "kite")
        page.click("#connect-button:has-text('Connect')")
        page.wait_for_selector("#link.wait:has-text('waiting')")
        payload = Payload(Broker("127.0.0.1", free_port, "pilot", "kite"))
        payload.start()
        try:
            page.wait_for_selector("#mismatch:has-text('the stream sends co, co2, spare')")
            assert page.locator(".live canvas").count() == 0  # no cards without values
            page.screenshot(path=shots / "lnk-mismatch.png")
            page.click("#mismatch-switch:has-text('Switch to konza')")
            page.wait_for_selector(".live[data-channel=co2] canvas")
            page.wait_for_selector("#link.good:has-text('live')")
            assert page.locator(".live canvas").count() == 2
            assert page.inner_text("#live-without") == "No data of pm25. Not in suite konza: spare."
            until(page, "document.querySelector('[data-channel=co2] .value').textContent.includes('41')")
            page.select_option("#live-window", "120")
            until(page, f"{COUNT} > 9")
            page.wait_for_timeout(400)
            assert pixels(page, "[data-channel=co2] canvas", ESTIMATE) > 20
            page.screenshot(path=shots / "lnk-live.png")
            page.goto(f"{station}/#/")
            page.wait_for_selector("#link.good")
        finally:
            payload.done.set()
            payload.join(20)
        stopped = time.monotonic()
        page.wait_for_selector("#link.wait:has-text('late')", timeout=8_000)
        page.wait_for_selector("#link.bad:has-text('no data')", timeout=14_000)
        assert 6 < time.monotonic() - stopped < 16
        page.screenshot(path=shots / "lnk-silent.png")
        page.goto(f"{station}/#/live")
        page.wait_for_selector(".live.is-stale")
        page.click("#connect-button:has-text('Disconnect')")
        page.wait_for_selector("#link", state="hidden")


def test_a_replay_says_that_it_is_one_in_every_view(opened: Callable[..., Any], until: Any, shots: Path) -> None:
    page = opened("#/live")
    until(page, FLIGHTS)
    page.select_option("#replay-flight", label="A simulated flight")
    page.check("#replay-restamp")
    page.click("#replay-button")
    page.wait_for_selector(".replay-words:has-text('REPLAY of A simulated flight at 10 ×')")
    page.wait_for_selector("#link.good:has-text('REPLAY 10 × · live')")
    page.wait_for_selector(".live canvas")
    for name, size, scheme in (("light", (1440, 900), "light"), ("dark", (1440, 900), "dark"),
                               ("tablet", (1024, 768), "light"), ("phone", (390, 844), "light")):  # fmt: skip
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=scheme)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(300)
        page.screenshot(path=shots / f"lnk-replay-{name}.png")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate("location.hash = '#/'")
    page.wait_for_selector("#link.replay")
    page.screenshot(path=shots / "lnk-replay-flights-phone.png")
    page.evaluate("location.hash = '#/live'")
    page.click("#replay-button:has-text('Stop')")
    page.wait_for_selector("#link", state="hidden")
