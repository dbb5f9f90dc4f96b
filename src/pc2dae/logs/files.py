"""Plain, gzipped and zipped files, opened as bytes and split into lines of text."""

from __future__ import annotations

import codecs
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn, cast

from pc2dae.errors import LogError
from pc2dae.logs.stamps import NeedsChoice

BLOCK = 1 << 20  # bytes read at a time, which bounds memory for files of any length
MAX_LINE = 1 << 20  # characters: no log has longer lines, and joining their pieces takes quadratic time
HEAD = 1 << 16  # bytes available to a reader for recognising its file
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError,
           RuntimeError)  # fmt: skip


@dataclass(frozen=True)
class LogFile:
    """One file, or one member of a zip."""

    path: Path
    member: str | None = None
    salvage: bool = False  # use what can be unpacked from a damaged compressed file

    @property
    def name(self) -> str:
        """The name shown in tables and errors."""
        return self.path.name if self.member is None else f"{self.path.name}/{self.member}"

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the uncompressed bytes."""
        with ExitStack() as stack:
            if self.member is not None:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                try:
                    member = archive.open(self.member)
                except OSError as error:  # a damaged offset points outside the file
                    raise zipfile.BadZipFile(str(error)) from None
                yield stack.enter_context(member)
                return
            raw = stack.enter_context(self.path.open("rb"))
            is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
            yield cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=raw))) if is_packed else raw

    def head(self) -> bytes:
        """The first bytes, as far as they can be unpacked."""
        try:
            with self.open() as handle:
                return handle.read(HEAD)
        except _BROKEN as error:
            return _remainder(self, 0, HEAD) or self._refuse(error)

    def _refuse(self, error: BaseException) -> NoReturn:
        """Raise the error for a damaged file; if nothing can be salvaged, other files of a folder are still read."""
        what = "cut short" if isinstance(error, EOFError) else "damaged (checksum or contents are wrong)"
        if self.salvage:
            raise LogError(f"{self.name}: the compressed file is {what} and no part of it can be used")
        raise NeedsChoice(f"{self.name}: the compressed file is {what}",
                          hint="copy it again, or use what can be unpacked with `pc2dae ingest --salvage`")  # fmt: skip


def blocks(file: LogFile, damage: list[str]) -> Iterator[bytes]:
    """The bytes in blocks; a damaged compressed file is an error or, with `salvage`, adds a line to `damage`.

    Salvaged data are not verified by a checksum: they are exact if the file is truncated, but may be wrong if damaged.
    """
    given = 0
    try:
        with file.open() as handle:
            while block := handle.read(BLOCK):
                given += len(block)
                yield block
    except _BROKEN as error:
        block = _remainder(file, given, BLOCK) if file.salvage else b""
        given += len(block)
        if not file.salvage or not given:
            file._refuse(error)
        if isinstance(error, EOFError):
            damage.append(f"the compressed file is cut short: {given:,} bytes before the cut used unverified")
        else:
            damage.append(f"the compressed file is damaged: {given:,} bytes unpacked, any value may be wrong")
        if block:
            yield block


def _remainder(file: LogFile, start: int, most: int) -> bytes:
    """Bytes that can be read from a damaged file in small steps, from byte `start` on, up to a limit."""
    kept = bytearray()
    with suppress(*_BROKEN), file.open() as handle:
        handle.seek(start)
        while len(kept) < most and (bite := handle.read1(64) if hasattr(handle, "read1") else handle.read(64)):
            kept += bite
    return bytes(kept[:most])


def encoding_of(head: bytes) -> str:
    """The text encoding, from the byte order mark or the position of zero bytes, else UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    sample = head[:4096]
    if (
        len(sample) >= 4
        and sample[1::2].count(0) > 0.8 * len(sample[1::2])
        and sample[::2].count(0) < 0.1 * len(sample)
    ):
        return "utf-16-le"
    return "utf-8"


@dataclass(frozen=True)
class Lines:
    """Some consecutive lines of a text file."""

    first: int  # number of the first line, from 1
    text: str  # the lines, with a line feed between them
    is_cut: bool = False  # the last line of the file, without a line end

    @property
    def texts(self) -> list[str]:
        """The lines one by one."""
        return self.text.split("\n")


