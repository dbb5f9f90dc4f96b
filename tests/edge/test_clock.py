"""Invalid time stamps and sequence numbers: no sample is lost or used twice, and all are logged."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_outbox import START, engine, message, out

from pc2dae.edge.clock import StreamClock
from pc2dae.edge.gateway import Gateway
from pc2dae.edge.messages import Sample
from pc2dae.edge.outbox import Outbox

N = 80
EARLY = "2000-01-01T00:00:{:02}Z"


def play(messages: list[bytes], *, ahead: int, is_live: bool) -> tuple[Gateway, list[dict[str, Any]], list[str]]:
    """A flight through a gateway, a message a second or all at once as in a pipe; estimates and reports."""
    now = [1e9]
    box = Gateway(engine(ahead), Outbox(None, identity=""), patience_s=30 if is_live else 0, clock=lambda: now[0],
                  now=lambda: now[0])  # fmt: skip
    problems = []
    for tick in [[m] for m in messages] if is_live else [messages]:
        now[0] += 1
        problems += box.take(tick).problems
    now[0] += 60
    problems += box.take([]).problems + box.finish().problems
    return box, out(box), [p.error for p in problems]


# What a drone sends, and the only line it gives where it gives one; every sample must have an estimate of its own.
WRONG: dict[str, tuple[list[bytes], str]] = {
    "first 150 s ahead": (
        [message(0, second=150)] + [message(n) for n in range(1, N)],
        "the clock was set from 2025-10-01T12:02:31Z to 2025-10-01T12:00:01Z; later estimates have the new time",
    ),
    "first in 2000": (
        [message(0, time=EARLY.format(0))] + [message(n) for n in range(1, N)],
        "the clock was set from 2000-01-01T00:00:01Z to 2025-10-01T12:00:01Z; later estimates have the new time",
    ),
    "set by GPS after half a minute": (
        [message(n, time=EARLY.format(n)) for n in range(30)] + [message(n) for n in range(30, N)],
        "the clock was set from 2000-01-01T00:00:30Z to 2025-10-01T12:00:30Z; later estimates have the new time",
    ),
    "set back by 30 s": (
        [message(n, second=n if n < 50 else n - 30) for n in range(N)],
        "the clock was set from 2025-10-01T12:00:50Z to 2025-10-01T12:00:20Z; later estimates have the new time",
    ),
    "stuck from the start": (
        [message(n, second=0) for n in range(N)],
        "the clock has stopped at 2025-10-01T12:00:00Z; samples are timed by sequence number until it runs again",
    ),
    "stuck for 20 s": (
        [message(n, second=50 if 50 < n < 70 else n) for n in range(N)],
        "the clock has stopped at 2025-10-01T12:00:50Z; samples are timed by sequence number until it runs again",
    ),
    "a wild number": (
        [message(10**6 if n == 50 else n, second=n) for n in range(N)],
        "seq 1000000 after 49: the sample is placed by its time",
    ),
    "numbers that start again": (
        [message(n if n < 50 else n - 50, second=n) for n in range(N)],
        "seq 0 after 49: the sample is placed by its time|sequence numbers continue with 0 after 49",
    ),
    "a logger that counts from its own start": (
        [message(n + 5000, second=n) for n in range(N)],
        "seq 5000 after -1: the sample is placed by its time|sequence numbers continue with 5000 after -1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("ahead", "is_live"), [(5, True), (0, False)], ids=["live", "piped"])
@pytest.mark.parametrize("case", WRONG)
def test_every_sample_gives_an_estimate(case: str, ahead: int, is_live: bool) -> None:
    messages, line = WRONG[case]
    box, rows, problems = play(messages, ahead=ahead, is_live=is_live)
    assert [row["seq"] for row in rows] == list(range(N))
    assert all(row["qc"]["co"] == 0 for row in rows)
    assert (box.health.samples, box.health.refused, box.health.duplicates) == (N, 0, 0)
    assert problems == line.split("|")
    if "set back" not in case:
        assert rows[-1]["time"] == "2025-10-01T12:01:19Z"


@pytest.mark.parametrize("case", ["set by GPS after half a minute", "stuck for 20 s", "numbers that start again"])
def test_a_gateway_that_is_killed_while_it_decides_goes_on_in_the_same_way(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pc2dae.edge.gateway.SNAPSHOT", 13)
    now = [1e9]
    box = Gateway(engine(5), Outbox(None, identity=""), now=lambda: now[0])
    for n, payload in enumerate(WRONG[case][0]):
        now[0] += 1
        if n in (5, 30, 31, 32, 33, 50, 51, 52, 53, 54, 70, 71):
            box.flights.open.clear()  # all that is left is what the outbox holds
        box.take([payload])
        box.take([payload])
    box.finish()
    assert out(box) == play(WRONG[case][0], ahead=5, is_live=True)[1]
    assert box.health.duplicates == N


def test_estimates_have_the_old_time_before_the_clock_is_set_and_the_new_one_after() -> None:
    _, rows, _ = play(WRONG["set by GPS after half a minute"][0], ahead=5, is_live=True)
    assert [row["time"] for row in rows[28:32]] == [
        "2000-01-01T00:00:28Z", "2000-01-01T00:00:29Z", "2025-10-01T12:00:30Z", "2025-10-01T12:00:31Z",
    ]  # fmt: skip


@pytest.mark.parametrize(("ahead", "wrong_s"), [(0, 2), (0, 59), (5, 59), (5, 10**6)])
def test_one_stamp_ahead_costs_one_sample(ahead: int, wrong_s: int) -> None:
    messages = [message(n, second=n + wrong_s if n == 40 else n) for n in range(N)]
    box, rows, problems = play(messages, ahead=ahead, is_live=True)
    assert box.health.refused == 1
    assert "and the next sample did not confirm it" in problems[0]
    assert [row["seq"] for row in rows if row["qc"]["co"]] == [40]  # stepped as missing
    assert len(rows) == N


def test_several_samples_a_second_are_averaged_as_before() -> None:
    """Ten samples with one stamp are a fast logger while they come fast, however many seconds there are."""
    now = [0.0]
    box = Gateway(engine(5), Outbox(None, identity=""), now=lambda: now[0])
    for n in range(300):
        now[0] += 3.0 if n == 104 else 0.1  # once the line stalls
        assert box.take([message(n, second=n // 10)]).problems == []
    box.finish()
    assert len(out(box)) == 30
    assert box.health.refused == 0


def test_a_slow_logger_is_not_taken_for_a_wrong_clock() -> None:
    clock = StreamClock(1.0, look_ahead=5)
    items = [Sample(flight="f", seq=n, time=START + timedelta(seconds=15 * n), values={}) for n in range(20)]
    at_once = [[p.slot for p in clock.take(item, None)] for item in items]
    assert [slot for slots in at_once for slot in slots] == [15 * n for n in range(20)]
    assert all(len(slots) == 1 for slots in at_once[3:])


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(st.integers(1, 60) | st.just(1), min_size=1, max_size=80), ahead=st.sampled_from([0, 5, 63]),
       stop=st.integers(0, 80))  # fmt: skip
def test_any_record_whose_time_goes_on_is_placed_by_its_stamps(steps: list[int], ahead: int, stop: int) -> None:
    clock, seconds = StreamClock(1.0, ahead), list(accumulate([0, *steps]))
    placed = []
    for n, second in enumerate(seconds):
        if n == stop:  # a restored clock goes on in the same way
            state, clock = clock.state(), StreamClock(1.0, ahead)
            clock.restore(state)
        sample = Sample(flight="f", seq=n, time=START + timedelta(seconds=second), values={})
        placed += list(clock.take(sample, None))
    placed += list(clock.flush())
    assert [(p.sample.seq, p.slot, p.refusal) for p in placed] == [(n, s, "") for n, s in enumerate(seconds)]
    assert clock.notes == []


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_whatever_the_stamps_every_sample_is_placed_or_refused_once(data: st.DataObject) -> None:
    seconds = data.draw(st.lists(st.integers(-5, 5) | st.integers(-(10**8), 10**8), min_size=1, max_size=60))
    numbers = data.draw(st.lists(st.integers(0, 3000), min_size=len(seconds), max_size=len(seconds)))
    clock, placed, newest = StreamClock(1.0, 5), [], -1
    for n, (second, seq) in enumerate(zip(seconds, numbers, strict=True)):
        sample = Sample(flight="f", seq=seq, time=START + timedelta(seconds=n + second), values={"n": float(n)})
        placed += list(clock.take(sample, float(n)))
    placed += list(clock.flush())
    assert sorted(p.sample.values["n"] for p in placed) == list(range(len(seconds)))  # type: ignore[type-var]
    for p in placed:
        if not p.refusal:
            assert p.slot - newest <= 3600  # no jump that fills the memory with missing seconds
            newest = max(newest, p.slot)


def test_missed_late_and_future_samples_are_counted_as_they_were_injected() -> None:
    """Promise: missed and future seconds are masked, late ones within the look-ahead are placed, the rest counted."""
    missed, future, late, too_late = {10, 11, 30}, {40: 40, 50: 300}, {60: 3}, {65: 9}
    order = [n for n in range(N) if n not in missed | late.keys() | too_late.keys()]
    for n, behind in (late | too_late).items():
        order.insert(order.index(n + behind) + 1, n)
    box = Gateway(engine(5), Outbox(None, identity=""), patience_s=0)
    box.take([message(n, second=n + future.get(n, 0)) for n in order])
    box.finish()
    rows = out(box)
    assert len(rows) == N
    assert {row["seq"] for row in rows if row["qc"]["co"]} == missed | future.keys() | too_late.keys()
    counted = box.health.skipped, box.health.refused, box.health.late
    assert counted == (len(missed | late.keys() | too_late.keys()), len(future) + len(too_late), len(too_late))
