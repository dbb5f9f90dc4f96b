from __future__ import annotations

import gzip
import struct
import zipfile

import numpy as np
import pytest
from samples import COUNT, START, all_samples, streams, texts

from pc2dae.errors import LogError
from pc2dae.logs import ardupilot, declared, read_logs
from pc2dae.logs.infer_suite import declared_suite, suite_for

ZONE = "UTC"


@pytest.mark.parametrize("name", streams())
def test_what_a_writer_wrote_its_reader_reads(name, tmp_path):
    write, written = streams()[name]
    write(tmp_path / "any-name.dat", written)
    (found,) = read_logs([tmp_path / "any-name.dat"]).streams
    assert found.instrument == name
    assert found.unit == written.unit
    assert found.rows_read == len(found.time) == COUNT
    cut = np.timedelta64(1, "s") if name == "ma200" else np.timedelta64(1, "ms")  # the MA200 writes whole seconds
    assert np.all((written.time - found.time < cut) & (found.time <= written.time))
    for column, values in written.columns.items():
        digits = {"ground_speed": 1e-6, "ekf_speed": 1e-6, "altitude": 0.01, "gps_speed": 0.01}.get(column, 0.011)
        np.testing.assert_allclose(found.columns[column], values, atol=digits, err_msg=column)


def test_a_board_comes_with_its_sheet(tmp_path):
    write, written = streams()["afe"]
    write(tmp_path / "afe.csv", written)
    (found,) = read_logs([tmp_path]).streams
    assert found.calibration == written.calibration
    assert (tmp_path / "afe.calibration.json").exists()


def test_pymavlink_reads_our_dataflash(tmp_path):
    from pymavlink import mavutil

    write, written = streams()["ardupilot"]
    write(tmp_path / "log.bin", written)
    log = mavutil.mavlink_connection(str(tmp_path / "log.bin"))
    counts = {"GPS": 0, "BARO": 0, "XKF1": 0}
    first = None
    while (message := log.recv_match(type=list(counts))) is not None:
        counts[message.get_type()] += 1
        if message.get_type() == "GPS" and first is None:
            first = message
    assert counts == dict.fromkeys(counts, COUNT)
    assert first.Lat == pytest.approx(written.columns["latitude"][0], abs=1e-7)
    assert first._timestamp == pytest.approx(START.astype(np.int64) / 1e9, abs=1e-3)
    log.close()


def test_the_wind_an_autopilot_estimates(tmp_path):
    write, written = streams()["ardupilot"]
    write(tmp_path / "log.bin", written)
    kind, letters = 140, "QBccccchhhhhhfff"
    record = struct.Struct("<2sB" + "".join(ardupilot.STRUCT[letter] for letter in letters))
    labels = b"TimeUS,C,AX,AY,AZ,VWN,VWE,MN,ME,MD,MX,MY,MZ,IDX,IDY,IS"
    more = ardupilot.HEAD + struct.pack(
        "<BBB4s16s64s", ardupilot.FMT, kind, record.size, b"XKF2", letters.encode(), labels
    )
    for i in range(COUNT):  # towards south-east, estimated from the fifth second on
        north, east = (-150, 200) if i >= 5 else (0, 0)
        more += record.pack(ardupilot.HEAD, kind, 60_000_000 + i * 1_000_000, 0, 0, 0, 0, north, east, *[0] * 9)
    (tmp_path / "log.bin").write_bytes((tmp_path / "log.bin").read_bytes() + more)
    (found,) = read_logs([tmp_path / "log.bin"]).streams
    assert np.flatnonzero(np.isnan(found.columns["eastward_wind"])).tolist() == [0, 1, 2, 3, 4]
    assert found.columns["eastward_wind"][-1] == pytest.approx(2.0)
    assert found.columns["northward_wind"][-1] == pytest.approx(-1.5)


