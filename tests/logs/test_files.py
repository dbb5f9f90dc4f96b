"""Damage that a fuzzer found."""

import zipfile
from pathlib import Path

import pytest

from pc2dae.errors import LogError
from pc2dae.logs.files import LogFile, find_files


def test_an_impossible_place_counts_as_damage(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "time,co\n")

    def nowhere(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(zipfile.ZipFile, "open", nowhere)
    with pytest.raises(LogError, match=r"logs.zip/a.csv: cannot be unpacked \(cut or damaged\)"):
        LogFile(path, "a.csv").head()


def test_a_member_without_a_name_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "time,co\n")
        archive.writestr("b.csv", "time,co\n")
    content = path.read_bytes().replace(b"b.csv", b"\0.csv")  # zipfile cuts a name at its first zero byte
    path.write_bytes(content)
    assert [file.member for file in find_files([path])][-1] == "a.csv"
