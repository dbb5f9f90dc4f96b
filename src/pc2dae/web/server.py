"""The running server: uvicorn around the application, ended without waiting for those who only listen."""

from __future__ import annotations

import socket
from types import FrameType

import uvicorn

from pc2dae.errors import Pc2daeError
from pc2dae.web.app import create_app
from pc2dae.web.settings import Settings


class Server(uvicorn.Server):
    """Serves one ground station until it is told to stop."""

    def __init__(self, settings: Settings) -> None:
        config = uvicorn.Config(
            create_app(settings), host=settings.host, port=settings.port, log_level="warning", server_header=False,
            access_log=False, timeout_keep_alive=20, timeout_graceful_shutdown=1, proxy_headers=False, ws="none",
            h11_max_incomplete_event_size=32_768, loop="asyncio",
        )  # fmt: skip
        super().__init__(config)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl-C once is enough, even while pages listen to events."""
        self.force_exit = False
        self.should_exit = True


def open_socket(settings: Settings) -> socket.socket:
    """The address taken, so that it can be told before the server runs; port 0 takes any."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        said = f"{settings.host}:{settings.port} cannot be used ({error.strerror})"
        raise Pc2daeError(said, hint="choose another --port") from None
    return listener


def serve(settings: Settings, listener: socket.socket) -> None:
    """Run until Ctrl-C or SIGTERM."""
    Server(settings).run(sockets=[listener])
