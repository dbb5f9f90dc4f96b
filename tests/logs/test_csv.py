from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae.errors import FlightError, LogError
from pc2dae.flight.store import write_flight
from pc2dae.ingestion import ingest, open_flight

REPOSITORY = Path(__file__).parents[2]


def suite(folder: Path, channels: list[str], time: str = "") -> Path:
    lines = ['name = "any"', time, "[[family]]", 'name = "all"']
    for column in channels:
        name = "c_" + "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in column)
        lines += [
            "[[family.channel]]",
            f'name = "{name}"',
            f'column = "{column}"',
            'units = "ppb"',
            "lower_bound = -1e9",
        ]
    path = folder / "any.toml"
    path.write_text("\n".join(lines))
    return path


def there_and_back(folder: Path, stamps: list[str], time: str = "", **options: str) -> tuple[pd.DataFrame, np.ndarray]:
    """What comes out of a CSV of one column for these stamps, and what went in."""
    values = np.arange(len(stamps)) * 0.25
    pd.DataFrame({"time": stamps, "CO [ppb]": values}).to_csv(folder / "in.csv", index=False)
    flight = open_flight(folder / "in.csv", suite=suite(folder, ["CO [ppb]"], time), **options)
    write_flight(flight, folder / "out.csv")
    return pd.read_csv(folder / "out.csv"), values


@pytest.mark.parametrize(
    "stamps",
    [
        [f"2024-04-10T13:48:{s:02d}Z" for s in range(30)],
        [f"2024-04-10 13:48:{s:02d}.{s * 31 % 1000:03d}Z" for s in range(30)],
        [f"2024-04-10T13:48:{s:02d}+02:00" for s in range(30)],
        [f"2024-04-10T13:48:{s:02d}Z" for s in (0, 1, 1, 2, 5, 4, 9, 12, 12, 12, 59)],
        [f"2024-04-10T13:{m:02d}:00.5Z" for m in (0, 1, 7, 50)],
        ["2024-04-10T13:48:00Z"],
    ],
    ids=["seconds", "milliseconds", "offset", "irregular", "far apart", "one"],
)
def test_rows_and_stamps_come_back_as_they_were(stamps, tmp_path):
    out, _ = there_and_back(tmp_path, stamps)
    assert out["time"].tolist() == stamps


def test_values_come_back_where_no_two_rows_share_a_cell(tmp_path):
    out, values = there_and_back(
        tmp_path, [f"2024-04-10T13:{s // 60:02d}:{s % 60:02d}.{(s * 7) % 90:03d}Z" for s in range(300)]
    )
    assert np.array_equal(out["c_CO__ppb_"], values)


def test_local_stamps_come_back_with_their_offset(tmp_path):
    out, _ = there_and_back(tmp_path, ["2024-04-10T13:48:15", "2024-04-10T13:48:16"], zone="-05:00")
    assert out["time"].tolist() == ["2024-04-10T13:48:15-05:00", "2024-04-10T13:48:16-05:00"]


def test_the_hour_that_happens_twice_is_told_apart_by_the_jump_back(tmp_path):
    stamps = [f"2024-11-03T01:59:{s}" for s in (58, 59)] + [f"2024-11-03T01:00:0{s}" for s in (0, 1)]
    out, _ = there_and_back(tmp_path, stamps, '[time]\nzone = "America/Chicago"')
    utc = pd.to_datetime(out["time"], utc=True)
    assert utc.diff().dropna().dt.total_seconds().tolist() == [1.0, 1.0, 1.0]


def test_an_hour_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(LogError, match="does not exist"):
        there_and_back(tmp_path, ["2024-03-10T02:30:00"], '[time]\nzone = "America/Chicago"')


@pytest.mark.parametrize(
    ("form", "stamp"),
    [
        ("%d/%m/%Y %H:%M:%S", "05/10/2024 13:48:15"),
        ("%Y%m%d-%H%M%S", "20241005-134815"),
        ("%m/%d/%Y %I:%M:%S %p", "10/05/2024 01:48:15 PM"),
    ],
)
def test_formats_of_the_suite(form, stamp, tmp_path):
    out, _ = there_and_back(tmp_path, [stamp], f'[time]\nformat = "{form}"\nzone = "UTC"')
    assert out["time"].tolist() == ["2024-10-05T13:48:15Z"]