CASES = {  # name → instrument, first stamp, a column with a value: (row, value)
    "ae51": ("ae51", "2024-04-19T14:15:30", "bc", 1, 1537.0),
    "licor": ("licor", "2024-04-19T14:15:30", "co2", 2, 432.0),
    "li840a": ("li840a", "2024-04-19T14:15:30", "cell_pressure", 0, 912.6),
    "li7810": ("li7810", "2024-04-19T14:15:30", "co2", 1, 430.5),
    "quantaq": ("quantaq", "2024-04-19T14:17:30", "pm1", 1, 2.5),
    "stap": ("stap", "2022-09-29T09:57:57", "absorption_450", 1, -1.1),
    "flight_computer": ("flight_computer", "2022-09-29T09:59:12", "co2", 1, 430.5),
    "greenbox": ("greenbox", "2024-04-19T14:15:30", "latitude", 0, 39 + 6.22 / 60),
    "greenbox_bare": ("greenbox", "2024-04-19T14:15:30", "longitude", 0, -(96 + 36.32 / 60)),
    "icartt": ("icartt", "2024-04-19T14:15:30", "CO_ppb", 1, 121.0),
    "goamazon": ("goamazon", "2024-04-19T14:15:30", "co", 1, 181.0),
}


@pytest.mark.parametrize("name", CASES)
def test_formats_that_are_only_read(name, tmp_path):
    instrument, first, column, row, value = CASES[name]
    (tmp_path / "file").write_bytes(texts()[name])
    (found,) = read_logs([tmp_path / "file"], zone=ZONE).streams
    assert found.instrument == instrument
    assert found.time[0] == np.datetime64(first)
    assert len(found.time) == COUNT
    assert found.columns[column][row] == pytest.approx(value)


def test_missing_words_sentinels_and_wrapped_values_are_missing(tmp_path):
    made = texts()
    for name, column, row in (
        ("stap", "absorption_450", 0),
        ("icartt", "CO_ppb", 5),
        ("li7810", "ch4", 3),
        ("greenbox", "co2", 9),
        ("goamazon", "nox", 7),
    ):
        (tmp_path / name).write_bytes(made[name])
        (found,) = read_logs([tmp_path / name], zone=ZONE).streams
        assert np.isnan(found.columns[column][row])
        assert np.isfinite(found.columns[column][row + 1])


def test_rows_before_gps_lock_go_by_the_own_clock(tmp_path):
    (tmp_path / "file").write_bytes(texts()["greenbox"])
    (found,) = read_logs([tmp_path / "file"]).streams
    assert np.all(np.diff(found.time) == np.timedelta64(1, "s"))
    assert any("4 rows without GPS time" in repair for repair in found.repairs)


def test_a_bare_greenbox_log_may_start_before_the_first_fix_and_shorten_the_year(tmp_path):
    """As the payload's own card has it: a start message, rows without position, GPS stamps month/day/year."""
    rows = texts()["greenbox_bare"].decode().replace("2024-04-19", "04/19/24").splitlines()
    lost = rows[0].replace("NA,", "00/00/0 00:00:00,").replace('"39 6.22N","96 36.32W"', "0 0.00 ,0 0.00 ")
    (tmp_path / "file.txt").write_text("\n".join([" ", "Data collection start...", lost, *rows[1:]]) + "\n")
    (found,) = read_logs([tmp_path / "file.txt"]).streams
    assert found.instrument == "greenbox"
    assert len(found.time) == len(rows)
    assert found.time[0] == np.datetime64("2024-04-19T14:15:30")
    assert found.columns["longitude"][1] == pytest.approx(-(96 + 36.32 / 60))


@pytest.mark.parametrize("name", ["ae51", "licor", "li840a"])
def test_local_stamps_are_refused_without_a_zone_even_in_a_folder(name, tmp_path):
    (tmp_path / "file.csv").write_bytes(texts()[name])
    with pytest.raises(LogError, match="no time zone"):
        read_logs([tmp_path])
    (found,) = read_logs([tmp_path], zone="+05:30").streams
    assert found.time[0] == np.datetime64("2024-04-19T08:45:30")


