"""Routes for the live view."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from pc2dae.web.flights_api import At
from pc2dae.web.live_models import Connect, LiveState, Mark, MarkWanted, Play, Replay
from pc2dae.web.series import ready_facts
from pc2dae.web.station import slug
from pc2dae.web.store import new_id

routes = APIRouter(prefix="/api/live", tags=["live"])
_EVERY_S = 1.0  # longest and …
_STATE_S = 0.25  # … shortest time between two states
_TRACK = 2000  # points


@routes.get("")
async def get_live(station: At) -> LiveState:
    """Connection to the broker, counters, replay."""
    return station.live.shown()


@routes.post("")
async def connect_live(station: At, wanted: Connect) -> LiveState:
    """Subscribe to a stream; starts a gateway unless one is online or `listen_only` is set."""
    station.suites.check(wanted.suite)
    await station.live.connect(wanted)
    return station.live.shown()


@routes.delete("")
async def disconnect_live(station: At) -> LiveState:
    """Stop listening."""
    await station.live.disconnect()
    return station.live.shown()


@routes.get("/events", response_class=StreamingResponse)
async def follow_live(
    station: At,
    since: Annotated[int, Query(ge=0, le=2**53)] = 0,
    last_event_id: Annotated[str, Header(max_length=40)] = "",
) -> StreamingResponse:
    """Server-sent events, beginning with the buffered minutes: `state` on changes, `estimate` for every second."""
    after = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else since

    async def stream() -> AsyncIterator[str]:
        sent, known = 0.0, None
        async for event in station.live.feed.buffer.listen(after, _EVERY_S):
            if event is None:
                now = station.live.shown()
                facts = (now.state, now.link.status, now.link.reason, now.message, now.mismatch, now.gateway)
                if facts != known or time.monotonic() - sent >= _STATE_S:
                    sent, known = time.monotonic(), facts
                    yield f"event: state\ndata: {now.model_dump_json()}\n\n"
            else:
                yield f"id: {event[0]}\nevent: {event[1]}\ndata: {event[2]}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@routes.get("/track")
async def get_live_track(station: At) -> list[tuple[int, float, float, float | None]]:
    """The track of the flight that is being received: time [ms], latitude, longitude, altitude [m], thinned."""
    now = station.live.recorder.current
    track = now.track if now is not None else []
    return track[:: len(track) // _TRACK + 1]


@routes.get("/marks")
async def list_marks(station: At) -> list[Mark]:
    """The marks of the flight that is being received."""
    now = station.live.recorder.current
    return now.marks if now is not None else []


@routes.post("/marks", status_code=201)
async def add_mark(station: At, wanted: MarkWanted) -> Mark:
    """Mark the present moment of the flight, with a note."""
    made = station.live.recorder.mark(wanted.note)
    station.live.feed.buffer.add("mark", made.model_dump_json())
    return made


@routes.post("/replay", status_code=202)
async def start_replay(station: At, wanted: Play) -> Replay:
    """Replay a stored flight as if live; without a broker, estimates go to the page only."""
    flight = station.flight(wanted.flight)
    facts = ready_facts(station.store, flight)
    folder = station.store.folder(flight.id)
    exclude = [v["family"] for v in facts["verdicts"] if not v["kept"]]
    name = f"{slug(flight.name)[:40]}-{new_id()[:6].replace('_', '-')}"  # a name may be used once per gateway
    return await station.live.play(wanted, name, folder, exclude)


@routes.delete("/replay")
async def stop_replay(station: At) -> LiveState:
    """End a replay."""
    await station.live.stop_replay()
    return station.live.shown()
