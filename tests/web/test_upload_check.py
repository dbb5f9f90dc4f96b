from __future__ import annotations

import gzip
import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pc2dae.web.intake.upload_check import Refusal, judge


def zipped(**members: bytes | str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def linked() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("passwords.csv")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return out.getvalue()


def crowded(count: int) -> bytes:
    """A zip of empty files, written by hand: the library would take minutes for a million."""
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"a"
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * count
    shown = min(count, 0xFFFF)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, shown, shown, len(directory), len(local), 0)
    return local + directory + end


def cheated(data: bytes) -> bytes:
    """The same zip whose last record says that its directory is small."""
    at = data.rfind(b"PK\5\6")
    return data[: at + 12] + struct.pack("<I", 46) + data[at + 16 :]


def zip_bomb() -> bytes:
    return zipped(bomb=bytes(70_000_000))


def gzip_bomb() -> bytes:
    return gzip.compress(bytes(80_000_000), 1, mtime=0)


def verdict(tmp_path: Path, name: str, data: bytes) -> Refusal:
    (tmp_path / name).write_bytes(data)
    return judge(tmp_path, members=50, unpacked=10**9, ratio=200)


@pytest.mark.parametrize(("name", "data", "said"), [
    ("a.zip", zipped(**{"..__..__etc__passwd": b"x"}), "a path outside itself"),
    ("a.zip", zipped(__etc__passwd=b"x"), "a path outside itself"),
    ("a.zip", zipped(**{"C:\\windows.csv": b"x"}), "a path outside itself"),
    ("a.zip", zipped(**{"..\\..\\x.csv": b"x"}), "a path outside itself"),
    ("a.zip", linked(), "a link or a device"),
    ("a.zip", zip_bomb, "unpacks to 70 MB from 0.07 MB"),
    ("a.zip", lambda: crowded(1_000_000), "directory has 47,000,000 bytes"),
    ("a.zip", crowded(60), "holds 60 files"),
    ("a.zip", lambda: cheated(crowded(1_000_000)), "truncated or damaged"),
    ("a.zip", zipped(a=b"x" * 50)[:-5], "truncated or damaged"),
    ("a.zip", b"PK\3\4" + b"\xff" * 2000, "truncated or damaged"),
    ("a.csv", linked(), "a link or a device"),
    ("a.gz", gzip_bomb, "unpack to more than"),
    ("a.csv", b"\x7fELF" + bytes(100), "a program"),
    ("a.nc", b"%PDF-1.7", "a PDF"),
    ("a.csv", b"", "an empty file"),
    ("a.csv", b"\0" * 1000, "an empty file"),
    ("a.png", b"\x89PNG\r\n", "a picture"),
    ("a.zip", b"PK\5\6" + bytes(18), "an empty zip"),
])  # fmt: skip
def test_what_is_hostile_or_useless_is_refused(
    tmp_path: Path, name: str, data: bytes | Callable[[], bytes], said: str
) -> None:
    found = verdict(tmp_path, name, data() if callable(data) else data)  # large ones are not made by every worker
    assert found is not None
    assert found[0] in (415, 422)
    assert said in found[1]


@pytest.mark.parametrize(("name", "data"), [
    ("a.csv", b"time,co\n1,2\n"),
    ("a.zip", zipped(day__a_log=b"time,co\n" * 1000, b=b"x")),
    ("a.gz", gzip.compress(b"time,co\n1,2\n" * 100_000, mtime=0)),
    ("a.gz", gzip.compress(b"time,co\n1,2\n" * 1000, mtime=0)[:-20]),
    ("a.nc", b"\x89HDF\r\n\x1a\n" + bytes(100)),
    ("a.bin", bytes([0xA3, 0x95, 0x80, 0x80])),
])  # fmt: skip
def test_what_could_be_a_log_is_let_in(tmp_path: Path, name: str, data: bytes) -> None:
    assert verdict(tmp_path, name, data) is None


def test_a_picture_beside_logs_is_left_to_the_readers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"time,co\n")
    assert verdict(tmp_path, "b.png", b"\x89PNG\r\n") is None
