"""Requests and responses of the live view."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, SecretStr

from pc2dae.web.schemas import Key, Strict, SuiteName, Text
from pc2dae.weights import ShippedName

Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]{1,120}$")]
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9.\[\]:-]{1,200}$", description="HOST:PORT")]

Status = Literal["off", "waiting", "good", "late", "silent"]


class Connect(Strict):
    """Which stream to listen to; defaults are the options that the server was started with."""

    broker: Address | None = None
    topic_in: Topic | None = None
    topic_out: Topic | None = None
    model: ShippedName = "adaptive-short"
    suite: SuiteName = "black-kite"
    exclude: Annotated[list[Text], Field(max_length=40)] = Field(default=[], description="families to exclude")
    user: Annotated[str, Field(max_length=200)] | None = None
    password: Annotated[SecretStr, Field(max_length=1000)] | None = Field(
        default=None, description="never returned; without it, the one given before for the same broker and user"
    )
    tls: bool | None = Field(default=None, description="encrypt; default: if the server was started with --ca")
    listen_only: bool = Field(default=False, description="never run a gateway, because `pc2dae stream` runs elsewhere")


class Play(Strict):
    """A stored flight to replay."""

    flight: Key
    speed: Annotated[float, Field(ge=0.1, le=1000)] = 10.0
    restamp: bool = Field(default=False, description="stamp the samples as of now instead of their own times")


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


class Mark(BaseModel):
    """A moment that the operator has marked."""

    id: str
    flight: str = Field(description="its name in the messages")
    time: int = Field(description="of the newest sample, ms since 1970")
    note: str
    motion: dict[str, float] = Field(description="where the drone was")


class MarkWanted(Strict):
    """A mark to set now."""

    note: Annotated[str, Field(max_length=200)] = ""


class RecordingState(BaseModel):
    """The flight that is being recorded."""

    flight: str
    samples: int


class LiveChannel(BaseModel):
    """A channel of the payload."""

    name: str
    units: str
    family: str
    lower_bound: float
    lag_not_corrected: str = Field(default="", description="why its estimate is of the reading, not of the air")
    has_data: bool = Field(description="whether the current flight has had a value of it")


class LinkState(BaseModel):
    """How the samples arrive."""

    status: Status
    age_s: float | None = Field(default=None, description="of the newest sample")
    latency_s: float | None = Field(default=None, description="from a sample's stamp to the arrival of its estimate")
    gaps: int = Field(default=0, description="interruptions of the flight's samples")
    quality: float | None = Field(default=None, description="share of the samples received in the last minute")
    reason: str = Field(default="", description="why it is not good, in one line")


class LiveState(BaseModel):
    """Connection, counters, replay."""

    state: Literal["off", "connecting", "connected", "lost"]
    broker: str
    topic_in: str
    topic_out: str
    model: str
    suite: str
    exclude: list[str]
    user: str | None
    tls: bool
    listen_only: bool
    channels: list[LiveChannel]
    ignored: list[str] = Field(description="names in the samples that the suite does not have")
    mismatch: str | None = Field(description="said if no channel of the stream is one of the suite")
    fitting: str | None = Field(description="with `mismatch`: the suite whose channels fit best")
    link: LinkState
    is_replay: bool
    gateway: Literal["own", "online", "offline", "unknown"]
    flight: str | None
    latency_s: float | None
    calibrated: list[str] = Field(description="channels whose estimates are calibrated")
    counters: dict[str, int]
    replay: Replay | None
    recording: RecordingState | None = None
    message: str
