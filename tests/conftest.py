"""The processor time of each test, which a busy machine changes less than its duration; `--durations N` prints both."""

from __future__ import annotations

import gc
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

gc.set_threshold(200_000, 20, 20)  # as in a command: searches for cycles take 7 % of the time
START = pytest.StashKey[float]()
SPENT: dict[str, float] = {}  # by test
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")  # the first takes a quarter less processor time
BROWSER_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def spent() -> float:
    """Seconds of this process and of those it has started, whether they have ended or are running."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both) + sum(map(_running, _children(str(os.getpid()))))


def _children(process: str) -> list[str]:
    found = ""
    with suppress(OSError):  # the process, or one of its threads, has just ended
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            found += path.read_text()
    return found.split()


def _running(process: str) -> float:
    """Seconds of a running process, of its children that have ended, and of those that are running."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(_running, _children(process)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no worker is left with one of them at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[START] = spent()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        # Negative where a browser that a module shares is killed: nobody waits for some of its processes.
        item.user_properties.append(("processor_s", max(spent() - item.stash[START], 0.0)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        SPENT[report.nodeid] = float(dict(report.user_properties).get("processor_s", 0.0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    count = config.getoption("durations")
    if count:
        terminalreporter.section(f"slowest {count} by processor time, of {sum(SPENT.values()):.0f} s")
        for name in sorted(SPENT, key=SPENT.__getitem__, reverse=True)[:count]:
            terminalreporter.write_line(f"{SPENT[name]:7.1f} s  {name}")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder common to all workers of pytest-xdist, for `shared.made_once`."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def traced_once(shared: Path) -> Iterator[None]:
    """Networks of one architecture are traced once for all tests."""
    from pc2dae.training import export
    from tracing import FOLDER, graph_once  # imports torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(shared))
        patch.setattr(export, "_graph", graph_once)
        yield


@pytest.fixture(scope="module")  # not longer: while it lives, playwright's event loop runs, and no other can
def browser() -> Iterator[Any]:
    """A real browser without a window."""
    sync_api = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium is installed: make system")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=BROWSER_ARGUMENTS)
        yield launched
        launched.close()
