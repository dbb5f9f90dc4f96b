from __future__ import annotations

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
    assert (receipts.lost, receipts.duplicates) == (0, 1)
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
