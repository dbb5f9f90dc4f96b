"""Alarms in a real browser: samples and estimates are published to a real broker, and the page only listens."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ground import wait_for

from pc2dae.edge.broker import Broker

pytestmark = pytest.mark.slow
ALARM = (179, 38, 30)  # --alarm of the style sheet
STUBS = """
window.tones = []; window.words = []; window.allowed = false;
class Sound {
  constructor() { this.state = window.allowed ? "running" : "suspended"; this.currentTime = 0; this.destination = {}; }
  async resume() { this.state = "running"; this.onstatechange?.(); }
  createGain() { return { gain: {}, connect: () => ({}) }; }
  createOscillator() {
    const tone = { frequency: {}, connect: (next) => next, stop: () => {} };
    return Object.assign(tone, { start: () => window.tones.push(tone.frequency.value) });
  }
}
window.AudioContext = Sound;
Object.defineProperty(window, "speechSynthesis", { value: { speak: (said) => window.words.push(said.text) } });
new MutationObserver(() => {
  const text = document.querySelector("#announce")?.textContent;
  if (text && text !== window.last) (window.announced ??= []).push(window.last = text);
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


def ask(address: str, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}{path}", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


class Payload:
    """Publishes one second after the other."""

    def __init__(self, port: int) -> None:
        self.broker, self.flight, self.second = Broker("127.0.0.1", port), f"kite-{port}", 0
        self.client = self.broker.client("")
        self.broker.connect(self.client)
        wait_for(self.client.is_connected)

    def send(self, topic: str, values: dict[str, float]) -> None:
        time = f"2025-10-01T12:{self.second // 60:02}:{self.second % 60:02}Z"
        about: dict[str, Any] = {"flight": self.flight, "seq": self.second, "time": time}
        empty: dict[str, Any] = {"unbounded": {}, "uncertainty": {}, "qc": {}, "latency_s": 5.0}
        about |= {"values": values} if topic == "smoke/raw" else {"estimate": values} | empty
        self.client.publish(topic, json.dumps(about), qos=1).wait_for_publish(10)
        self.second += 1


@pytest.fixture
def payload(station: str, mosquitto: Any, free_port: int, tmp_path: Path) -> Iterator[Payload]:
    """A payload whose estimates come from elsewhere; limits and alarms of other tests are gone."""
    with mosquitto(tmp_path, free_port):
        ask(station, "POST", "/api/live", {"broker": f"127.0.0.1:{free_port}", "listen_only": True})
        wait_for(lambda: ask(station, "GET", "/api/live")["state"] == "connected")
        ask(station, "POST", "/api/live/alarms/seen")
        sender = Payload(free_port)
        yield sender
        sender.client.disconnect()
        sender.client.loop_stop()
        ask(station, "PUT", "/api/live/limits", dict.fromkeys(ask(station, "GET", "/api/live/limits")))
        ask(station, "DELETE", "/api/live")


def test_two_crossings_are_two_alarms_seen_and_heard_in_every_view(
    opened: Callable[..., Any], until: Any, pixels: Any, station: str, payload: Payload, shots: Path
) -> None:
    payload.send("smoke/clean", {"co_a": 20.0, "pm2_5": 5.0})
    page = opened("#/live")
    page.add_init_script(STUBS)
    page.reload()
    page.wait_for_selector("[data-channel=co_a] canvas")
    page.wait_for_selector("text=Click to allow sound")  # before anything has happened
    page.fill("[data-channel=co_a] input", "100")
    page.press("[data-channel=co_a] input", "Tab")  # a key: sound is allowed
    until(page, "!document.querySelector('#alarm-strip:not([hidden])')")
    page.click("[data-channel=co_a] .card-tools summary")
    page.click("[data-channel=co_a] >> text=All limits")
    page.fill("#limit-below", "200")
    page.click("#limits-save")
    page.wait_for_selector("#limits-problem:has-text('the lower limit 200 is not below the upper 100')")
    page.fill("#limit-below", "1")
    page.screenshot(path=shots / "limits.png")
    page.click("#limits-save")
    page.wait_for_selector("[data-channel=co_a] .limit:has-text('below 1')")
    assert ask(station, "GET", "/api/live/limits")["co_a"]["above"] == 100
    page.click("#alarm-button")
    page.check("#speech")
    page.click("#alarm-close")
    page.click("#tab-flight")
    page.wait_for_selector("#flight-view")

    for value in (120.0, 150.0, 20.0):
        payload.send("smoke/clean", {"co_a": value})
    page.wait_for_selector(".alarm:has-text('co_a was above 100 ppb')")
    payload.send("smoke/clean", {"co_a": 25_089.0})
    page.wait_for_selector(".alarm.is-over:has-text('co_a is above 100 ppb')")
    assert page.locator(".alarm").count() == 2
    assert pixels(page, "#alarm-strip", ALARM) > 200
    assert page.title().startswith("(2) ⚠ ")
    assert page.get_attribute("link[rel=icon]", "href") == "/static/icon-alarm.svg"
    page.screenshot(path=shots / "alarm-flights.png")
    first, second = page.evaluate("window.announced")
    assert "25 089" in second.replace("\u202f", " ")
    assert "25 089" not in first.replace("\u202f", " ")
    assert page.evaluate("window.words").count("Alarm: co a above 100: 25100 ppb") == 1
    tones = len(page.evaluate("window.tones"))
    until(page, f"window.tones.length >= {tones} + 4")  # it repeats
    page.click(".alarm.is-over button")
    page.wait_for_selector(".alarm.is-over:has-text('acknowledged')")
    tones = len(page.evaluate("window.tones"))
    page.wait_for_timeout(3500)
    assert len(page.evaluate("window.tones")) == tones

    page.click("#alarm-button")
    assert page.locator("#alarm-list li").count() >= 2
    page.screenshot(path=shots / "alarm-list.png")
    with page.expect_download() as download:
        page.click("text=Export as CSV")
    assert "25089.0" in Path(download.value.path()).read_text()
    page.click("#alarm-dialog >> text=Acknowledge all")
    payload.send("smoke/clean", {"co_a": 20.0})
    page.wait_for_selector("#alarm-strip", state="hidden")
    assert "⚠" not in page.title()


def test_smoke_that_the_estimate_hides_and_silence_raise_alarms_on_small_screens(
    opened: Callable[..., Any], station: str, payload: Payload, shots: Path
) -> None:
    ask(station, "PUT", "/api/live/limits", {"co_a": {"above": 100}})
    for value in (20.0, 300.0, 310.0, 305.0):
        payload.send("smoke/raw", {"co_a": value, "no_a": 3.0})
    phone = opened("#/live", viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    tablet = opened("#/live", viewport={"width": 1024, "height": 768})
    tablet.wait_for_selector(".alarm.is-over:has-text('co_a is above 100 ppb')")  # raised before the page was open
    tablet.wait_for_selector("[data-channel=co_a].is-alarm")
    assert ask(station, "GET", "/api/live/alarms")[-1]["source"] == "raw"
    phone.wait_for_selector(".alarm:has-text('No data from the payload')")  # ten seconds later
    tablet.wait_for_selector(".alarm:has-text('No data from the payload')")
    phone.screenshot(path=shots / "alarm-phone-dark.png")
    tablet.screenshot(path=shots / "alarm-tablet.png")
    phone.click("#alarm-button")
    phone.screenshot(path=shots / "alarm-list-phone-dark.png")
    phone.click("#alarm-close")
    payload.send("smoke/raw", {"co_a": 20.0})
    tablet.wait_for_selector(".alarm:not(.is-over):has-text('No data from the payload')")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