def lines(file: LogFile, repairs: list[str]) -> Iterator[Lines]:
    """The file's lines in pieces, for any encoding and line ends; invalid UTF-8 is read as Latin-1 and reported."""
    decoder: codecs.IncrementalDecoder | None = None
    number, rest = 1, ""
    damage: list[str] = []
    for block in blocks(file, damage):
        if decoder is None:
            encoding = encoding_of(block[:HEAD])
            if encoding.startswith("utf-16"):
                repairs.append("the text is UTF-16")
            elif not _is_utf8(block):
                repairs.append("the text is not UTF-8: read as Latin-1")
            errors = "latin-1-rescue" if encoding.startswith("utf-8") else "replace"
            decoder = codecs.getincrementaldecoder(encoding)(errors=errors)
        text = rest + decoder.decode(block)
        if "\0\0" in text:
            text = re.sub("\0+", "\0", text)  # the zero-filled end of a memory card may exceed the line limit
        held = "\r" if text.endswith("\r") else ""  # its line feed may be in the next block
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        whole, line_end, rest = text.rpartition("\n")
        rest += held
        count = whole.count("\n") + len(line_end)
        for at, length in ((number, len(whole.partition("\n")[0])), (number + count, len(rest))):
            if length > MAX_LINE:  # only the first and the last line can be that long
                raise LogError(f"{file.name}, line {at:,}: longer than {MAX_LINE:,} characters",
                               hint="is this the log of an instrument?")  # fmt: skip
        if count:
            yield Lines(number, whole)
            number += count
    if damage:  # the last line is truncated by the damage
        repairs.append(f"{damage[0]}, {number - 1:,} whole lines")
        return
    if decoder is not None:
        rest += decoder.decode(b"", final=True)
    if rest.rstrip("\r"):
        yield Lines(number, rest.rstrip("\r"), is_cut=not rest.endswith("\r"))


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(block) - 3  # a character split at the block boundary
    return True


def _rescue_latin1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("latin-1-rescue", _rescue_latin1)


def head_lines(file: LogFile, count: int = 200) -> list[str]:
    """The first lines as text, for recognition; none for a binary file."""
    head = file.head()
    encoding = encoding_of(head)
    text = head.decode(encoding, errors="latin-1-rescue" if encoding.startswith("utf-8") else "replace")
    found = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(head) == HEAD:
        found = found[:-1]  # the last one may be cut at the block boundary
    return found[:count]


def find_files(paths: list[Path], *, salvage: bool = False) -> list[LogFile]:
    """All files under `paths` sorted by name, each once, including zip members; hidden files are skipped."""
    found: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise LogError(f"there is no file or folder '{path}'", hint="check the path")
        for one in _inside(path) if path.is_dir() and not is_store(path) else [path]:
            found.setdefault(os.path.realpath(one), one)
    return [file for path in found.values() for file in _members(path, salvage)]


def is_store(folder: Path) -> bool:
    """Whether a folder is a Zarr store."""
    return (folder / "zarr.json").is_file() or (folder / ".zgroup").is_file()


def _inside(folder: Path) -> list[Path]:
    """The files of a folder, links last; a Zarr store or a link to a folder counts as one file."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        below = [Path(place, name) for name in folders if not name.startswith(".")]
        whole = [path for path in below if path.is_symlink() or is_store(path)]
        folders[:] = [path.name for path in below if path not in whole]
        files = [Path(place, name) for name in names if not name.startswith(".")]
        found += [*(path for path in files if path.is_file()), *whole]
    return sorted(found, key=lambda path: (path.is_symlink(), path))


def _members(path: Path, salvage: bool) -> list[LogFile]:
    if path.is_dir():
        return [LogFile(path)]
    try:
        with path.open("rb") as handle:
            is_zip = handle.read(4) == b"PK\x03\x04"
        if not is_zip:
            return [LogFile(path, salvage=salvage)]
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist() if not info.filename.endswith("/")]
            locked = [info.filename for info in archive.infolist() if info.flag_bits & 1]
    except _BROKEN:
        raise LogError(f"{path.name}: the zip is truncated or damaged", hint="copy the file again") from None
    except OSError as error:
        raise LogError(f"{path.name}: cannot be opened ({error.strerror})") from None
    if locked:
        raise LogError(f"{path.name}: '{locked[0]}' is encrypted", hint="unpack it first")
    if "[Content_Types].xml" in names:  # an Office workbook is a zip too
        return [LogFile(path)]
    wanted = [name for name in sorted(names) if not name.rpartition("/")[2].startswith((".", "__MACOSX"))]
    return [LogFile(path, name, salvage) for name in wanted]
