"""Routes for the live view, its limits and its alarms."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from pc2dae.web.flights_api import At
from pc2dae.web.live.alarm_limits import Alarm, Limit, LimitShown
from pc2dae.web.live.live_models import Connect, LiveState, Mark, MarkWanted, Play, Replay
from pc2dae.web.schemas import Key
from pc2dae.web.series import ready_facts
from pc2dae.web.station import slug
from pc2dae.web.store import new_id

routes = APIRouter(prefix="/api/live", tags=["live"])
_EVERY_S = 1.0  # longest and …
_STATE_S = 0.25  # … shortest time between two states
_TRACK = 2000  # points
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # as in pc2dae.flight.csv
_COLUMNS = ("since", "until", "duration_s", "flight", "channel", "kind", "source", "limit", "peak", "units", "raised",
            "seen")  # fmt: skip


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


@routes.get("/events", response_class=EventSourceResponse)
async def follow_live(
    station: At,
    since: Annotated[int, Query(ge=0, le=2**53)] = 0,
    last_event_id: Annotated[str, Header(max_length=40)] = "",
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events, beginning with the buffered minutes: `state` on changes, `estimate` for every second."""
    after = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else since
    sent, known = 0.0, None
    async for event in station.live.feed.buffer.listen(after, _EVERY_S):
        if event is None:
            now = station.live.shown()
            facts = (now.state, now.link.status, now.link.reason, now.message, now.mismatch, now.gateway)
            if facts != known or time.monotonic() - sent >= _STATE_S:
                sent, known = time.monotonic(), facts
                yield ServerSentEvent(event="state", data=now)
        else:
            yield ServerSentEvent(id=str(event[0]), event=event[1], raw_data=event[2])


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


@routes.get("/limits")
async def get_limits(station: At) -> dict[str, LimitShown]:
    """Limits by channel; `note` says if one is not applied."""
    return station.live.feed.alarms.limits.shown()


@routes.put("/limits")
async def set_limits(station: At, wanted: dict[str, Limit | None]) -> dict[str, LimitShown]:
    """Replace the limits of the channels named; null removes one, channels not named keep theirs."""
    feed = station.live.feed
    feed.alarms.set_limits(wanted)
    await station.live.alarm_file.save()
    feed.buffer.add("limits", "{}")  # other pages fetch them
    return feed.alarms.limits.shown()


@routes.get("/alarms")
async def list_alarms(station: At) -> list[Alarm]:
    """All alarms, oldest first."""
    return list(station.live.feed.alarms.alarms.values())


@routes.get("/alarms.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
async def download_alarms(station: At) -> Response:
    """All alarms as a table; times are ISO 8601, UTC."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for alarm in station.live.feed.alarms.alarms.values():
        row = alarm.model_dump() | {"duration_s": _duration_s(alarm), "seen": "yes" if alarm.seen else "no"}
        row |= {name: _stamp(row[name]) for name in ("since", "until", "raised")}
        table.writerow([_cell(row[name]) for name in _COLUMNS])
    saved = {"Content-Disposition": 'attachment; filename="alarms.csv"'}
    return Response(text.getvalue(), media_type="text/csv", headers=saved)


@routes.post("/alarms/seen")
async def acknowledge_alarms(station: At) -> list[Alarm]:
    """Acknowledge all alarms."""
    station.live.feed.alarms.acknowledge(None)
    await station.live.alarm_file.save()
    return await list_alarms(station)


@routes.post("/alarms/{alarm}/seen")
async def acknowledge_alarm(station: At, alarm: Key) -> Alarm:
    """Acknowledge an alarm."""
    station.live.feed.alarms.acknowledge(alarm)
    await station.live.alarm_file.save()
    return station.live.feed.alarms.alarms[alarm]


def _duration_s(alarm: Alarm) -> float | None:
    return None if alarm.until is None else (alarm.until - alarm.since) / 1000


def _stamp(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _cell(value: object) -> object:
    """A cell; text that a spreadsheet would interpret as a formula gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
