from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pc2dae.errors import Pc2daeError
from pc2dae.web.schemas import Flight
from pc2dae.web.store import Store, new_id, now_ms


def stored(data: Path) -> tuple[str, Path]:
    flight = Flight(id=new_id(), name="f", state="queued", created=now_ms())
    store = Store(data)
    store.save(flight)
    folder = store.folder(flight.id)
    (folder / "uploads").mkdir()
    (folder / "uploads" / "gas.csv").write_text("time,co\n")
    return flight.id, folder


def test_a_damaged_record_never_costs_the_files_of_a_flight(tmp_path: Path, caplog: Any) -> None:
    _, folder = stored(tmp_path)
    (folder / "record.json").write_text('{"id": 1, junk')
    assert Store(tmp_path).listed() == []
    assert (folder / "uploads" / "gas.csv").is_file()
    assert caplog.messages == [f"{folder / 'record.json'} cannot be read: the flight is not listed, its files are kept"]


def test_damaged_facts_are_one_line(tmp_path: Path) -> None:
    flight, folder = stored(tmp_path)
    (folder / "facts.json").write_text("{")
    with pytest.raises(Pc2daeError, match=r"facts\.json of this flight is damaged; drop its files again"):
        Store(tmp_path).facts(flight)


def test_a_data_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(Pc2daeError, match=r"data cannot be used \(Not a directory\); name another folder with --data"):
        Store(tmp_path / "data")
