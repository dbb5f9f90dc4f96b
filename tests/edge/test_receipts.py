from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.edge.messages import Taken
from pc2dae.edge.receipts import Receipts


def fed(numbers: list[int], *, in_order: bool) -> tuple[Receipts, list[int]]:
    receipts = Receipts()
    return receipts, [n for n in numbers if receipts.is_new("f", n, in_order=in_order)]


def test_gaps_are_lost_until_they_come_and_repeats_are_counted() -> None:
    receipts, used = fed([5, 6, 9, 9, 7, 6, 10], in_order=False)
    assert used == [5, 6, 9, 7, 10]
    assert (receipts.lost, receipts.duplicates, receipts.estimates) == (1, 2, 5)
    assert receipts.last() == {}


def test_in_order_only_the_next_one_is_used() -> None:
    receipts, used = fed([0, 1, 3, 4, 2, 3, 3, 4], in_order=True)
    assert used == [0, 1, 2, 3, 4]
    assert (receipts.lost, receipts.repeats, receipts.duplicates) == (0, 1, 0)
    assert receipts.last() == {"f": 4}


def test_a_restarted_consumer_continues_after_what_it_had() -> None:
    receipts = Receipts({"f": 41})
    assert [n for n in (40, 41, 42, 43, 45) if receipts.is_new("f", n)] == [42, 43]


def test_news_is_confirmed_once_and_a_gap_is_requested_again() -> None:
    receipts = Receipts({"f": 3})
    first = receipts.confirmation()
    assert first is not None
    assert (first.taken, first.again) == ({"f": 3}, True)  # a gateway may hold more
    assert receipts.confirmation() is None
    assert receipts.is_new("f", 4)
    assert not receipts.is_new("f", 6)
    news = receipts.confirmation()
    assert news is not None
    assert (news.taken, news.again) == ({"f": 4}, False)  # asked a moment ago
    receipts._asked -= 10
    again = receipts.confirmation()
    assert again is not None
    assert (again.taken, again.again) == ({"f": 4}, True)
    assert receipts.confirmation() is None


def test_the_oldest_flights_are_forgotten() -> None:
    receipts = Receipts(flights=2)
    assert all(receipts.is_new(name, 0) for name in "abc")
    assert receipts.last() == {"b": 0, "c": 0}


def test_what_a_restarted_gateway_sends_again_is_no_duplicate() -> None:
    receipts, _ = fed([0, 1, 2, 2], in_order=False)
    assert receipts.duplicates == 1
    receipts.expect_repeats()
    assert [n for n in (1, 2, 3, 3) if receipts.is_new("f", n, in_order=False)] == [3]
    assert (receipts.repeats, receipts.duplicates) == (2, 2)


def test_what_the_gateway_no_longer_has_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it is requested for ever, and every request repeats all other flights."""
    clock = Clock(monkeypatch)
    known, unknown = Receipts({"f": 3}), Receipts()
    for receipts in (known, unknown):
        for _ in range(2):
            assert not receipts.is_new("f", 10)
            clock.now += 3
            request = receipts.confirmation()
            assert request is not None
            assert request.again
        assert receipts.is_new("f", 10)
        assert receipts.last() == {"f": 10}
        assert not receipts.is_behind
    assert (known.lost, unknown.lost) == (6, 0)


class Clock:
    """The time, moved by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        # The module's own name, not the function: event loops of servers in other threads use that too.
        monkeypatch.setattr("pc2dae.edge.receipts.time", SimpleNamespace(monotonic=lambda: self.now))


class Loop:
    """A gateway that keeps estimates until they are confirmed (as edge.mqtt does), a broker, and a consumer."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.made, self.sent, self.resent, self.requests = clock, 0, -1, 0, 0
        self.outbox: list[int] = []
        self.out: list[int] = []  # in the broker, for the consumer …
        self.back: list[Taken] = []  # … and for the gateway
        self.saved: dict[str, int] = {}
        self.receipts, self.used = Receipts(), [-1]
        self.duplicates = self.repeats = 0

    def make(self) -> None:
        self.outbox.append(self.made)
        self.made += 1

    def send(self) -> None:
        for seq in [n for n in self.outbox if n > self.sent]:
            self.out.append(seq)
            self.sent = seq

    def deliver(self) -> None:
        for seq in self.out[:3]:
            if self.receipts.is_new("f", seq):
                assert seq == self.used[-1] + 1
                self.used.append(seq)
        del self.out[:3]

    def confirm(self) -> None:
        self.clock.now += 0.5
        confirmation = self.receipts.confirmation()
        if confirmation is not None:
            self.saved, self.requests = confirmation.taken, self.requests + confirmation.again
            self.back.append(confirmation)

    def hear(self) -> None:
        for confirmation in self.back:
            self.outbox = [n for n in self.outbox if n > confirmation.taken.get("f", -1)]
            if confirmation.again:
                self.send_again()
        self.back = []

    def send_again(self) -> None:
        self.resent += len(self.outbox)
        self.sent = -1

    def restart_consumer(self) -> None:
        self.duplicates, self.repeats = self.duplicates + self.receipts.duplicates, self.repeats + self.receipts.repeats
        self.receipts, self.out = Receipts(self.saved), []
        self.used = [self.saved.get("f", -1)]

    def restart_gateway(self) -> None:
        self.receipts.expect_repeats()  # it announces itself
        self.send_again()

    def kill_broker(self) -> None:
        self.out, self.back, self.receipts.is_behind = [], [], True
        self.restart_gateway()

    def settle(self) -> None:
        for _ in range(40):
            for step in (self.send, self.hear, self.send, self.confirm):
                step()
            while self.out:
                self.deliver()


STEPS = ("make", "send", "deliver", "confirm", "hear")
KILLS = ("restart_consumer", "restart_gateway", "kill_broker")


@given(steps=st.lists(st.sampled_from((*STEPS * 3, *KILLS)), max_size=120))
def test_after_any_restarts_all_arrive_once_and_repeats_end(steps: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        loop = Loop(Clock(patch))
        for step in steps:
            getattr(loop, step)()
        loop.settle()
        assert loop.used[-1] == loop.made - 1
        assert loop.outbox == []
        kills = sum(step in KILLS for step in steps)
        assert loop.duplicates + loop.receipts.duplicates == 0
        assert loop.repeats + loop.receipts.repeats <= loop.resent  # what was in flight at each resend
        assert loop.requests <= 2 * (kills + 1)
        before = loop.requests, loop.receipts.repeats
        for _ in range(30):
            loop.make()
            loop.settle()
        assert (loop.requests, loop.receipts.repeats) == before
