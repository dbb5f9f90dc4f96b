"""Routes for the live view."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from pc2dae.web.flights_api import At
from pc2dae.web.live import check_broker
from pc2dae.web.live_models import Connect, LiveState, Play, Replay
from pc2dae.web.problems import Refused
from pc2dae.web.station import slug
from pc2dae.web.store import new_id

routes = APIRouter(prefix="/api/live", tags=["live"])
_EVERY_S = 2.0


@routes.get("")
async def state(station: At) -> LiveState:
    """Connection to the broker, counters, replay."""
    return station.live.shown()


@routes.post("")
async def connect(station: At, wanted: Connect) -> LiveState:
    """Subscribe to a stream; starts a gateway unless one is online or `listen_only` is set."""
    check_broker(wanted.broker or station.settings.broker)
    station.suites.check(wanted.suite)
    await station.live.connect(wanted)
    return station.live.shown()


@routes.delete("")
async def disconnect(station: At) -> LiveState:
    """Stop listening."""
    await station.live.disconnect()
    return station.live.shown()


@routes.get("/events", response_class=StreamingResponse)
async def events(
    station: At,
    since: Annotated[int, Query(ge=0, le=2**53)] = 0,
    last_event_id: Annotated[str, Header(max_length=40)] = "",
) -> StreamingResponse:
    """Server-sent events: `state` on every change, `estimate` for every second, beginning with the buffered minutes."""
    after = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else since

    async def stream() -> AsyncIterator[str]:
        shown = ""
        async for event in station.live.feed.buffer.listen(after, _EVERY_S):
            if event is None:
                now = station.live.shown().model_dump_json()
                yield f"event: state\ndata: {now}\n\n" if now != shown else ": keep-alive\n\n"
                shown = now
            else:
                yield f"id: {event[0]}\nevent: {event[1]}\ndata: {event[2]}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@routes.post("/replay", status_code=202)
async def replay(station: At, wanted: Play) -> Replay:
    """Replay a stored flight as if live; without a broker, estimates go to the page only."""
    flight = station.flight(wanted.flight)
    facts = station.store.facts(flight.id) if flight.state == "ready" else None
    if facts is None:
        raise Refused(409, "the flight is not ready", hint="wait until its job is done")
    folder = station.store.folder(flight.id)
    exclude = [v["family"] for v in facts["verdicts"] if not v["kept"]]
    name = f"{slug(flight.name)[:40]}-{new_id()[:6].replace('_', '-')}"  # a name may be used once per gateway
    return await station.live.play(
        name, flight.id, str(folder / "flight.nc"), str(folder / "suite.json"), exclude, wanted.speed
    )


@routes.delete("/replay")
async def stop_replay(station: At) -> LiveState:
    """End a replay."""
    await station.live.stop_replay()
    return station.live.shown()
