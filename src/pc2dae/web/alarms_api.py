"""Routes for limits and alarms of the live view."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime

from fastapi import APIRouter
from fastapi.responses import Response

from pc2dae.web.alarm_models import Alarm, Limit, LimitShown
from pc2dae.web.flights_api import At
from pc2dae.web.schemas import Key

routes = APIRouter(prefix="/api/live", tags=["live"])
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # as in pc2dae.flight.csv
_COLUMNS = ("since", "until", "duration_s", "flight", "channel", "kind", "source", "limit", "peak", "units", "raised",
            "seen")  # fmt: skip


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
