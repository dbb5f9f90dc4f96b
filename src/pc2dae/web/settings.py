"""Settings and limits of a ground station."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from pc2dae.edge.broker import Broker
from pc2dae.errors import Pc2daeError

LEAST_TOKEN = 8  # characters
MODEL = "adaptive"  # the model run automatically on every flight


@dataclass(frozen=True)
class Limits:
    """Limits of requests and jobs; sizes in bytes."""

    upload_bytes: int = 200_000_000
    upload_files: int = 1_000
    json_bytes: int = 1_000_000  # of any other request
    quiet_s: float = 10.0  # longest pause within a body
    least_bytes_s: float = 1_000.0  # lowest accepted average rate of a body
    members: int = 1_000  # of a zip
    unpacked_bytes: int = 2_000_000_000
    unpacked_ratio: float = 200.0  # logs compress to about a tenth, zip bombs to a thousandth
    queue: int = 32  # longest job queue
    wall_s: float = 600.0  # of one job
    cpu_s: int = 600
    memory_bytes: int = 3_000_000_000
    file_bytes: int = 2_000_000_000  # largest file a job may write


@dataclass(frozen=True)
class Settings:
    """One ground station."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    broker: str = "localhost:1883"
    more_brokers: tuple[str, ...] = ()  # also selectable on the page
    any_broker: bool = False  # any broker is selectable: users can then probe for open ports
    ca: Path | None = None  # authority of the brokers' certificates; default: the system's
    topic_in: str = "smoke/raw"
    topic_out: str = "smoke/clean"
    calibration: tuple[Path, ...] = ()  # of the live payload's readings
    response: Path | None = None  # of the live payload's channels
    workers: int = 1
    gallery: bool = True
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise Pc2daeError(f"the token has {len(self.token)} characters", hint=f"use at least {LEAST_TOKEN}")
        if self.token is None and not self.is_loopback:
            raise Pc2daeError(
                f"{self.host} can be reached by others, so a token is required", hint="add --token, or set PC2DAE_TOKEN"
            )

    def allows(self, broker: str) -> bool:
        """Whether the page may connect to a broker."""
        return self.any_broker or _address(broker) in {_address(b) for b in (self.broker, *self.more_brokers)}

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is loopback."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _address(broker: str) -> tuple[str, int]:
    found = Broker.parse(broker)
    return ("localhost" if is_loopback(found.host) else found.host.lower()), found.port
