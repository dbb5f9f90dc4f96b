from __future__ import annotations

from pathlib import Path

from pc2dae.web.tasks import _renamed


def test_messages_hold_given_names_and_no_paths() -> None:
    home = Path("/srv/data/flights/abc")
    text = f"nothing readable in {home}/uploads (file-0000.csv: empty; {home}/uploads/file-0001.dat: no table)"
    names = {"file-0000.csv": "gas.csv", "file-0001.dat": "notes"}
    assert _renamed([text], home, names) == ["nothing readable in the upload (gas.csv: empty; notes: no table)"]
