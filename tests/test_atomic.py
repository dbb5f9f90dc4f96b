"""Files are complete or absent."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pc2dae.atomic import replacing, replacing_folder, write_bytes, write_text


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "a.txt", "µg m-3\r\n")
    write_bytes(tmp_path / "b.bin", b"\0\xff")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "µg m-3\r\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\0\xff"


def test_the_temporary_file_keeps_the_suffix_and_stands_beside_the_target(tmp_path: Path) -> None:
    with replacing(tmp_path / "flight.nc") as temporary:
        assert temporary.suffix == ".nc"
        assert temporary.parent == tmp_path
        assert not (tmp_path / "flight.nc").exists()
        temporary.write_text("x")
    assert [p.name for p in tmp_path.iterdir()] == ["flight.nc"]


def test_an_error_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    code = f"""
import os
from pc2dae.atomic import replacing
with replacing({str(target)!r}) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), {int(signal.SIGKILL)})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert target.read_text() == "old"


def test_the_file_has_the_permissions_of_an_ordinary_one(tmp_path: Path) -> None:
    (tmp_path / "ordinary").write_text("x")
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    write_text(tmp_path / "b.txt", "x")
    assert (tmp_path / "b.txt").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_an_error_names_the_target_and_not_the_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/flight\.nc'$") as caught:
        write_text(tmp_path / "file" / "flight.nc", "x")
    assert caught.value.filename == str(tmp_path / "file" / "flight.nc")


def test_a_file_is_on_disk_before_it_is_published_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[tuple[str, Path]] = []
    sync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        order.append(("sync", Path(os.readlink(f"/proc/self/fd/{handle}"))))
        sync(handle)

    def replaced(self: Path, target: Path) -> Path:
        order.append(("publish", self))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_text(tmp_path / "a.txt", "x")
    temporary = order[0][1]
    assert temporary.parent == tmp_path
    assert order == [("sync", temporary), ("publish", temporary), ("sync", tmp_path)]


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "a.zarr"
    for text in ("old", "new"):
        with replacing_folder(target) as folder:
            (folder / "deep").mkdir(parents=True)
            (folder / "deep" / "x").write_text(text)
    assert (target / "deep" / "x").read_text() == "new"

    def fail() -> None:
        with replacing_folder(target) as folder:
            folder.mkdir()
            (folder / "half").write_text("")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"no space left on the device: '.*a\.zarr'") as caught:
        fail()
    assert caught.value.errno == errno.ENOSPC
    assert (target / "deep" / "x").read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_all_of_a_folder_is_synced_before_it_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, synced = tmp_path / "a.zarr", []

    def sync(handle: int) -> None:
        assert target.exists() == (os.fstat(handle).st_ino == tmp_path.stat().st_ino)
        synced.append(os.fstat(handle).st_ino)

    monkeypatch.setattr(os, "fsync", sync)
    with replacing_folder(target) as folder:
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "x").write_text("x")
    everything = {p.stat().st_ino for p in (target, target / "deep", target / "deep" / "x", tmp_path)}
    assert set(synced) == everything
