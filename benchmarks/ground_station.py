"""How fast the ground station shows a flight and refuses bad input, as ratios to an empty page of the same server.

    python benchmarks/ground_station.py [--runs 5]

First contentful paint and the first drawn panel in a real browser, and refusals by the API; medians. The empty page is
`/health`, in the same browser and by the same client, so that a slow machine slows down both sides.
"""

from __future__ import annotations

import argparse
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import httpx
from playwright.sync_api import sync_playwright

UPLOAD_MB = 20  # the server's limit
PAINT = """() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
  .observe({ type: "paint", buffered: true }))"""
DRAWN = "#panels .plot[data-from]"


@contextmanager
def serving() -> Iterator[str]:
    """A server with the simulated flight; its address."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-c",
            "from pc2dae.cli import main; main()",
            "serve",
            "--port",
            "0",
            "--data",
            folder,
        ]
        command += ["--upload", str(UPLOAD_MB), "--allow-any-broker"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            found = re.search(r"http://[^\s/]+", process.stdout.readline() if process.stdout is not None else "")
            if found is None:
                raise SystemExit("the server did not start")
            address = found[0]
            while not any(flight["state"] == "ready" for flight in httpx.get(f"{address}/api/flights").json()):
                time.sleep(0.5)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def paints(address: str, runs: int) -> dict[str, list[float]]:
    """Seconds until something is painted and until the flight is drawn, each in a new browser context."""
    found: dict[str, list[float]] = {"empty page": [], "page, first paint": [], "page, flight drawn": []}
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for run in range(runs + 1):
            for name, path in (("empty page", "/health"), ("page", "/")):
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                page = context.new_page()
                started = time.perf_counter()
                page.goto(address + path, wait_until="commit")
                painted = page.evaluate(PAINT) / 1000
                if name == "page":
                    page.wait_for_selector(DRAWN, timeout=120_000)
                    drawn = time.perf_counter() - started
                if run:  # the first warms up
                    found["empty page" if name == "empty page" else "page, first paint"].append(painted)
                    if name == "page":
                        found["page, flight drawn"].append(drawn)
                context.close()
        browser.close()
    return found


def refusals(address: str, runs: int) -> dict[str, list[float]]:
    """Seconds until the API answers bad requests."""
    bomb = BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("flight.csv", bytes(300_000_000))
    too_large = bytes((UPLOAD_MB + 1) * 1_000_000)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = probe.getsockname()[1]
    with httpx.Client(base_url=address, timeout=60) as client:

        def upload(name: str, data: bytes) -> Any:
            return client.post("/api/flights", files=[("files", (name, data))])

        def wrong_broker() -> None:
            client.post("/api/live", json={"broker": f"127.0.0.1:{nobody}"}).raise_for_status()
            while not client.get("/api/live").json()["message"]:
                time.sleep(0.02)
            client.delete("/api/live")

        asked: dict[str, Callable[[], Any]] = {
            "empty answer": lambda: client.get("/health"),
            "unknown flight": lambda: client.get("/api/flights/x"),
            "zip bomb": lambda: upload("flight.zip", bomb.getvalue()),
            "path upwards in a zip": lambda: upload("flight.zip", _climbing()),
            f"upload over {UPLOAD_MB} MB": lambda: upload("flight.csv", too_large),
            "broker that does not answer": wrong_broker,
        }
        found: dict[str, list[float]] = {}
        for name, ask in asked.items():
            ask()
            for _ in range(runs):
                started = time.perf_counter()
                answer = ask()
                found.setdefault(name, []).append(time.perf_counter() - started)
            if name not in ("empty answer", "broker that does not answer") and answer.status_code < 400:
                raise SystemExit(f"{name}: accepted with {answer.status_code}")
    return found


def _climbing() -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("../../flight.csv", "time,co\n")
    return data.getvalue()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with serving() as address:
        for found in (paints(address, runs), refusals(address, runs)):
            floor, *_ = (statistics.median(times) for times in found.values())
            for name, times in found.items():
                middle = statistics.median(times)
                print(f"{name:28} {1000 * middle:8.1f} ms {middle / floor:8.1f} ×")


if __name__ == "__main__":
    main()
