"""The processor time of each test, which a busy machine changes less than its duration; `--durations N` prints both."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

START = pytest.StashKey[float]()
SPENT: dict[str, float] = {}  # by test


def spent() -> float:
    """Seconds of this process and of those it has started that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[START] = spent()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        item.user_properties.append(("processor_s", spent() - item.stash[START]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        SPENT[report.nodeid] = float(dict(report.user_properties).get("processor_s", 0.0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    count = config.getoption("durations")
    if count:
        terminalreporter.section(f"slowest {count} by processor time, of {sum(SPENT.values()):.0f} s")
        for name in sorted(SPENT, key=SPENT.__getitem__, reverse=True)[:count]:
            terminalreporter.write_line(f"{SPENT[name]:7.1f} s  {name}")
