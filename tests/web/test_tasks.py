from __future__ import annotations

from pathlib import Path

import numpy as np

from pc2dae.flight.schema import new_flight
from pc2dae.suite import parse_suite
from pc2dae.web.tasks import _measured, _renamed


def test_messages_hold_given_names_and_no_paths() -> None:
    home = Path("/srv/data/flights/abc")
    text = f"nothing readable in {home}/uploads (file-0000.csv: empty; {home}/uploads/file-0001.dat: no table)"
    names = {"file-0000.csv": "gas.csv", "file-0001.dat": "notes"}
    assert _renamed([text], home, names) == ["nothing readable in the upload (gas.csv: empty; notes: no table)"]


def test_nothing_of_an_estimate_remains_in_the_raw_flight() -> None:
    suite = parse_suite(
        '{"name": "s", "family": [{"name": "g", "channel": [{"name": "co", "units": "ppb"}]}]}', where=""
    )
    time = np.datetime64("2025-10-01T12:00:00", "ns") + np.arange(3) * np.timedelta64(1, "s")
    raw = new_flight(time, {"co": np.arange(3.0)}, suite, level="compensated")
    made = ("unbounded", "response", "uncertainty", "random_uncertainty", "systematic_uncertainty")
    clean = raw.assign({"co": raw["co"] + 5, "co_raw": raw["co"]} | {f"co_{kind}": raw["co"] for kind in made})
    back = _measured(clean)
    assert set(back.variables) == set(raw.variables)
    np.testing.assert_array_equal(back["co"].values, raw["co"].values)
