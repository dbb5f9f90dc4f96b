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
        if self.tls or self.ca is not None:
            try:
                client.tls_set_context(ssl.create_default_context(cafile=self.ca))
            except (OSError, ssl.SSLError) as error:
                raise Pc2daeError(f"invalid certificate authority {self.ca}: {error}") from None
        client.user_data_set(is_lasting)
        client.on_socket_open = _without_delay
        return client

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
