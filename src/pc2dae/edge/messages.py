"""The JSON messages of a live stream; these models are the published schema (`pc2dae stream --schema`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic.json_schema import SkipJsonSchema

from pc2dae.suite import MOTION

LARGEST = 65_536  # bytes of one message
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BESIDE = (("motion",), ("wind",))  # a message with invalid values in these is used without them
_YEARS = range(2000, 2200)  # in others a clock was never set (GPS receivers start in 1980)

FlightName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="one record of one payload")]
Seq = Annotated[int, Field(ge=0, le=2**53, strict=True)]
Number = Annotated[float, Field(ge=-1e30, le=1e30, strict=True)]
Bits = Annotated[int, Field(ge=0, lt=2**31, strict=True)]


class Motion(BaseModel):
    """Position and speed of the platform; null or absent where not known."""

    model_config = ConfigDict(allow_inf_nan=False, extra="allow", frozen=True, strict=True)

    latitude: Annotated[float, Field(ge=-90, le=90)] | None = Field(default=None, description="degrees north")
    longitude: Annotated[float, Field(ge=-180, le=360)] | None = Field(default=None, description="degrees east")
    altitude: Annotated[float, Field(ge=-1000, le=100_000)] | None = Field(default=None, description="m")
    ground_speed: Annotated[float, Field(ge=0, le=1000)] | None = Field(default=None, description="m s-1")

    @property
    def known(self) -> dict[str, float]:
        """Known values; latitude and longitude only together, and not 0, 0 as of a receiver without a fix."""
        has_position = None not in (self.latitude, self.longitude) and (self.latitude, self.longitude) != (0, 0)
        names = MOTION if has_position else MOTION[2:]
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Wind(BaseModel):
    """The wind vector [m s-1]."""

    model_config = ConfigDict(allow_inf_nan=False, extra="allow", frozen=True, strict=True)

    eastward: Annotated[float, Field(ge=-200, le=200)] | None = None
    northward: Annotated[float, Field(ge=-200, le=200)] | None = None

    @property
    def known(self) -> dict[str, float]:
        """Both components, or nothing."""
        is_known = self.eastward is not None and self.northward is not None
        return self.model_dump(include={"eastward", "northward"}) if is_known else {}


class Sample(BaseModel):
    """One second of a logger: concentrations in the suite's units, null or absent where nothing was measured."""

    model_config = ConfigDict(allow_inf_nan=False, extra="allow", frozen=True)

    flight: FlightName
    seq: Seq = Field(description="0, 1, 2 … within the flight, one more with every message")
    time: AwareDatetime = Field(description="ISO 8601 with Z or an offset")
    values: dict[str, Number | None] = Field(description="by channel name")
    environment: dict[str, Number | None] = Field(
        default={}, description="air_temperature [degC], relative_humidity [%], air_pressure [hPa]"
    )
    qc: dict[str, Bits] | None = Field(
        default=None, description="flag bits per channel, if the sender has screened and corrected its values"
    )
    motion: Motion | None = Field(default=None, description="for maps; estimates do not depend on it")
    wind: Wind | None = Field(default=None, description="for maps; estimates do not depend on it")
    end: bool = Field(default=False, description="the flight's last message: all remaining estimates are sent")
    replay: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        default=None, description="speed of a replay; absent in flight"
    )
    _payload: bytes = PrivateAttr(default=b"")
    _ignored: list[str] = PrivateAttr(default_factory=list)

    @property
    def microseconds(self) -> int:
        """The time since 1970, UTC."""
        return (self.time - _EPOCH) // _MICROSECOND

    @property
    def original(self) -> bytes:
        """The message as received."""
        return self._payload or self.model_dump_json().encode()

    @property
    def ignored(self) -> list[str]:
        """Invalid values of motion and wind, which count as unknown, with the reason."""
        return self._ignored


class Clean(BaseModel):
    """The estimates of one second; null where there is none."""

    flight: FlightName = Field(
        description="as in its samples; followed by the topic if two topics use the same flight name"
    )
    seq: Seq = Field(description="0, 1, 2 … second of the flight's grid, without gaps or repeats")
    time: AwareDatetime
    estimate: dict[str, float | None] = Field(description="at or above the channel's bound")
    unbounded: dict[str, float | None] = Field(description="before the bound: for integrals and ratios")
    uncertainty: dict[str, float | None] = Field(description="one sigma; empty if the model gives none")
    response: dict[str, float | None] = Field(
        default={}, description="noise-free reading of the channels whose estimate is that of the air"
    )
    target: dict[str, Literal["ambient", "response"]] = Field(
        default={}, description="what is estimated: the air, or the noise-free reading where the lag is not known"
    )
    calibrated: list[str] = Field(
        default=[], description="channels with a calibration, whose uncertainty includes what that leaves open"
    )
    qc: dict[str, int] = Field(description="flag bits, 0 = good")
    latency_s: float = Field(description="how long after its sample an estimate is sent")


