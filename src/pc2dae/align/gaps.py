"""Refusal of records that cannot be one flight because all of them pause for too long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pc2dae.errors import FlightError
from pc2dae.flight.cells import longest_gap_s
from pc2dae.flight.stream import Stream


class SeveralFlights(FlightError):
    """The records hold several flights; `pauses` are the last stamp before each pause and the first after it."""

    pauses: list[tuple[np.datetime64, np.datetime64]]


def check_gaps(streams: Sequence[Stream], rate_hz: float) -> None:
    """Refuse records, stamps repaired, that all pause for longer than half a day: two flights, or a wrong stamp."""
    time = np.sort(np.concatenate([stream.time for stream in streams]))
    pause_s = np.diff(time).astype(np.int64) / 1e9
    longest = longest_gap_s(rate_hz)
    if not len(pause_s) or pause_s.max() <= longest:
        return
    at = int(np.argmax(pause_s > longest))
    before, after = (str(t.astype("datetime64[s]")).replace("T", " ") for t in time[at : at + 2])
    stream = next(s for s in streams if (s.time == time[at + 1]).any())
    row = int(np.argmax(stream.time == time[at + 1])) + 1
    where = "" if " + " in stream.source else f", then {stream.source} continues in row {row:,}"
    error = SeveralFlights(
        f"nothing was recorded from {before} to {after} UTC ({pause_s[at] / 86400:,.1f} days){where}:"
        " several flights, or a wrong stamp",
        hint="name one flight's logs at a time, or remove the rows whose clock was wrong",
    )
    error.pauses = [(time[i], time[i + 1]) for i in np.flatnonzero(pause_s > longest)]
    raise error