def test_a_zone_that_is_none_names_the_nearest(tmp_path):
    with pytest.raises(LogError, match=r"America/Chicago"):
        there_and_back(tmp_path, ["2024-04-10T13:48:15"], zone="America/Chigaco")


def test_fifty_channels_with_any_names(tmp_path):
    names = [f"Sensor {i} (ppb) µ;{i}" for i in range(50)]
    table = pd.DataFrame({"time": [f"2024-04-10T13:48:{s:02d}Z" for s in range(40)]})
    for i, name in enumerate(names):
        table[name] = np.sin(np.arange(40) * (i + 1))
    table.to_csv(tmp_path / "in.csv", index=False)
    flight = open_flight(tmp_path / "in.csv", suite=suite(tmp_path, names))
    assert len(flight.data_vars) >= 100
    found = flight["c_Sensor_49__ppb____49"].values
    np.testing.assert_array_equal(found, table[names[49]].to_numpy())


KOLIBRI = REPOSITORY.parent / "shared" / "data" / "konza_uav_burn" / "kolibri"


@pytest.mark.skipif(not KOLIBRI.exists(), reason="the real flights of ../shared/data are not here")
@pytest.mark.parametrize("name", ["1D", "HQ_1", "K2A_1"])
def test_real_flights_keep_every_row(name, tmp_path):
    flight = open_flight(KOLIBRI / f"{name}.csv", suite=REPOSITORY / "examples" / "kolibri.toml")
    write_flight(flight, tmp_path / "out.csv")
    out, given = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(KOLIBRI / f"{name}.csv")
    assert out["time"].tolist() == [f"{stamp}-05:00" for stamp in given["DateTime_cdt"]]
    np.testing.assert_array_equal(out["co2"], given["CO2_ppm"])


def test_a_column_named_for_another_unit_is_converted(tmp_path):
    pd.DataFrame({"time": ["2024-04-10T13:48:00Z"], "CO_ppm": [0.1], "NO [ppb]": [2.0]}).to_csv(
        tmp_path / "in.csv", index=False
    )
    flight, intake = ingest([tmp_path / "in.csv"], suite=suite(tmp_path, ["CO_ppm", "NO [ppb]"]))
    assert (flight["c_CO_ppm"].values, flight["c_NO__ppb_"].values) == (100.0, 2.0)
    assert intake.sources[0].repairs == ("column 'CO_ppm' is in ppm: converted to ppb",)
    assert json.loads(json.dumps(intake.as_dict(), allow_nan=False))["sources"][0]["rate_hz"] is None  # of one row


def test_sentinels_are_taken_out_before_a_conversion(tmp_path):
    rows = "".join(f"2024-04-10T13:48:{i:02d}Z,{-9999 if i == 7 else 0.1 + 0.01 * i:.2f}\n" for i in range(40))
    (tmp_path / "in.csv").write_text("time,CO (ppm)\n" + rows)
    flight, intake = ingest([tmp_path / "in.csv"], suite=suite(tmp_path, ["CO (ppm)"]))
    assert np.flatnonzero(np.isnan(flight["c_CO__ppm_"].values)).tolist() == [7]
    assert "c_CO__ppm_: 1 sample of -9999 taken as missing (sentinel)" in intake.sources[0].repairs


