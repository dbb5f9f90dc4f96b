from __future__ import annotations

import asyncio
import json

from pc2dae.edge.messages import Clean
from pc2dae.web.live.feed import KEPT, LiveBuffer, LiveFeed


def test_whoever_comes_late_gets_the_last_minutes_once() -> None:
    async def go() -> tuple[list[int], list[int], list[int]]:
        buffer = LiveBuffer()
        for n in range(KEPT + 50):
            buffer.add("estimate", str(n))
        out = []
        for since in (0, KEPT + 40, 10**9):
            got = []
            async for event in buffer.listen(since, 0.01):
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
        buffer = LiveBuffer()
        asyncio.get_running_loop().call_later(0.05, buffer.close)
        return len([event async for event in buffer.listen(0, 10.0)])

    assert asyncio.run(asyncio.wait_for(go(), 5)) == 1


def test_the_page_hears_what_is_estimated() -> None:
    about = {"flight": "f", "seq": 0, "time": "2025-10-01T12:00:00Z", "unbounded": {}, "uncertainty": {}, "qc": {}}
    clean = Clean(**about, latency_s=20, estimate={"co": 9.0}, response={"co": 7.0}, target={"co": "ambient"})
    feed = LiveFeed()
    feed.add_estimate(clean.model_dump_json().encode(), in_order=False)
    event = json.loads(feed.buffer.events[0][2])
    assert (event["estimate"], event["response"], event["target"]) == ({"co": 9.0}, {"co": 7.0}, {"co": "ambient"})


def test_calibrated_channels_are_named_and_drawn_without_their_readings() -> None:
    sample = {"flight": "f", "seq": 0, "time": "2025-10-01T12:00:00Z", "values": {"co": 412.0, "no": 3.0}}
    sample |= {"motion": {"latitude": 39.1, "altitude": 40.0}, "wind": {"eastward": 2.0, "northward": -1.0}}
    about = {"flight": "f", "seq": 0, "time": "2025-10-01T12:00:00Z", "unbounded": {}, "uncertainty": {}, "qc": {}}
    clean = Clean(**about, latency_s=5, estimate={"co": 90.0, "no": 2.5}, calibrated=["co"])
    feed = LiveFeed()
    feed.add_sample(json.dumps(sample).encode())
    feed.add_estimate(clean.model_dump_json().encode(), in_order=False)
    assert feed.calibrated == ["co"]
    sent, estimated = (json.loads(text) for _, _, text in feed.buffer.events)
    assert [kind for _, kind, _ in feed.buffer.events] == ["sample", "estimate"]
    assert sent["values"] == {"co": 412.0, "no": 3.0}
    assert estimated["raw"] == {"no": 3.0}
    assert sent["motion"] == estimated["motion"] == {"altitude": 40.0}  # half a position is none
    assert sent["wind"] == {"eastward": 2.0, "northward": -1.0}
