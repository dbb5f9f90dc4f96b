"""Files as they lie on disk: plain, gzipped or inside a zip, opened as bytes and cut into lines of text."""

from __future__ import annotations

import codecs
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pc2dae.errors import LogError

BLOCK = 1 << 20  # bytes read at a time: memory stays bounded however long the file
HEAD = 1 << 16  # bytes a reader may look at to recognise its file
_BROKEN = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True)
class LogFile:
    """One file, or one member of a zip."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """What people see in tables and errors."""
        return self.path.name if self.member is None else f"{self.path.name}/{self.member}"

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes, unpacked."""
        with ExitStack() as stack:
            if self.member is not None:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                try:
                    member = archive.open(self.member)
                except OSError as error:  # a damaged offset asks for a place that no file has
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
        except _BROKEN:
            head = _rescue(self, HEAD)
            if not head:
                raise self._broken() from None
            return head

    def _broken(self) -> LogError:
        return LogError(f"{self.name}: cannot be unpacked (cut or damaged)", hint="copy the file again")


def blocks(file: LogFile, repairs: list[str]) -> Iterator[bytes]:
    """The bytes in pieces; where a compressed file breaks off, what came before is given and the break is listed."""
    given = 0
    try:
        with file.open() as handle:
            while block := handle.read(BLOCK):
                given += len(block)
                yield block
    except _BROKEN:
        block = _rescue(file, given + BLOCK)[given:]
        if given == 0 and not block:
            raise file._broken() from None
        repairs.append("the compressed file is cut or damaged: only what could be unpacked is used")
        if block:
            yield block


def _rescue(file: LogFile, most: int) -> bytes:
    """What a damaged file gives when read in small bites, at most so many bytes."""
    kept = bytearray()
    with suppress(*_BROKEN), file.open() as handle:
        while len(kept) < most and (bite := handle.read1(64) if hasattr(handle, "read1") else handle.read(64)):
            kept += bite
    return bytes(kept[:most])


def encoding_of(head: bytes) -> str:
    """The text encoding, from the byte order mark or the place of the zero bytes, else UTF-8."""
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
    texts: list[str]
    is_cut: bool = False  # the last line of the file, without a line end


def lines(file: LogFile, repairs: list[str]) -> Iterator[Lines]:
    """The file's lines in pieces, whatever encoding and line ends; what is not UTF-8 is read as Latin-1 and listed."""
    decoder: codecs.IncrementalDecoder | None = None
    number, rest = 1, ""
    for block in blocks(file, repairs):
        if decoder is None:
            encoding = encoding_of(block[:HEAD])
            if encoding.startswith("utf-16"):
                repairs.append("the text is UTF-16")
            elif not _is_utf8(block):
                repairs.append("the text is not UTF-8: read as Latin-1")
            errors = "latin-1-rescue" if encoding.startswith("utf-8") else "replace"
            decoder = codecs.getincrementaldecoder(encoding)(errors=errors)
        text = rest + decoder.decode(block)
        held = "\r" if text.endswith("\r") else ""  # its line feed may come with the next block
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        *texts, rest = text.split("\n")
        rest += held
        if texts:
            yield Lines(number, texts)
            number += len(texts)
    if decoder is not None:
        rest += decoder.decode(b"", final=True)
    if rest.rstrip("\r"):
        yield Lines(number, [rest.rstrip("\r")], is_cut=not rest.endswith("\r"))


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(block) - 3  # a letter cut by our own reading
    return True


def _rescue_latin1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("latin-1-rescue", _rescue_latin1)


def head_lines(file: LogFile, count: int = 200) -> list[str]:
    """The first lines as text, for recognising; a binary file gives none."""
    head = file.head()
    encoding = encoding_of(head)
    text = head.decode(encoding, errors="latin-1-rescue" if encoding.startswith("utf-8") else "replace")
    found = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(head) == HEAD:
        found = found[:-1]  # the last one may be cut by our own reading
    return found[:count]


def find_files(paths: list[Path]) -> list[LogFile]:
    """All files under `paths` in the order of their names, zips opened up; hidden files are left out."""
    found: list[LogFile] = []
    for path in paths:
        if not path.exists():
            raise LogError(f"there is no file or folder '{path}'", hint="check the path")
        inside = (
            sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
            if path.is_dir()
            else [path]
        )
        for one in inside:
            found += _members(one)
    return found


def _members(path: Path) -> list[LogFile]:
    try:
        with path.open("rb") as handle:
            is_zip = handle.read(4) == b"PK\x03\x04"
        if not is_zip:
            return [LogFile(path)]
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist() if not info.filename.endswith("/")]
            locked = [info.filename for info in archive.infolist() if info.flag_bits & 1]
    except _BROKEN:
        raise LogError(f"{path.name}: the zip is cut or damaged", hint="copy the file again") from None
    except OSError as error:
        raise LogError(f"{path.name}: cannot be opened ({error.strerror})") from None
    if locked:
        raise LogError(f"{path.name}: '{locked[0]}' is encrypted", hint="unpack it first")
    if "[Content_Types].xml" in names:  # an Office workbook is a zip too
        return [LogFile(path)]
    return [LogFile(path, name) for name in sorted(names) if not name.rpartition("/")[2].startswith((".", "__MACOSX"))]
