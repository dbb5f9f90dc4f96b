from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from pc2dae.errors import LogError
from pc2dae.logs import csv, read_logs
from pc2dae.logs.cells import Cells
from pc2dae.logs.stamps import NeedsChoice, StampParser, zone_of
from pc2dae.logs.zone_abbreviations import ABBREVIATIONS
from suites import make_suite

SUITE = make_suite({"all": {"a": "ppb"}}, name="x", time={"zone": "UTC"})


def parse(*blocks: list[str], form: str | None = None, day: str | None = None) -> list[str]:
    """The stamps of some blocks as ISO text."""
    parser, line, found = StampParser("x.csv", form, date=date.fromisoformat(day) if day else None), 2, []
    for block in blocks:
        found += [str(t)[:23] for t in parser.parse(Cells.of(block), np.arange(line, line + len(block)))]
        line += len(block)
    parser.check()
    return found


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2024-04-10 01:05:00 PM", "2024-04-10T13:05:00.000"),
        ("2024-04-10 1:05:00 pm", "2024-04-10T13:05:00.000"),
        ("2024-04-10 12:05:00 AM", "2024-04-10T00:05:00.000"),
        ("2024-04-10 12:05:00 p.m.", "2024-04-10T12:05:00.000"),
        ("2024-04-10T11:59:59.5PM", "2024-04-10T23:59:59.500"),
        ("04/28/2024 01:05:00 PM", "2024-04-28T13:05:00.000"),
        ("2024-04-10 01:05:00 PM UTC", "2024-04-10T13:05:00.000"),
        ("2024-04-10 01:05:00 PM-05:00", "2024-04-10T18:05:00.000"),
        ("2024-04-10 13:05:00 PM", "NaT"),
        ("2024-04-10 00:05:00 AM", "NaT"),
        ("2024-04-10 13:48:15,250", "2024-04-10T13:48:15.250"),
    ],
)
def test_am_and_pm_are_read_or_the_stamp_is_not(stamp, expected):
    assert parse([stamp]) == [expected]


@pytest.mark.parametrize("form", [None, "%H:%M:%S"])
@pytest.mark.parametrize("blocks", [1, 4])
def test_times_of_day_get_the_date_of_the_suite_and_pass_midnight(blocks, form):
    stamps = ["23:59:58", "00:00:01", "23:59:59", "00:00:02", "12:00:00", "23:00:00", "00:30:00"]
    with pytest.raises(NeedsChoice) as refused:
        parse(stamps, form=form)
    assert str(refused.value) == (
        "x.csv, line 2: '23:59:58' is a time of day without a date; state the date of the first row in the suite:"
        ' [time] date = "2025-10-05"'
    )
    days = [10, 11, 10, 11, 11, 11, 12]  # the third row is late
    expected = [f"2024-04-{day}T{stamp}.000" for day, stamp in zip(days, stamps, strict=True)]
    assert parse(*(list(part) for part in np.array_split(stamps, blocks)), form=form, day="2024-04-10") == expected


def test_stamps_with_a_date_get_no_other():
    with pytest.raises(LogError, match=r"'2024-04-10T01:05:00' is not a time of day; remove `date` from the suite's"):
        parse(["2024-04-10T01:05:00"], day="2024-04-10")
    assert parse(["1:05:00 PM", "lost", "12:00:07 AM"], day="2024-04-10") == [
        "2024-04-10T13:05:00.000", "NaT", "2024-04-11T00:00:07.000"]  # fmt: skip


def test_a_stamp_without_am_or_pm_among_others_is_not_guessed():
    blocks = [["2024-04-10 12:59:59 PM", "2024-04-10 01:00:00"], ["2024-04-10 01:00:01", "2024-04-10 01:00:02 PM"]]
    assert parse(*blocks) == ["2024-04-10T12:59:59.000", "NaT", "NaT", "2024-04-10T13:00:02.000"]


