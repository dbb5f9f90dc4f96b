from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pc2dae.align.gaps import check_gaps
from pc2dae.errors import FlightError
from pc2dae.flight.stream import Stream
from pc2dae.ingestion import ingest
from pc2dae.suite import parse_suite

ONE = '{"name": "one", "family": [{"name": "gas", "channel": [{"name": "co", "units": "ppb"}]}]}'
HOUR = 3600


def stream(seconds: list[int] | range, source: str = "log.csv") -> Stream:
    time = np.datetime64("2026-01-01T00:00:00", "ns") + np.array(seconds) * np.timedelta64(1, "s")
    return Stream("csv", "", time, {"co": np.zeros(len(time))}, {"co": "ppb"}, source=source)


def test_two_flights_in_one_table_are_refused_with_the_place_of_the_second(tmp_path: Path) -> None:
    stamps = [f"2026-01-{day}T10:00:{s:02d}Z" for day in ("01", "31") for s in range(40)]
    (tmp_path / "log.csv").write_text("time,co\n" + "".join(f"{stamp},5\n" for stamp in stamps))
    said = r"from 2026-01-01 10:00:39 to 2026-01-31 10:00:00 UTC \(30\.0 days\), then log\.csv continues in row 41:"
    with pytest.raises(FlightError, match=said):
        ingest([tmp_path / "log.csv"], suite=parse_suite(ONE, where="test"))


def test_a_wrong_stamp_within_the_month_is_refused_with_its_row() -> None:
    with pytest.raises(
        FlightError, match=r"10\.0 days\), then log\.csv continues in row 100: several flights, or a wrong"
    ):
        check_gaps([stream([*range(99), 10 * 24 * HOUR])], 1.0)


def test_a_campaign_is_refused_by_what_all_its_records_lack() -> None:
    days = [24 * HOUR * day for day in range(3)]
    joined = stream([day + second for day in days for second in range(600)], "a.bin + b.bin + c.bin")
    with pytest.raises(FlightError, match=r"00:09:59 to 2026-01-02 00:00:00 UTC \(1\.0 days\): several flights"):
        check_gaps([joined], 1.0)
    logs = [stream(range(day + late, day + late + 600), f"{day}_{late}.csv") for late in (0, 5) for day in days]
    with pytest.raises(FlightError, match=r"then 86400_0\.csv continues in row 1: several"):
        check_gaps(logs, 1.0)


def test_a_rest_that_another_instrument_fills_or_that_is_short_is_none() -> None:
    broken = stream([*range(100), *range(20 * HOUR, 20 * HOUR + 100)])
    check_gaps([broken, stream(range(50, 20 * HOUR + 50, 60))], 1.0)
    check_gaps([stream([0, 12 * HOUR])], 1.0)
    check_gaps([stream([0])], 1.0)


def test_a_slow_record_may_rest_for_weeks() -> None:
    check_gaps([stream([*range(0, 48 * HOUR, HOUR), 30 * 24 * HOUR])], 1.0 / HOUR)
