"""CSV files of flights: no cell is a formula, round trip, and damage is rejected in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.errors import FlightError
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.csv import guarded, unguarded
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Channel, Family, Suite

START = np.datetime64("2025-10-05T14:00:00", "ns")
MS = np.timedelta64(1, "ms")
SUITE = Suite(name="one", family=(Family(name="gas", channel=(Channel(name="co", units="ppb"),)),))
EVIL = ["=cmd|'/c calc'!A1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "--2"]


def flight(rows: int = 4) -> xr.Dataset:
    return new_flight(START + np.arange(rows) * 1000 * MS, {"co": np.linspace(-1.5, 3.0, rows)}, SUITE)


@pytest.mark.parametrize("evil", EVIL)
def test_no_text_is_a_formula_and_numbers_stay(evil: str, tmp_path: Path) -> None:
    made = flight()
    made["row_index"] = ("row", np.arange(4))
    made["row_time"] = ("row", made["time"].values)
    made["row_stamp"] = ("row", np.array(["2025-10-01 12:00", evil, "-3.5", ""], dtype=object))
    write_flight(made, tmp_path / "x.csv")
    table = pd.read_csv(tmp_path / "x.csv", dtype=str, keep_default_na=False, lineterminator="\n")
    assert list(table["time"]) == ["2025-10-01 12:00", f"'{evil}", "-3.5", ""]
    assert table["co"][0] == "-1.5"
    assert unguarded(table["time"][1]) == evil


@given(st.text(alphabet="=+-@'\t\r1a. ", max_size=6))
def test_what_is_guarded_can_be_restored(text: str) -> None:
    cell = str(guarded(pd.DataFrame({"a": [text]}))["a"][0])
    assert unguarded(cell) == text
    assert cell[:1] not in tuple("=+@\t\r") or text == ""


def test_names_of_columns_are_guarded_too() -> None:
    table = guarded(pd.DataFrame({"=x": [-1.0], "method": ["@lean"]}))
    assert table.to_csv(index=False) == "'=x,method\n-1.0,'@lean\n"


def test_a_csv_of_irregular_rows_comes_back_row_by_row(tmp_path: Path) -> None:
    made = flight(6)
    made["co"][2] = 0.1  # three of it make a little more than 0.3
    made["row_index"] = ("row", np.array([0, 2, 2, 5, 4, 2]))
    made["row_time"] = ("row", START + np.array([0, 2000, 2400, 5000, 4100, 2700]) * MS)
    write_flight(made, tmp_path / "x.csv")
    read = read_flight(tmp_path / "x.csv", SUITE)
    assert read.sizes == {"time": 6, "row": 6}
    np.testing.assert_array_equal(np.isnan(read["co"].values), [False, True, False, True, False, False])
    write_flight(read, tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_bytes() == (tmp_path / "x.csv").read_bytes()


def test_stamps_with_an_offset_come_back_as_they_were(tmp_path: Path) -> None:
    text = "time,co,qc_co\n2025-10-05T16:00:00+02:00,1.0,0\n2025-10-05T16:00:01+02:00,2.0,0\n"
    (tmp_path / "x.csv").write_text(text)
    read = read_flight(tmp_path / "x.csv", SUITE)
    assert read["time"].values[0] == START
    write_flight(read, tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_text() == text


def test_a_last_line_without_an_end_is_left_out(tmp_path: Path) -> None:
    write_flight(flight(), tmp_path / "x.csv")
    whole = (tmp_path / "x.csv").read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(start + 1, len(whole)):  # at every byte of the last line
        (tmp_path / "x.csv").write_bytes(whole[:end])
        read = read_flight(tmp_path / "x.csv", SUITE)
        np.testing.assert_array_equal(read["co"].values, flight()["co"].values[:3])
        assert "last line of x.csv left out: it is incomplete" in read.attrs["history"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-1.5", "-1.5x", r"line 2: '-1\.5x' in column 'co' is not a number; is the file complete"),
        ("-1.5,0", "-1.5,0.5", r"x\.csv, line 2: '0\.5' in column 'qc_co' is not a flag"),
        ("-1.5,0", "-1.5,", r"x\.csv, line 2: '' in column 'qc_co' is not a flag"),
        ("-1.5,0", "-1.5", r"x\.csv is not a flight's CSV \(line 2 has a different number of cells"),
        ("-1.5,0", "-1.5,0,7", r"x\.csv is not a flight's CSV \(line 2 has a different number of cells"),
        (
            "2025-10-05T14:00:02Z",
            "2025-13-05T14:00:02Z",
            r"x\.csv, line 4: '2025-13-05T14:00:02Z' is not an ISO 8601 time",
        ),
        ("2025-10-05T14:00:02Z", "", r"x\.csv, line 4: '' is not an ISO 8601 time stamp"),
        ("2025-10-05T14:00:02Z", "2035-10-05T14:00:02Z", r"x\.csv: nothing was recorded from"),
    ],
)
def test_damage_is_refused_in_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    write_flight(flight(), tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_text()
    (tmp_path / "x.csv").write_text(text.replace(old, new, 1))
    with pytest.raises(FlightError, match=message) as caught:
        read_flight(tmp_path / "x.csv", SUITE)
    assert "\n" not in str(caught.value)
