"""The link is judged by its samples: literal arrivals beside literal answers."""

from __future__ import annotations

from typing import Any

import pytest

from pc2dae.edge.messages import Sample, stamp
from pc2dae.web.live.link import Link

NOW = 1_760_000_000_000  # ms


def sample(seq: int, at: int, **more: Any) -> Sample:
    return Sample.model_validate({"flight": "kite", "seq": seq, "time": stamp(at * 1000), "values": {"co": 1.0}} | more)


def linked(*arrivals: tuple[int, float, float], **more: Any) -> Link:
    """A link after samples (number, stamp [s], arrival [s])."""
    link = Link()
    for seq, at, arrived in arrivals:
        link.take(sample(seq, NOW + round(1000 * at), **more), NOW + round(1000 * arrived))
    return link


def status(link: Link, seconds: float, reason: str = "") -> tuple[str, float | None]:
    shown = link.shown(NOW + round(1000 * seconds), is_on=True, reason=reason)
    return shown.status, shown.age_s


def test_three_seconds_are_late_and_ten_silent() -> None:
    link = linked((0, 0, 0.2), (1, 1, 1.2))
    answers = [status(link, at) for at in (1.5, 3.9, 4.1, 10.9, 11.1)]
    assert answers == [("good", 0.5), ("good", 2.9), ("late", 3.1), ("late", 9.9), ("silent", 10.1)]
    assert status(Link(), 0) == ("waiting", None)
    assert status(link, 1.5, "connection to the broker lost") == ("late", 0.5)
    assert link.shown(NOW, is_on=False, reason="").status == "off"


def test_a_slow_logger_and_a_slow_replay_have_more_time() -> None:
    link = linked((0, 0, 0), (1, 60, 60))
    link.rate_hz = 1 / 60
    assert [status(link, at)[0] for at in (239, 241, 661)] == ["good", "late", "silent"]
    slow = linked((0, 0, 0), (1, 1, 10), replay=0.1)
    assert [status(slow, at)[0] for at in (39, 41, 111)] == ["good", "late", "silent"]


def test_samples_that_were_queued_are_old_when_they_arrive() -> None:
    link = linked((0, 0, 0), (1, 1, 1), (2, 2, 32), (3, 3, 32))
    assert status(link, 32) == ("silent", 29.0)


@pytest.mark.parametrize(
    ("offset", "remark"),
    [
        (-4 * 365.25 * 86400, "stamps are of 2021, probably a replay"),
        (-252, "stamps are 4 min behind this computer's clock"),
        (5 * 3600, "stamps are 5 h ahead of this computer's clock"),
        (-1, ""),
    ],
)
def test_a_wrong_clock_is_said_and_age_counts_from_arrival(offset: float, remark: str) -> None:
    link = linked((0, offset, 0), (1, offset + 1, 1))
    shown = link.shown(NOW + 1500, is_on=True, reason="")
    assert (shown.status, shown.reason) == ("good", remark)
    assert status(link, 12.5)[0] == "silent"
    link.take(sample(2, NOW + 13_000), NOW + 13_000)  # the clock is set
    assert link.remark() == ""


def test_gaps_and_quality() -> None:
    link = linked((0, 0, 0), (1, 1, 1), (4, 4, 4), (5, 5, 5), (6, 20, 20))
    assert link.gaps == 2  # numbers 2 and 3, and 15 seconds
    assert link.quality(NOW + 20_000) == pytest.approx(5 / 7, abs=1e-3)
    assert link.quality(NOW + 41_000) == pytest.approx(5 / 27, abs=1e-3)  # 20 more were due
    assert link.quality(NOW + 300_000) == 0.0
    link.take(sample(7, NOW + 301_000, end=True), NOW + 301_000)
    shown = link.shown(NOW + 400_000, is_on=True, reason="")
    assert (shown.status, shown.reason) == ("waiting", "flight kite has ended")


def test_latency_is_from_the_stamp_to_the_arrival_of_the_estimate() -> None:
    link = linked((0, 0, 0.3))
    link.estimated(NOW, NOW + 300, NOW + 5800)
    assert link.latency_s == 5.8
    replay = linked((0, -1e6, 0.3), replay=10.0)
    replay.estimated(NOW - 10**9, NOW + 300, NOW + 800)
    assert replay.latency_s == 0.5  # on this clock


def test_an_estimate_without_any_sample_has_no_latency() -> None:
    link = Link()
    link.estimated(0, None, 1_700_000_000_000)
    assert link.latency_s is None
