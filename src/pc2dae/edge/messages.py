"""The JSON messages of a live stream; these models are the published schema (`pc2dae stream --schema`)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic.json_schema import SkipJsonSchema

LARGEST = 65_536  # bytes of one message
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_YEARS = range(2000, 2200)  # in others a clock was never set (GPS receivers start in 1980)

FlightName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="one record of one payload")]
Seq = Annotated[int, Field(ge=0, le=2**53, strict=True)]
Number = Annotated[float, Field(ge=-1e30, le=1e30, strict=True)]
Bits = Annotated[int, Field(ge=0, lt=2**31, strict=True)]


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
    end: bool = Field(default=False, description="the flight's last message: all remaining estimates are sent")
    _payload: bytes = PrivateAttr(default=b"")

    @property
    def microseconds(self) -> int:
        """The time since 1970, UTC."""
        return (self.time - _EPOCH) // _MICROSECOND

    @property
    def original(self) -> bytes:
        """The message as received."""
        return self._payload or self.model_dump_json().encode()


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
    try:
        sample = Sample.model_validate_json(payload)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"][:2])
        reason = problem["msg"][:1].lower() + problem["msg"][1:160]
        raise BadMessage(f"{key}: {reason}" if key else reason, *_address(payload)) from None
    if sample.time.astimezone(UTC).year not in _YEARS:
        raise BadMessage(f"time: year {sample.time.year}, the clock was never set", sample.flight, sample.seq)
    sample._payload = payload
    return sample


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
