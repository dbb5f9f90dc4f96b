"""Request and response schemas of the API."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

State = Literal["queued", "working", "ready", "failed"]
JobState = Literal["queued", "working", "done", "failed", "cancelled"]
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]  # of a flight, run or job
SuiteName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
Zone = Annotated[str, Field(pattern=r"^[A-Za-z0-9_+:/-]{1,64}$")]
Number = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]


class ApiError(BaseModel):
    """The reason a request was refused, and a hint."""

    error: str
    hint: str | None = None


class ServerHealth(BaseModel):
    """Server health."""

    status: Literal["ok"] = "ok"
    version: str
    queued: int
    working: int


class Defaults(BaseModel):
    """Server limits and defaults that the page uses."""

    version: str
    upload_bytes: int
    upload_files: int
    broker: str
    topic_in: str
    topic_out: str
    token: bool
    job_seconds: float


class Method(BaseModel):
    """A denoising method."""

    name: str
    title: str
    kind: Literal["model", "filter"]
    note: str


class Sent(BaseModel):
    """An uploaded file."""

    name: str
    bytes: int


class Run(BaseModel):
    """The result of one method on one flight."""

    id: str
    flight: str
    method: str
    strength: float
    state: State
    created: int = Field(description="ms since 1970")
    job: str | None = None
    attempts: int = 0
    error: str | None = None
    hint: str | None = None
    seconds: float | None = None


class Flight(BaseModel):
    """A flight in the data folder."""

    id: str
    name: str
    state: State
    created: int = Field(description="ms since 1970")
    gallery: bool = False
    suite: str | None = None
    zone: str | None = None
    start: int | None = Field(default=None, description="ms since 1970")
    end: int | None = None
    span_s: float | None = None
    files: list[Sent] = []
    job: str | None = None
    attempts: int = 0
    default_run: str | None = None
    error: str | None = None
    hint: str | None = None


class ServerJob(BaseModel):
    """A queued, running or finished job."""

    id: str
    kind: Literal["intake", "run", "export", "gallery"]
    flight: str
    run: str | None = None
    state: JobState = "queued"
    fraction: float = 0.0
    message: str = ""
    position: int = Field(default=0, description="jobs before this one")
    error: str | None = None
    hint: str | None = None


class Accepted(BaseModel):
    """A flight and the job that reads it."""

    flight: Flight
    job: ServerJob


class RunAccepted(BaseModel):
    """A run, and the job that computes it unless the run already exists."""

    run: Run
    job: ServerJob | None = None


class RunWanted(BaseModel):
    """Method and strength of a run."""

    model_config = ConfigDict(extra="forbid")

    method: Annotated[str, Field(max_length=40)] = "adaptive"
    strength: Annotated[float, Field(ge=0, le=1)] = 1.0


class ReadAgain(BaseModel):
    """How to read the uploaded files of a flight again."""

    model_config = ConfigDict(extra="forbid")

    suite: SuiteName | None = None
    zone: Zone | None = None


class MappedChannel(BaseModel):
    """The mapping of one table column."""

    model_config = ConfigDict(extra="forbid")

    column: Text
    name: Text
    units: Text
    family: Text
    t90_s: Number | None = None
    lower_bound: Number = 0.0
    valid_min: Number | None = None
    valid_max: Number | None = None
    detection_limit: Number | None = None


class Mapping(BaseModel):
    """A mapping of table columns, to be saved as a suite."""

    model_config = ConfigDict(extra="forbid")

    time_column: Text = "time"
    zone: Zone | None = None
    time_format: Text | None = None
    rate_hz: Annotated[float, Field(gt=0, le=100)] = 1.0
    missing: Annotated[list[Number], Field(max_length=20)] = []
    channels: Annotated[list[MappedChannel], Field(min_length=1, max_length=200)]
    environment: dict[Literal["air_temperature", "relative_humidity", "air_pressure"], Text] = {}
    motion: dict[Literal["latitude", "longitude", "altitude", "ground_speed"], Text] = {}


class SuiteChannel(BaseModel):
    """A channel of a suite."""

    name: str
    family: str
    units: str
    lower_bound: float
    t90_s: float | None
    column: str | None


class SuiteShown(BaseModel):
    """A suite, shipped or saved."""

    name: str
    shipped: bool
    channels: list[SuiteChannel]


class Score(BaseModel):
    """One metric value of one method; family "all" is the mean over families."""

    run: str | None
    method: str
    strength: float | None
    family: str
    metric: str
    value: float | None
