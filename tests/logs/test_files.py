"""Damaged, enormous and linked files."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.errors import LogError
from pc2dae.ingestion import open_flight
from pc2dae.logs import read_logs
from pc2dae.logs.files import MAX_LINE, LogFile, find_files, lines

HEADER = "timestamp,scd30_co2_ppm,scd30_temperature_c,scd30_humidity_pct"
ROWS = [
    f"2024-04-10T13:{48 + i // 60}:{i % 60:02d}Z,{410 + i * 37 % 101},{21 + i * 7 % 13},{40 + i * 3 % 7}"
    for i in range(300)
]
TEXT = "\n".join([HEADER, *ROWS]).encode() + b"\n"
TRUE = {tuple(map(float, row.split(",")[1:])) for row in ROWS}


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def rows_of(path: Path, *, salvage: bool = False) -> list[tuple[float, ...]]:
    (stream,) = read_logs([path], salvage=salvage).streams
    return [tuple(row) for row in np.column_stack([stream.columns[n] for n in ("co2", "temperature", "humidity")])]


def test_an_impossible_place_counts_as_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "time,co\n")

    def nowhere(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(zipfile.ZipFile, "open", nowhere)
    with pytest.raises(LogError, match=r"logs.zip/a.csv: the compressed file is damaged"):
        LogFile(path, "a.csv").head()


def test_a_member_without_a_name_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "time,co\n")
        archive.writestr("b.csv", "time,co\n")
    content = path.read_bytes().replace(b"b.csv", b"\0.csv")  # zipfile cuts a name at its first zero byte
    path.write_bytes(content)
    assert [file.member for file in find_files([path])][-1] == "a.csv"


def test_a_flipped_bit_never_changes_a_number(tmp_path: Path) -> None:
    """A bit of the header may flip without harm (its time and name); one of the data or the checksum is an error."""
    path, data = tmp_path / "scd30.csv.gz", gzip.compress(TEXT)
    whole = [tuple(map(float, row.split(",")[1:])) for row in ROWS]
    refused = 0
    for bit in np.random.default_rng(1).integers(0, 8 * len(data), 60).tolist():
        path.write_bytes(flipped(data, bit))
        try:
            assert rows_of(path) == whole
        except LogError:
            refused += 1
    assert refused >= 57


def test_a_damaged_log_in_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_bytes(TEXT.replace(b"2024", b"2025"))
    (tmp_path / "scd30.csv.gz").write_bytes(gzip.compress(TEXT)[:-200])
    with pytest.raises(
        LogError, match=r"scd30.csv.gz: the compressed file is cut short; copy it again, or .*--salvage"
    ):
        read_logs([tmp_path])


def test_salvage_uses_the_whole_lines_before_a_cut(tmp_path: Path) -> None:
    path, data = tmp_path / "scd30.csv.gz", gzip.compress(TEXT)
    path.write_bytes(data[: len(data) // 2])
    rows = rows_of(path, salvage=True)
    assert 50 < len(rows) < 250
    assert set(rows) <= TRUE
    flight = open_flight(path, salvage=True)
    assert int(flight["scd30_samples"].sum()) == len(rows)
    line = f"before the cut used unverified, {len(rows) + 1:,} whole lines"
    assert line in flight.attrs["history"]
    for words in (["ingest"], ["denoise", "--model", "ma5", "-o", str(tmp_path / "c.nc")]):
        done = CliRunner().invoke(app, [*words, str(path), "--salvage"])
        assert line in " ".join(done.stdout.split())


def test_salvage_after_a_wrong_checksum_says_that_any_value_may_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "scd30.csv.gz"
    path.write_bytes(gzip.compress(TEXT)[:-8] + bytes(8))
    (stream,) = read_logs([path], salvage=True).streams
    assert len(stream.time) == 300
    assert f"{len(TEXT):,} bytes unpacked, any value may be wrong, 301 whole lines" in stream.repairs[0]


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_member_of_a_zip_is_named(tmp_path: Path, packing: int) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("day/scd30.csv", TEXT)
    path.write_bytes(flipped(path.read_bytes(), 8 * 700))
    with pytest.raises(LogError, match=r"logs.zip/day/scd30.csv: the compressed file is damaged"):
        read_logs([path])


def test_a_long_line_is_an_error_before_it_is_put_together(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"a\nb\n" + b"7" * 50_000_000, 1))
    with pytest.raises(LogError, match=r"a.log.gz, line 3: longer than 1,048,576 characters"):
        list(lines(LogFile(path), []))


def test_an_empty_tail_of_a_card_is_no_long_line(tmp_path: Path) -> None:
    path = tmp_path / "scd30.csv"
    path.write_bytes(TEXT + bytes(3 * MAX_LINE))
    (stream,) = read_logs([path]).streams
    assert len(stream.time) == 300
    assert "1 lines with zero bytes (power loss) left out (first: line 302)" in stream.repairs


def test_every_file_is_read_once_whatever_links_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "scd30.csv").write_bytes(TEXT)
    (folder / "a_link.csv").symlink_to("scd30.csv")
    (folder / "loop").symlink_to(folder)
    (folder / "endless").symlink_to("endless")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "scd30.csv").write_bytes(TEXT)
    assert [file.path.name for file in find_files([folder, folder / "scd30.csv"])] == ["scd30.csv", "loop"]
    book = read_logs([folder])
    assert [(stream.source, len(stream.time)) for stream in book.streams] == [("scd30.csv", 300)]
    assert [(one.file, one.reason) for one in book.ignored] == [("loop", "a link to a folder, which is not followed")]