def test_a_folder_may_mix_them_and_compress_them(tmp_path):
    made = all_samples(tmp_path / "scratch")
    folder = tmp_path / "mixed"
    (folder / "deep").mkdir(parents=True)
    (folder / "bme.csv.gz").write_bytes(gzip.compress(made["bme280"]))
    with zipfile.ZipFile(folder / "deep" / "more.zip", "w") as archive:
        archive.writestr("a/scd.csv", made["scd30"])
        archive.writestr("b.bin", made["ardupilot"])
    (folder / "README.md").write_text("# flight of April\n")
    book = read_logs([folder])
    assert {s.instrument for s in book.streams} == {"bme280", "scd30", "ardupilot"}
    assert [i.file for i in book.ignored] == ["README.md"]


def test_two_instruments_of_a_kind_are_told_apart_and_parts_are_joined(tmp_path):
    made = texts()
    first = made["li840a"]
    (tmp_path / "a.txt").write_bytes(first)
    (tmp_path / "b.txt").write_bytes(first.replace(b"51.73", b"51.20"))
    (tmp_path / "later.txt").write_bytes(first.replace(b"\t14:", b"\t15:"))
    found = read_logs([tmp_path], zone=ZONE).streams
    assert [(s.key, len(s.time)) for s in found] == [("li840a/1", 2 * COUNT), ("li840a/2", COUNT)]
    suite = declared_suite(found)
    assert suite.names == ("co2_1", "co2_2")
    assert suite.duplicates() == (("co2_1", "co2_2"),)


def test_records_far_apart_are_not_one_flight(tmp_path):
    made = texts()
    (tmp_path / "a.txt").write_bytes(made["stap"])
    (tmp_path / "b.txt").write_bytes(made["quantaq"])
    book = read_logs([tmp_path])
    assert len(book.streams) == 1
    assert "ingest it by itself" in book.ignored[0].reason


def test_every_reader_declares_channels_its_streams_have(tmp_path):
    for name, content in texts().items():
        (tmp_path / name).write_bytes(content)
        (found,) = read_logs([tmp_path / name], zone=ZONE).streams
        told = declared(found)
        assert told.channels
        assert all(
            (c.column or c.name) in found.columns for _, c in told.channels if name not in ("quantaq", "goamazon")
        )
        assert suite_for([found]).names


def test_black_kite_is_recognised_by_its_boards(tmp_path):
    all_samples(tmp_path)
    assert suite_for(read_logs([tmp_path], zone=ZONE).streams).name == "black-kite"


def test_a_broken_sheet_is_refused(tmp_path):
    write, written = streams()["afe"]
    write(tmp_path / "afe.csv", written)
    (tmp_path / "afe.calibration.json").write_text(
        '{"sensors": [{"sensor_type": "CO-A4", "we_sensitivity_mv_ppb": "much"}]}'
    )
    with pytest.raises(LogError, match="we_sensitivity_mv_ppb"):
        read_logs([tmp_path])


def test_rows_before_the_header_are_left_out_and_listed(tmp_path):
    """As a file whose lines were sorted has it; a preamble of another shape is none of them."""
    lines = texts()["licor"].decode().splitlines(keepends=True)
    (tmp_path / "sorted").write_text("".join([lines[0], *lines[2:5], lines[1], *lines[5:]]))
    (found,) = read_logs([tmp_path / "sorted"], zone=ZONE).streams
    assert len(found.time) == len(lines) - 5
    assert found.repairs == ("3 rows before the line with the column names left out",)
    for name, content in all_samples(tmp_path / "made").items():
        (tmp_path / "intact").write_bytes(content)
        assert not [
            r for f in read_logs([tmp_path / "intact"], zone=ZONE).streams for r in f.repairs if "before the" in r
        ], name
