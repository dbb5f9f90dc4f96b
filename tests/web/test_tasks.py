from __future__ import annotations

from pathlib import Path

import numpy as np

from pc2dae.web.facts import flag_spans, plain
from pc2dae.web.tasks import _renamed

TIME = np.datetime64("2025-10-01T12:00:00") + np.arange(3).astype("timedelta64[s]")


def test_flags_are_stretches_and_never_too_many() -> None:
    time = np.arange(10_000, dtype=np.int64) * 1000
    bits = np.zeros(10_000, np.int32)
    bits[10:12], bits[20] = 1, 4
    assert flag_spans(bits, time) == [(10_000, 12_000, 1, "missing"), (20_000, 21_000, 2, "out of range")]
    bits[::2] |= 2  # stale
    bits[1::4] |= 1024  # interpolated
    spans = flag_spans(bits, time)
    assert len(spans) <= 300
    assert {span[2] for span in spans} >= {1, 3}


def test_what_is_told_holds_their_names_and_not_our_paths() -> None:
    home = Path("/srv/data/flights/abc")
    text = f"nothing readable in {home}/uploads (file-0000.csv: empty; {home}/uploads/file-0001.dat: no table)"
    names = {"file-0000.csv": "gas.csv", "file-0001.dat": "notes"}
    assert _renamed([text], home, names) == ["nothing readable in the upload (gas.csv: empty; notes: no table)"]


def test_json_knows_no_nan() -> None:
    assert plain({"a": np.float64(np.nan), "b": (np.int64(3), float("inf"))}) == {"a": None, "b": [3, None]}
