"""Messages of a recorded flight."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pc2dae.edge.messages import parse_sample
from pc2dae.edge.replay import messages
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite


def test_a_replay_states_its_speed_and_is_stamped_as_of_now_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    suite, now = load_suite("black-kite"), 1_800_000_000.25
    monkeypatch.setattr("pc2dae.edge.replay.time", SimpleNamespace(time=lambda: now))
    stamps = np.datetime64("2025-10-01T12:00:00") + np.arange(4).astype("timedelta64[s]")
    flight = new_flight(stamps, {"co_a": np.arange(4.0)}, suite, flight_id="f")
    own, shifted = messages(flight, suite, "f"), messages(flight, suite, "f", speed=10.0, restamp=True)
    assert (parse_sample(own(2)).replay, parse_sample(shifted(2)).replay) == (None, 10.0)
    assert [parse_sample(own(n)).microseconds for n in (0, 3)] == [1_759_320_000_000_000, 1_759_320_003_000_000]
    times = [parse_sample(shifted(n)).time.timestamp() for n in (2, 3, 2)]  # sent again with the same stamp
    assert times == [now, now + 1, now]
