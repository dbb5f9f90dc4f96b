"""The running server: uvicorn around the application, stopped without waiting for event streams."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pc2dae.errors import Pc2daeError
from pc2dae.web.app import create_app
from pc2dae.web.settings import Settings


class Prompt(H11Protocol):
    """A connection that is closed if a request head does not arrive completely within a time limit."""

    head_s = 10.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request head."""
        super().connection_made(transport)
        self.due = self.loop.call_later(self.head_s, self._close_if_late)

    def data_received(self, data: bytes) -> None:
        """Pass data on; start the timeout if a request head is incomplete."""
        super().data_received(data)
        if self._is_head_incomplete and self.due.when() < self.loop.time():
            self.due = self.loop.call_later(self.head_s, self._close_if_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self.due.cancel()
        super().connection_lost(exc)

    @property
    def _is_head_incomplete(self) -> bool:
        """Whether a request head has been received only in part."""
        return (self.cycle is None or self.cycle.response_complete) and bool(self.conn.trailing_data[0])

    def _close_if_late(self) -> None:
        if self._is_head_incomplete or self.cycle is None:
            self.transport.close()


class Server(uvicorn.Server):
    """Serves one ground station until stopped."""

    def __init__(self, settings: Settings) -> None:
        self.app = create_app(settings)
        prompt = type("Prompt", (Prompt,), {"head_s": settings.limits.quiet_s})
        config = uvicorn.Config(
            self.app, http=prompt, host=settings.host, port=settings.port, log_level="warning",
            server_header=False, access_log=False, timeout_keep_alive=20, timeout_graceful_shutdown=1,
            proxy_headers=False, ws="none",
            h11_max_incomplete_event_size=32_768, loop="asyncio",
        )  # fmt: skip
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close event streams, then stop."""
        self.app.station.close_streams()
        await super().shutdown(sockets)


def open_socket(settings: Settings) -> socket.socket:
    """The listening socket, so that its address is known before the server runs; port 0 means any free port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        message = f"{settings.host}:{settings.port} cannot be used ({error.strerror})"
        raise Pc2daeError(message, hint="choose another --port") from None
    return listener


def serve(settings: Settings, listener: socket.socket) -> None:
    """Run until Ctrl-C or SIGTERM."""
    Server(settings).run(sockets=[listener])
