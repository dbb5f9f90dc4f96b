"""Records that cannot be one flight: they all rest for so long that one grid over them would be a mistake."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pc2dae.errors import FlightError
from pc2dae.flight.cells import longest_gap_s
from pc2dae.flight.stream import Stream


def check_gaps(streams: Sequence[Stream], rate_hz: float) -> None:
    """Refuse records, stamps repaired, that all pause for longer than half a day: two flights, or a wrong stamp."""
    time = np.sort(np.concatenate([stream.time for stream in streams]))
    rest_s = np.diff(time).astype(np.int64) / 1e9
    longest = longest_gap_s(rate_hz)
    if not len(rest_s) or rest_s.max() <= longest:
        return
    at = int(np.argmax(rest_s > longest))
    before, after = (str(t.astype("datetime64[s]")).replace("T", " ") for t in time[at : at + 2])
    stream = next(s for s in streams if (s.time == time[at + 1]).any())
    row = int(np.argmax(stream.time == time[at + 1])) + 1
    where = "" if " + " in stream.source else f", then {stream.source} goes on in row {row:,}"
    raise FlightError(
        f"nothing was recorded from {before} to {after} UTC ({rest_s[at] / 86400:,.1f} days){where}:"
        " several flights, or a wrong stamp",
        hint="name one flight's logs at a time, or take out the rows whose clock was wrong",
    )
