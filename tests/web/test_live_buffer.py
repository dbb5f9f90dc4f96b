from __future__ import annotations

import asyncio

from pc2dae.web.live_buffer import KEPT, Heard


def fed(numbers: list[int], *, in_order: bool = False) -> tuple[Heard, list[int]]:
    async def go() -> tuple[Heard, list[int]]:
        heard = Heard()
        return heard, [n for n in numbers if heard.is_new("f", n, in_order=in_order)]

    return asyncio.run(go())


def test_gaps_are_lost_until_they_come_and_repeats_are_counted() -> None:
    heard, shown = fed([5, 6, 9, 9, 7, 6, 10])
    assert shown == [5, 6, 9, 7, 10]
    assert (heard.counts.lost, heard.counts.duplicates, heard.counts.estimates) == (1, 2, 5)
    assert heard.taken() == {}


def test_from_our_own_gateway_only_the_next_is_taken() -> None:
    heard, shown = fed([0, 1, 3, 4, 2, 3, 3, 4], in_order=True)
    assert shown == [0, 1, 2, 3, 4]
    assert (heard.counts.lost, heard.counts.duplicates) == (0, 1)
    assert heard.taken() == {"f": 4}


def test_a_server_that_was_restarted_goes_on_behind_what_it_had() -> None:
    async def go() -> list[int]:
        heard = Heard()
        heard.resume({"f": 41})
        return [n for n in (40, 41, 42, 43, 45) if heard.is_new("f", n, in_order=True)]

    assert asyncio.run(go()) == [42, 43]


def test_whoever_comes_late_gets_the_last_minutes_once() -> None:
    async def go() -> tuple[list[int], list[int], list[int]]:
        heard = Heard()
        for n in range(KEPT + 50):
            heard.tell("estimate", str(n))
        out = []
        for since in (0, KEPT + 40, 10**9):
            got = []
            async for event in heard.listen(since, 0.01):
                if event is None:
                    if got:
                        break
                else:
                    got.append(int(event[2]))
            out.append(got)
        return out[0], out[1], out[2]

    late, again, restarted = asyncio.run(go())
    assert late == list(range(50, KEPT + 50))
    assert again == list(range(KEPT + 40, KEPT + 50))
    assert restarted == late  # numbers of another server's life mean nothing here


def test_listening_ends_when_the_server_does() -> None:
    async def go() -> int:
        heard = Heard()
        asyncio.get_running_loop().call_later(0.05, heard.close)
        return len([event async for event in heard.listen(0, 10.0)])

    assert asyncio.run(asyncio.wait_for(go(), 5)) == 1