def test_a_column_in_a_unit_that_needs_a_molar_mass_is_refused(tmp_path):
    (tmp_path / "in.csv").write_text("time,CO (ug/m3)\n2024-04-10T13:48:00Z,200\n")
    with pytest.raises(
        LogError, match=r"in.csv: column 'CO \(ug/m3\)' is in ug m-3, but 'c_CO__ug_m3_' in ppb; correct"
    ):
        ingest([tmp_path / "in.csv"], suite=suite(tmp_path, ["CO (ug/m3)"]))


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("co", "did you mean 'co'? its name does not say ppm: give its column and units in the suite"),
        ("CO [ppb]", "did you mean 'CO [ppb]'? its name has ppb, not ppm: give its column and units in the suite"),
        ("CO_ppm", "did you mean 'CO_ppm'?"),
        ("soot", "did you mean 'no_ppm'?"),
    ],
)
def test_a_column_in_another_unit_is_not_offered_as_if_it_were_the_one(column, hint, tmp_path):
    toml = 'name = "x"\n[[family]]\nname = "gas"\n[[family.channel]]\nname = "co_ppm"\nunits = "ppm"\n'
    (tmp_path / "x.toml").write_text(toml)
    (tmp_path / "in.csv").write_text(f"time,no_ppm,{column}\n2024-04-10T13:48:00Z,1,200\n")
    with pytest.raises(LogError) as refused:
        ingest([tmp_path / "in.csv"], suite=tmp_path / "x.toml")
    assert refused.value.hint == hint


def test_a_channel_named_for_another_unit_is_told(tmp_path):
    toml = 'name = "x"\n[[family]]\nname = "gas"\n[[family.channel]]\nname = "co_ppm"\ncolumn = "co"\nunits = "ppb"\n'
    (tmp_path / "x.toml").write_text(toml)
    (tmp_path / "in.csv").write_text("time,co\n2024-04-10T13:48:00Z,200\n")
    intake = ingest([tmp_path / "in.csv"], suite=tmp_path / "x.toml")[1]
    assert intake.sources[0].repairs == ("channel 'co_ppm', named ppm, is read as ppb, as in the suite",)


def test_what_is_no_table_for_the_suite_says_so(tmp_path):
    (tmp_path / "in.csv").write_bytes(bytes(range(14, 256)) * 9)
    with pytest.raises(LogError, match=r"in\.csv: not a text file"):
        open_flight(tmp_path / "in.csv", suite=suite(tmp_path, ["CO"]))
    (tmp_path / "in.csv").write_text("time,CO\n2024-04-10T13:48:00Z,1\n")
    with pytest.raises(LogError, match="suite 'black-kite' is for instrument logs"):
        open_flight(tmp_path / "in.csv", suite="black-kite")


def test_a_clock_that_was_long_not_set_is_seen_by_the_dates(tmp_path):
    stamps = [f"{'1970-01-01' if s < 10 else '2024-04-10'}T13:48:{s:02d}Z" for s in range(40)]
    with pytest.raises(FlightError, match=r"1970-01-01 13:48:09 to 2024-04-10.*row 11:.*rows whose clock was wrong"):
        there_and_back(tmp_path, stamps)


@pytest.mark.parametrize(
    "first", ["2024-04-10T13:48:00Z,412.5,7", "04/10/24 09:40:56 AM,0,425,21.5", "13:48:00,412,nan", "7,8.5,,-9e3"]
)
def test_a_table_without_column_names_is_recognised(tmp_path, first):
    (tmp_path / "in.csv").write_text(f"{first}\n{first}\n")
    for given in (None, suite(tmp_path, ["co"])):
        with pytest.raises(LogError, match=r"in.csv: there is no line with column names, the first one is data \('"):
            open_flight(tmp_path / "in.csv", suite=given)


@pytest.mark.parametrize("first", ["time,CO", "utc,PM2.5,13:48"])
def test_names_are_not_taken_for_data(tmp_path, first):
    (tmp_path / "in.csv").write_text(f"{first}\n1,2,3\n")
    with pytest.raises(LogError, match=r"in\.csv: there is no time column"):
        open_flight(tmp_path / "in.csv", suite=suite(tmp_path, ["co"], '[time]\ncolumn = "Zeit"'))


def test_a_time_of_day_is_written_back_with_its_date(tmp_path):
    stamps = [f"23:59:{s:02d}" for s in range(58, 60)] + ["00:00:00", "00:00:01"]
    out, _ = there_and_back(tmp_path, stamps, '[time]\ndate = "2024-04-10"\nzone = "-05:00"')
    assert out["time"].tolist() == [f"2024-04-{10 + (n > 1)}T{stamp}-05:00" for n, stamp in enumerate(stamps)]