@pytest.mark.parametrize("form", [None, "%Y-%m-%d %H:%M:%S"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_a_12_hour_clock_without_am_and_pm_is_refused(blocks, form):
    stamps = ["2024-04-10 11:59:59", "2024-04-10 12:00:00", "2024-04-10 12:59:59", "2024-04-10 01:00:00"]
    with pytest.raises(LogError) as refused:
        parse(*(list(part) for part in np.array_split(stamps, blocks)), form=form)
    assert str(refused.value) == (
        "x.csv, line 5: the clock steps back from 12:59:59 to 01:00:00 and never shows 13 to 24 hours: a 12-hour clock"
        " without AM and PM?; write stamps of 24 hours, or with AM and PM"
    )


def test_a_24_hour_clock_that_goes_back_is_not_taken_for_one_of_12():
    assert parse(["2024-04-10 12:59:59", "2024-04-10 01:00:00", "2024-04-10 14:00:00"])[-1] == "2024-04-10T14:00:00.000"


@pytest.mark.parametrize("short", ["2024-04-10 13:48", "2024-04-10 13", "2024-04-10", "2024-04-10 13:48:3"])
def test_a_shorter_stamp_than_the_others_is_not_read(short):
    whole = ["2024-04-10 13:48:31", "2024-04-10 13:48:32"]
    assert parse(whole, [*whole, short]) == [*(f"{t}.000".replace(" ", "T") for t in whole + whole), "NaT"]
    assert parse([short, *whole])[0] == "NaT"


def test_minutes_alone_are_read_where_all_stamps_are_so():
    assert parse(["2024-04-10 13:48", "2024-04-10 13:49"])[1] == "2024-04-10T13:49:00.000"


def test_a_large_file_whose_time_goes_back_is_not_averaged(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "LARGE_BYTES", 10)
    path = tmp_path / "x.csv"
    seconds = [*range(40), *range(20, 60)]
    path.write_text("time,a\n" + "".join(f"2024-04-10 13:48:{s:02d},{i}\n" for i, s in enumerate(seconds)))
    with pytest.raises(LogError, match=r"x\.csv, line 42: time steps back from 2024-04-10 13:48:39 to .* 13:48:20"):
        read_logs([path], suite=SUITE)
    path.write_text("time,a\n" + "".join(f"2024-04-10 13:48:{s:02d},{s}\n" for s in reversed(range(60))))
    (stream,) = read_logs([path], suite=SUITE).streams
    assert sorted(stream.columns["a"]) == list(range(60))


def test_seconds_and_milliseconds_do_not_mix_in_one_file():
    """1712693776.50 without its point counts milliseconds from 1970 to 1975."""
    seconds, wrong, later = "1712693775.250", "171269377650", "1712693777.250"
    assert parse([seconds, wrong, later], [wrong]) == [
        "2024-04-09T20:16:15.250",
        "NaT",
        "2024-04-09T20:16:17.250",
        "NaT",
    ]
    assert parse([seconds, "17126937762"])[1] == "NaT"  # 2512, which nanoseconds cannot hold
    assert parse(["1712693775250", "1712693776250"]) == ["2024-04-09T20:16:15.250", "2024-04-09T20:16:16.250"]


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("CDT", 'unknown time zone \'CDT\'; write "America/Chicago", or "-05:00" if the clock stays on CDT all year'),
        ("cst", 'CST is ambiguous: write "America/Chicago" (-06:00) or "Asia/Shanghai" (+08:00)'),
        ("BST", '"Europe/London" (+01:00) or "Asia/Dhaka" (+06:00)'),
        ("America/Chicgo", "did you mean 'America/Chicago'?"),
    ],
)
def test_an_abbreviated_zone_is_answered_with_its_place(zone, said):
    with pytest.raises(LogError) as error:
        zone_of(zone)
    assert said in str(error.value)
    assert "UCT" not in str(error.value)


def test_every_abbreviation_has_the_offset_of_its_place():
    for abbreviation, meanings in ABBREVIATIONS.items():
        for offset, place in meanings:
            known = {datetime(2024, month, 1, tzinfo=ZoneInfo(place)).utcoffset() for month in (1, 7)}
            assert zone_of(offset).utcoffset(None) in known, (abbreviation, place)
