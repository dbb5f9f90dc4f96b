"""Bodies of requests, with limits on size and speed; uploads go to disk as they arrive.

Client file names are displayed, never used as paths.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pc2dae.web.problems import Refused, problem
from pc2dae.web.schemas import Sent
from pc2dae.web.settings import Limits

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

# Extensions that the readers use; any other becomes .dat, and the file is recognised by its content.
_SUFFIXES = (".calibration.json", ".csv.gz", ".csv", ".txt", ".log", ".bin", ".nc", ".ict", ".zip", ".gz", ".json",
             ".xlsx", ".xls", ".tsv", ".toml")  # fmt: skip
_UPLOAD = ("POST", "/api/flights")
_FIELD_BYTES = 1_000
_HEADER_BYTES = 4_000
_PATIENCE_S = 0.8  # a refused body is read for this long: browsers ignore the response while sending


@dataclass
class Upload:
    """A received upload: files under generated names, and the form fields."""

    folder: Path
    fields: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # generated name → client's name
    paths: dict[str, str] = field(default_factory=dict)  # generated name → folder on the client
    files: list[Sent] = field(default_factory=list)
    title: str = ""  # name of the dropped folder or the first log


async def receive_upload(request: Request, folder: Path, limits: Limits) -> Upload:
    """Write the files of a multipart body to `folder`; raises Refused if it is too large, too slow or not a form."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 0 < len(boundary) <= 200:
        raise Refused(415, "an upload must be multipart/form-data", hint="send files as a form does: field 'files'")
    if int(request.headers.get("content-length", "0")) > limits.upload_bytes + 100_000:
        await _read_on(request)
        raise _too_large(limits)
    parts = _Parts(folder, limits)
    parser = MultipartParser(boundary, parts.callbacks())
    try:
        async for chunk in timed(request, limits):
            parser.write(chunk)
        parser.finalize()
        if not parts.is_whole:
            raise Refused(400, "the form is incomplete", hint="send it again")
    except Refused:
        await _read_on(request)
        raise
    except MultipartParseError as error:
        raise Refused(400, f"the form is damaged: {error}") from None
    except OSError as error:
        raise Refused(413, f"write failed: {error.strerror}", hint="delete flights that are no longer needed") from None
    finally:
        parts.close()
    upload = parts.upload
    if not upload.files:
        raise Refused(422, "there is no file in the form", hint="send files in the field 'files'")
    logs = [sent.name for sent in upload.files if not sent.name.endswith(".json")]
    upload.title = upload.title or (logs or [upload.files[0].name])[0]
    return upload


async def timed(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    """Yield the chunks of a body; refuse it if a pause is too long or the average rate too low."""
    started, received = time.monotonic(), 0
    pieces = request.stream()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(pieces), limits.quiet_s)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refused(408, f"nothing received for {limits.quiet_s:g} s", hint="send it again") from None
        except ClientDisconnect:
            raise Refused(400, "the client disconnected") from None
        received += len(chunk)
        taken = time.monotonic() - started - limits.quiet_s
        if taken > 0 and received < limits.least_bytes_s * taken:
            raise Refused(408, f"{received:,} bytes in {taken + limits.quiet_s:.0f} s is too slow")
        yield chunk


class SmallBody:
    """ASGI middleware that reads the body of any other request completely before it calls the application."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse bodies that are too large or arrive too slowly."""
        if scope["type"] != "http" or (scope["method"], scope["path"]) == _UPLOAD or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        body = bytearray()
        try:
            async for chunk in timed(Request(scope, receive), self.limits):
                body += chunk
                if len(body) > self.limits.json_bytes:
                    raise Refused(413, f"more than {self.limits.json_bytes:,} bytes")
        except Refused as error:
            await problem(error.status, Exception.__str__(error), error.hint)(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, replay, send)


async def _read_on(request: Request) -> None:
    with suppress(TimeoutError, ClientDisconnect, RuntimeError):
        async with asyncio.timeout(_PATIENCE_S):
            async for _ in request.stream():
                pass


