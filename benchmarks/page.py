"""How fast the page zooms: 30 steps over two hours of 15 channels in a real browser.

    python benchmarks/page.py

Prints the seconds until the panels in view have been redrawn after each step, in sum; the goal is 3 s. Panels out of
view are redrawn when they are scrolled into view.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import pc2dae
from pc2dae.flight.schema import new_flight
from pc2dae.suite import parse_suite

HOURS, CHANNELS, STEPS = 2, 15, 30
GOAL_S = 3.0
ZOOM = """async (steps) => {
  const strip = document.getElementById("timeline"), frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const start = performance.now();
  for (let i = 0; i < steps; i++) {
    strip.dispatchEvent(new KeyboardEvent("keydown", { key: i % 6 === 5 ? "Home" : i % 2 ? "ArrowRight" : "+" }));
    await frame();
  }
  return (performance.now() - start) / 1000;
}"""  # noqa: E501


def write_report(folder: Path) -> Path:
    """The report of a long flight, denoised with a fast filter."""
    channels = ",".join(f'{{"name": "gas{i}", "units": "ppb"}}' for i in range(CHANNELS))
    suite = parse_suite(f'{{"name": "page", "family": [{{"name": "gas", "channel": [{channels}]}}]}}', where="here")
    rng = np.random.default_rng(1)
    seconds = np.arange(3600 * HOURS)
    smoke = sum(np.exp(-0.5 * ((seconds - at) / 8.0) ** 2) for at in rng.uniform(0, seconds[-1], 20))
    values = {f"gas{i}": 100 + 500 * smoke + rng.normal(0, 20, len(seconds)) for i in range(CHANNELS)}
    values |= {"latitude": 46 + 1e-3 * np.cos(seconds / 300), "longitude": 8 + 1e-3 * np.sin(seconds / 170)}
    time = np.datetime64("2025-10-01T12:00:00") + seconds * np.timedelta64(1, "s")
    flight = new_flight(time, values, suite, flight_id="long", level="compensated")
    pc2dae.report(pc2dae.denoise(flight, model="rts"), folder / "report.html")
    return folder / "report.html"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = write_report(Path(folder))
        chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(report.as_uri(), timeout=120_000)
        page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=120_000)
        page.evaluate("document.querySelector('.timeline').scrollIntoView()")
        page.wait_for_timeout(2000)
        drawn = page.locator("#panels .plot .u-over").count()
        taken = page.evaluate(ZOOM, STEPS)
        browser.close()
        size = report.stat().st_size / 1e6
    print(f"{STEPS} zoom steps over {HOURS} h of {CHANNELS} channels, {drawn} of them in view: {taken:.2f} s "
          f"(goal {GOAL_S:g} s); page {size:.1f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
