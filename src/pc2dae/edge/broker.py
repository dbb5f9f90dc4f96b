"""Connections to an MQTT broker: version 5, TLS, user and password, persistent sessions."""

from __future__ import annotations

import logging
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from pc2dae.errors import Pc2daeError

SESSION_S = 7 * 86400  # how long the broker keeps messages for a disconnected client
_RECEIVE = 500  # messages in flight: sent by the broker, but not yet on disk

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Broker:
    """Address and credentials of a broker."""

    host: str
    port: int = 1883
    user: str | None = None
    password: str | None = None
    tls: bool = False
    ca: Path | None = None  # default: the system's

    @classmethod
    def parse(cls, text: str, **more: object) -> Broker:
        """From HOST or HOST:PORT; the port is 8883 with TLS, 1883 without."""
        host, _, port = text.rpartition(":") if ":" in text else (text, "", "")
        try:
            number = int(port) if port else (8883 if more.get("tls") or more.get("ca") else 1883)
            if not host or not 0 < number < 65536:
                raise ValueError
        except ValueError:
            raise Pc2daeError(
                f"invalid broker address '{text}'", hint="expected HOST:PORT, as localhost:1883"
            ) from None
        return cls(host, number, **more)  # type: ignore[arg-type]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self.host, self.port

    def client(self, name: str, *, is_lasting: bool = False, manual_ack: bool = False) -> mqtt.Client:
        """A client that is not connected yet; `is_lasting`: the broker keeps its session while it is disconnected."""
        client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=mqtt.MQTTv5, manual_ack=manual_ack)
        client.reconnect_delay_set(1, 10)
        client.max_inflight_messages_set(_RECEIVE)
        if self.user is not None:
            if not (self.tls or self.ca) and self.host not in ("localhost", "127.0.0.1", "::1"):
                _log.warning("user and password are sent to %s unencrypted; add --tls or --ca", self.host)
            client.username_pw_set(self.user, self.password)
        if (context := self._tls_context()) is not None:
            client.tls_set_context(context)
        client.user_data_set(is_lasting)
        client.on_socket_open = _without_delay
        return client

    def problem(self, timeout_s: float) -> str | None:
        """Why the broker's port cannot be reached, in one line; None if it can, whatever it then answers."""
        where, context = f"{self.host}:{self.port}", self._tls_context()
        try:
            with socket.create_connection(self.address, timeout_s) as line:
                if context is not None:
                    context.wrap_socket(line, server_hostname=self.host).close()
        except socket.gaierror:
            return f"unknown host '{self.host}'"
        except ConnectionRefusedError:
            return f"no broker on {where}: connection refused"
        except TimeoutError:
            return f"{where} does not respond"
        except ssl.SSLCertVerificationError as error:
            return f"the certificate of {where} is not trusted: {error.verify_message}"
        except (ssl.SSLError, ConnectionResetError, BrokenPipeError):
            return f"{where} does not use TLS on this port" if context else f"{where} closed the connection"
        except OSError as error:
            return f"{where}: {error.strerror or error}"
        return None

    def _tls_context(self) -> ssl.SSLContext | None:
        if not self.tls and self.ca is None:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            raise Pc2daeError(f"invalid certificate authority {self.ca}: {error}") from None

    def connect(self, client: mqtt.Client) -> None:
        """Connect in the background, and reconnect whenever the connection is lost."""
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        is_lasting = bool(client.user_data_get())
        if is_lasting:
            properties.SessionExpiryInterval = SESSION_S
        properties.ReceiveMaximum = _RECEIVE
        client.connect_async(self.host, self.port, keepalive=20, clean_start=not is_lasting, properties=properties)
        client.loop_start()


def _without_delay(_: mqtt.Client, __: object, connection: Any) -> None:
    """Send each packet at once: Nagle's algorithm delays acknowledgements by 40 ms."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
