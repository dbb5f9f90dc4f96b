"""Requests and responses of the live view."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pc2dae.web.schemas import Key, SuiteName
from pc2dae.weights import ShippedName

Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]{1,120}$")]
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9.\[\]:-]{1,200}$", description="HOST:PORT")]


class Connect(BaseModel):
    """Which stream to listen to; defaults are the options that the server was started with."""

    model_config = ConfigDict(extra="forbid")

    broker: Address | None = None
    topic_in: Topic | None = None
    topic_out: Topic | None = None
    model: ShippedName = "adaptive-short"
    suite: SuiteName = "black-kite"
    listen_only: bool = Field(default=False, description="never run a gateway, because `pc2dae stream` runs elsewhere")


class Play(BaseModel):
    """A stored flight to replay."""

    model_config = ConfigDict(extra="forbid")

    flight: Key
    speed: Annotated[float, Field(ge=0.1, le=1000)] = 10.0


class Replay(BaseModel):
    """Progress of a replay."""

    flight: str
    name: str
    speed: float
    sent: int = 0
    of: int = 0
    state: Literal["starting", "running", "done", "failed", "stopped"]
    direct: bool = Field(description="without a broker, through a gateway in the replay process")
    error: str | None = None


class LiveChannel(BaseModel):
    """A channel with estimates."""

    name: str
    units: str
    family: str
    lower_bound: float


class LiveState(BaseModel):
    """Connection, counters, replay."""

    state: Literal["off", "connecting", "connected", "lost"]
    broker: str
    topic_in: str
    topic_out: str
    model: str
    suite: str
    listen_only: bool
    channels: list[LiveChannel]
    gateway: Literal["own", "online", "offline", "unknown"]
    flight: str | None
    latency_s: float | None
    calibrated: list[str] = Field(description="channels whose estimates are calibrated")
    counters: dict[str, int]
    replay: Replay | None
    message: str