class Ack(BaseModel):
    """All messages of the flight up to `seq` are on the gateway's disk and need not be sent again; −1: none yet."""

    flight: FlightName
    seq: int = Field(ge=-1)
    topic: SkipJsonSchema[str] = Field(default="", exclude=True)  # where the flight's samples come from


class Taken(BaseModel):
    """A consumer's confirmation: up to which `seq` it holds each flight; `again`: send everything after that again."""

    model_config = ConfigDict(extra="forbid")

    taken: dict[FlightName, int] = {}
    again: bool = False


class MessageProblem(BaseModel):
    """A message that could not be used unchanged, and why."""

    flight: str | None = None
    seq: int | None = None
    error: str


class Health(BaseModel):
    """Counters since the gateway started, and its queues."""

    samples: int = Field(default=0, description="messages taken")
    estimates: int = Field(default=0, description="seconds estimated")
    duplicates: int = Field(default=0, description="messages received before")
    refused: int = Field(default=0, description="messages that could not be used; they are in the quarantine file")
    late: int = Field(default=0, description="samples that arrived after the estimates of their second")
    skipped: int = Field(default=0, description="messages that never arrived")
    damaged: int = Field(default=0, description="records of the state file whose checksum is wrong")
    quarantined: int = Field(default=0, description="refused messages written to the quarantine file")
    quarantine_lost: int = Field(default=0, description="refused messages beyond the size limit of the quarantine file")
    quarantine: str | None = Field(default=None, description="path of the quarantine file")
    outbox: int = Field(default=0, description="estimates not yet delivered")
    is_full: bool = Field(default=False, description="outbox or disk is full: no messages are taken")


class BadMessage(ValueError):
    """A message that is not a sample; `flight` and `seq` if at least these could be read."""

    def __init__(self, error: str, flight: str | None = None, seq: int | None = None) -> None:
        super().__init__(error)
        self.flight, self.seq = flight, seq


def parse_sample(payload: bytes) -> Sample:
    """The sample in `payload`; raises BadMessage."""
    if len(payload) > LARGEST:
        raise BadMessage(f"the message has {len(payload):,} bytes; at most {LARGEST:,} are allowed")
    ignored: list[str] = []
    try:
        sample = Sample.model_validate_json(payload)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        serious = [problem for problem in problems if problem["loc"][:1] not in _BESIDE]
        if serious:
            raise BadMessage(_reason(serious[0]), *_address(payload)) from None
        sample = Sample.model_validate(_without(json.loads(payload), problems))
        ignored = [f"{_reason(problem)}; ignored" for problem in problems]
    if sample.time.astimezone(UTC).year not in _YEARS:
        raise BadMessage(f"time: year {sample.time.year}, the clock was never set", sample.flight, sample.seq)
    sample._payload, sample._ignored = payload, ignored
    return sample


def _reason(problem: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"][:2])
    reason = problem["msg"][:1].lower() + problem["msg"][1:160]
    return f"{key}: {reason}" if key else reason


def _without(message: Any, problems: Iterable[Mapping[str, Any]]) -> Any:
    """The message without the values that have a problem: the concentrations remain."""
    for problem in problems:
        group, *name = problem["loc"]
        if name:
            message[group].pop(name[0], None)
        else:
            message.pop(group, None)
    return message


def _address(payload: bytes) -> tuple[str | None, int | None]:
    """Flight and number of an invalid message, so that its second counts as missing."""
    try:
        loose: Any = json.loads(payload)
        whole = Sample.model_validate({"flight": loose["flight"], "seq": loose["seq"], "time": _EPOCH, "values": {}})
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, None
    return whole.flight, whole.seq


def schema() -> dict[str, Any]:
    """JSON schema of every message, by topic."""
    found: dict[str, type[BaseModel]] = {
        "in": Sample,
        "out": Clean,
        "ack": Ack,
        "taken": Taken,
        "error": MessageProblem,
        "health": Health,
    }
    return {place: model.model_json_schema() for place, model in found.items()}


def stamp(microseconds: int) -> str:
    """Microseconds since 1970 as ISO 8601 with Z."""
    at = _EPOCH + microseconds * _MICROSECOND
    return at.isoformat(timespec="seconds" if microseconds % 1_000_000 == 0 else "microseconds")[:-6] + "Z"