def _too_large(limits: Limits) -> Refused:
    return Refused(413, f"more than {limits.upload_bytes / 1e6:,.0f} MB", hint="drop fewer files, or zip them")


class _Parts:
    """Callbacks of the multipart parser."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.upload, self.limits = Upload(folder), limits
        self.bytes = self.fields = 0
        self.is_whole = False
        self.stems: dict[str, int] = {}
        self._begin()

    def callbacks(self) -> MultipartCallbacks:
        """The callbacks by the names that the parser expects."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._note(self.key, data[start:end]),
            "on_header_value": lambda data, start, end: self._note(self.value, data[start:end]),
            "on_header_end": self._header,
            "on_headers_finished": self._open,
            "on_part_data": lambda data, start, end: self._data(data[start:end]),
            "on_part_end": self._end,
            "on_end": self._whole,
        }

    def close(self) -> None:
        """Close the current file."""
        if self.file is not None:
            self.file.close()

    def _begin(self) -> None:
        self.key, self.value = bytearray(), bytearray()
        self.headers: dict[bytes, bytes] = {}
        self.file: BinaryIO | None = None
        self.field = ""
        self.text = bytearray()
        self.size = 0
        self.shown = ""

    def _note(self, into: bytearray, piece: bytes) -> None:
        into += piece
        if len(into) > _HEADER_BYTES or len(self.headers) > 20:
            raise Refused(400, "a part's header is too long")

    def _header(self) -> None:
        self.headers[bytes(self.key).lower()] = bytes(self.value)
        self.key.clear()
        self.value.clear()

    def _open(self) -> None:
        _, options = parse_options_header(self.headers.get(b"content-disposition", b""))
        self.field = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" not in options:
            self.fields += 1
            if self.fields > 20:
                raise Refused(413, "more than 20 fields")
            return
        if len(self.upload.files) >= self.limits.upload_files:
            raise Refused(413, f"more than {self.limits.upload_files:,} files", hint="zip them, or drop fewer")
        path = options[b"filename"].decode("utf-8", "replace").replace("\\", "/")
        self.shown = shown_name(path)
        if "/" in path.strip("/") and not self.upload.files:
            self.upload.title = shown_name(path.strip("/").split("/")[0])
        ours = self._our_name(self.shown)
        self.upload.names[ours] = self.shown
        self.upload.paths[ours] = "/".join(map(shown_name, path.strip("/").split("/")[:-1]))
        self.file = (self.upload.folder / ours).open("xb")

    def _our_name(self, shown: str) -> str:
        """A number and a known extension; a calibration sheet shares the number of its log."""
        lower = shown.lower()
        suffix = next((s for s in _SUFFIXES if lower.endswith(s)), ".dat")
        stem = shown[: -len(suffix)] if suffix != ".dat" else shown
        name = f"file-{self.stems.setdefault(stem, len(self.stems)):04d}{suffix}"
        if name in self.upload.names:  # same name twice, or names that differ only in the extension
            self.stems[stem] = len(self.stems) + len(self.upload.files)
            name = f"file-{self.stems[stem]:04d}{suffix}"
        return name if name not in self.upload.names else f"file-{len(self.upload.names) + 10_000}{suffix}"

    def _data(self, piece: bytes) -> None:
        self.bytes += len(piece)
        if self.bytes > self.limits.upload_bytes:
            raise _too_large(self.limits)
        if self.file is not None:
            self.file.write(piece)
            self.size += len(piece)
            return
        self.text += piece
        if len(self.text) > _FIELD_BYTES:
            raise Refused(413, f"the field '{self.field[:40]}' is too long")

    def _end(self) -> None:
        if self.file is not None:
            self.file.close()
            self.upload.files.append(Sent(name=self.shown, bytes=self.size))
            self.file = None
        else:
            self.upload.fields[self.field[:40]] = self.text.decode("utf-8", "replace")

    def _whole(self) -> None:
        self.is_whole = True


def shown_name(path: str) -> str:
    """A client's file name for display: last path component, printable characters only, limited in length."""
    return re.sub(r"[^\w .()+,@=-]", "_", path.rpartition("/")[2])[-100:].strip(" .") or "file"
