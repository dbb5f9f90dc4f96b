"""Screening of an upload in a separate child process that uses only the standard library.

    python -m pc2dae.web.intake.upload_check FOLDER MEMBERS UNPACKED_BYTES RATIO

Prints one line of JSON: null, or status, error and hint. Archives are checked by their directory and by unpacking a
bounded amount; files that pass are read by a worker with resource limits.
"""

from __future__ import annotations

import json
import stat
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

_DIRECTORY = 4_000_000  # bytes of a zip's directory: forty thousand entries
_LOOK = 4_000_000  # bytes of a gzip file that are unpacked to measure its compression ratio
_HARMLESS = 64_000_000  # unpacked bytes that are always allowed
_NO_LOG = {
    b"\x7fELF": "a program", b"MZ": "a program", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture", b"%PDF": "a PDF", b"7z\xbc\xaf": "a 7z archive", b"Rar!": "a RAR archive",
    b"\xfd7zXZ": "an xz archive", b"BZh": "a bzip2 archive", b"<!DOCTYPE": "a web page", b"<html": "a web page",
    b"#!": "a script", b"PK\x05\x06": "an empty zip",
}  # fmt: skip
Refusal = tuple[int, str, str | None] | None


def judge(folder: Path, *, members: int, unpacked: int, ratio: float) -> Refusal:
    """None, or the reason these files are refused; files of unknown kind are left to the readers."""
    useless = []
    files = sorted(folder.iterdir())
    for path in files:
        with path.open("rb") as file:
            head = file.read(16)
        if head[:4] == b"PK\x03\x04" or (
            path.suffix in (".zip", ".xlsx") and head[:2] == b"PK" and head[2:4] != b"\5\6"
        ):
            if (verdict := _zip(path, members=members, unpacked=unpacked, ratio=ratio)) is not None:
                return verdict
        elif head[:2] == b"\x1f\x8b":
            if (verdict := _gzip(path, unpacked=unpacked, ratio=ratio)) is not None:
                return verdict
        elif not head.strip(b"\0 \r\n\t"):
            useless.append("an empty file")
        else:
            useless += [what for magic, what in _NO_LOG.items() if head.startswith(magic)][:1]
    if len(useless) == len(files):
        return 415, f"no log among the files: {', '.join(dict.fromkeys(useless))}", "drop the instruments' files"
    return None


def _zip(path: Path, *, members: int, unpacked: int, ratio: float) -> Refusal:
    size = path.stat().st_size
    if (directory := _directory_bytes(path, size)) > _DIRECTORY:
        return 422, f"the zip's directory has {directory:,} bytes", f"at most {members:,} files"
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError):
        return 422, "the zip is truncated or damaged", "create it again"
    if len(entries) > members:
        return 422, f"the zip holds {len(entries):,} files", f"at most {members:,}"
    for entry in entries:
        name = entry.orig_filename.replace("\\", "/")
        if name.startswith("/") or ".." in name.split("/") or ":" in name or "\0" in name:
            return 422, "the zip contains a path outside itself", "zip the folder again"
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            return 422, "the zip holds a link or a device", "zip the files themselves"
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return 422, "the zip uses an unsupported compression", "use plain zip (deflate)"
        if entry.flag_bits & 1:
            return 422, "the zip is encrypted", "unpack it first"
    total = sum(entry.file_size for entry in entries)
    if total > unpacked or total > max(_HARMLESS, ratio * size):
        return 422, f"the zip unpacks to {total / 1e6:,.0f} MB from {size / 1e6:,.2f} MB", "drop the files themselves"
    return None


def _directory_bytes(path: Path, size: int) -> int:
    """Size of a zip's directory according to its end record, without reading the directory; 2⁴⁰ if invalid."""
    with path.open("rb") as file:
        file.seek(max(size - 66_000, 0))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        return 0  # no directory: the reader reports the damage
    directory = int.from_bytes(tail[at + 12 : at + 16], "little")
    return 1 << 40 if directory == 0xFFFFFFFF else directory


def _gzip(path: Path, *, unpacked: int, ratio: float) -> Refusal:
    unpack, taken, made = zlib.decompressobj(wbits=31), 0, 0
    with path.open("rb") as file:
        while taken < _LOOK and (block := file.read(16_384)):
            taken += len(block)
            while block:
                try:
                    made += len(unpack.decompress(block, 1 << 20))
                except zlib.error:
                    return None  # damaged: reported by the reader
                if made > max(_HARMLESS, ratio * taken) or made > unpacked:
                    return 422, f"{taken / 1e6:,.2f} MB unpack to more than {made / 1e6:,.0f} MB", "drop the log itself"
                block = unpack.unconsumed_tail
    return None


def main(arguments: list[str]) -> None:
    """Check a folder, with resource limits on this process."""
    from pc2dae.web.limits import confine

    confine(cpu_s=5, memory_bytes=500_000_000, file_bytes=0)
    folder, members, unpacked, ratio = arguments
    verdict: Any = judge(Path(folder), members=int(members), unpacked=int(unpacked), ratio=float(ratio))
    sys.stdout.write(json.dumps(verdict))


if __name__ == "__main__":
    main(sys.argv[1:])
