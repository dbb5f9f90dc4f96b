"""A real server, a real browser and a real broker, each started on the loopback interface and stopped by the tests.

Screenshots for a person to look at go to the folder named by PC2DAE_SCREENSHOTS, else to pytest's own.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ground import Ground, grounded, plain_csv

from shared import made_once

PATIENCE = 120_000  # ms; on a quiet machine everything answers within a few seconds
LAPTOP = {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"}


@contextmanager
def _serving(data: Path, port: int = 0) -> Iterator[str]:
    command = [sys.executable, "-c", "from pc2dae.cli import main; main()", "serve", "--port", str(port)]
    command += ["--data", str(data), "--allow-any-broker"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        found = re.search(rb"http://[^\s/]+", process.stdout.readline())
        assert found is not None
        address = found[0].decode()
        _answers(address)
        yield address
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def _answers(address: str) -> None:
    """Wait until the server takes requests."""
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/health", timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"{address} does not answer")


@contextmanager
def _mosquitto(folder: Path, port: int, *lines: str) -> Iterator[subprocess.Popen[bytes]]:
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if program is None:
        pytest.skip("mosquitto is not installed: make system")
    config = folder / "mosquitto.conf"
    rules = "\n".join(lines or ["allow_anonymous true"])
    config.write_text(f"persistence false\nuser root\nlistener {port} 127.0.0.1\n{rules}\n")
    process = subprocess.Popen([program, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[str]]:
    """A server for a data folder and a port; its address."""
    return _serving


@pytest.fixture(scope="session")
def mosquitto() -> Callable[..., AbstractContextManager[subprocess.Popen[bytes]]]:
    """A broker on a port; its process, to be killed."""
    return _mosquitto


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def prepared(shared: Path) -> Path:
    """The data folder of a server that has read its simulated flight: made by the first worker, copied by all."""

    def make(folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        with _serving(folder) as address:
            _reads_its_flight(address)

    return made_once(shared / "prepared", make)


def _reads_its_flight(address: str) -> None:
    """Wait until the server has read the flight that it simulates."""
    for _ in range(1200):
        with urllib.request.urlopen(f"{address}/api/flights", timeout=60) as answer:
            if [flight["state"] for flight in json.load(answer)] == ["ready"]:
                return
        time.sleep(0.1)
    pytest.fail(f"the flight of {address} is not ready")


@pytest.fixture(scope="module")
def station(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that the browser tests of a module share."""
    folder = tmp_path_factory.mktemp("station")
    shutil.copytree(prepared, folder, dirs_exist_ok=True)
    with _serving(folder) as address:
        yield address


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = os.environ.get("PC2DAE_SCREENSHOTS")
    where = Path(folder) if folder else tmp_path_factory.mktemp("screenshots")
    where.mkdir(parents=True, exist_ok=True)
    return where


@pytest.fixture
def opened(browser: Any, station: str) -> Iterator[Callable[..., Any]]:
    """Opens the page in a new window; the test fails on external requests or console errors."""
    contexts: list[Any] = []
    problems: list[str] = []

    def said(message: Any) -> None:
        if "Content Security Policy" in message.text:
            problems.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith((station, "data:", "blob:")):
            problems.append(request.url)

    def opening(view: str = "", **settings: Any) -> Any:
        context = browser.new_context(**LAPTOP | settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", asked)
        page.on("console", said)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{station}/{view}")
        return page

    yield opening
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="session")
def until() -> Callable[[Any, str], None]:
    """Waits until an expression is true in the page; Playwright's own way needs eval, which the page forbids."""

    def wait(page: Any, expression: str) -> None:
        end = time.monotonic() + PATIENCE / 1000
        while not page.evaluate(expression):
            assert time.monotonic() < end, f"it did not happen: {expression}"
            page.wait_for_timeout(50)

    return wait


@pytest.fixture(scope="session")
def pixels() -> Callable[[Any, str, tuple[int, int, int]], int]:
    """How many pixels of an element have a colour, nearly."""
    from PIL import Image

    def count(page: Any, selector: str, colour: tuple[int, int, int]) -> int:
        picture = Image.open(io.BytesIO(page.locator(selector).first.screenshot())).convert("RGB")
        image = np.asarray(picture, dtype=np.int16)
        return int((np.abs(image - np.array(colour, dtype=np.int16)).max(axis=2) < 24).sum())

    return count


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A server in this process with narrow limits, for tests without a browser."""
    with grounded(tmp_path_factory.mktemp("ground")) as running:
        yield running


@pytest.fixture(scope="session")
def dropped(ground: Ground) -> dict[str, Any]:
    """A flight on it that is read and denoised."""
    others = (("kite/photo.jpg", b"\xff\xd8\xff" + bytes(99)), ("kite/notes.txt", b"windy"))
    found = ground.drop(("kite/gas.csv", plain_csv()), *others)
    assert found["state"] == "ready", found
    return found
