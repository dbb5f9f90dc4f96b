"""Request and response schemas of the API."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

State = Literal["queued", "working", "ready", "failed"]
JobState = Literal["queued", "working", "done", "failed", "cancelled"]
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]  # of a flight, run or job
SuiteName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
Zone = Annotated[str, Field(pattern=r"^[A-Za-z0-9_+:/-]{1,64}$")]
Numbers = list[float | None]
Number = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Instant = Annotated[float, Field(ge=-9e12, le=9e12, allow_inf_nan=False)]  # ms since 1970
Offset = Annotated[float, Field(ge=-1e7, le=1e7, allow_inf_nan=False)]
Answer = Annotated[str, Field(max_length=2000, pattern=r"^[^\x00-\x1f\x7f]*$")]
Text = Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]


class Strict(BaseModel):
    """A model without any other fields."""

    model_config = ConfigDict(extra="forbid")


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


class Method(BaseModel):
    """A denoising method."""

    name: str
    title: str
    kind: Literal["model", "filter", "live"]
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


class FlightMark(BaseModel):
    """A moment that the operator has marked during a recorded flight."""

    time: int = Field(description="ms since 1970")
    note: str
    motion: dict[str, float] = {}


class MappedChannel(Strict):
    """The mapping of one table column."""

    column: Text
    name: Text
    units: Text
    family: Text
    t90_s: Number | None = None
    lower_bound: Number = 0.0
    valid_min: Number | None = None
    valid_max: Number | None = None
    detection_limit: Number | None = None
    duplicate_of: Text | None = None


class Mapping(Strict):
    """A mapping of table columns, to be saved as a suite."""

    time_column: Text = "time"
    zone: Zone | None = None
    time_format: Text | None = None
    rate_hz: Annotated[float, Field(gt=0, le=100)] = 1.0
    missing: Annotated[list[Number], Field(max_length=20)] = []
    channels: Annotated[list[MappedChannel], Field(min_length=1, max_length=200)]
    environment: dict[Literal["air_temperature", "relative_humidity", "air_pressure"], Text] = {}
    motion: dict[Literal["latitude", "longitude", "altitude", "ground_speed"], Text] = {}
    column_units: Annotated[dict[Text, Text], Field(max_length=200)] = {}


class ReadAgain(Strict):
    """How to read the uploaded files of a flight again; what is absent is decided by the files."""

    suite: SuiteName | None = Field(default=None, description="name of a suite, or the name to save `mapping` under")
    zone: Zone | None = None
    mapping: Mapping | None = None
    answers: Annotated[dict[Text, Answer], Field(max_length=50)] = Field(
        default={}, description="by the questions' ids"
    )
    offsets: Annotated[dict[Text, Offset], Field(max_length=50, description="s that a clock is ahead")] = {}
    salvage: bool = Field(default=False, description="use what a damaged compressed file still yields")
    metadata: Annotated[dict[Text, Annotated[str, Field(max_length=1000)]], Field(max_length=50)] = {}
    find_suite: bool = Field(default=True, description="whether a saved suite is found by the header of the file")


class Details(Strict):
    """Changes to what a flight is called and described as."""

    name: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    notes: Annotated[str, Field(max_length=10_000)] | None = None
    tags: Annotated[list[Annotated[Text, Field(min_length=1, max_length=40)]], Field(max_length=20)] | None = None


class Split(Strict):
    """Where to split a flight, or which parts of an upload to read as flights of their own."""

    at: Annotated[list[int], Field(max_length=50, description="ms since 1970")] = []
    parts: Annotated[list[int], Field(max_length=200, description="numbers of parts in the upload")] = []


class Choice(BaseModel):
    """One possible answer."""

    value: str
    words: str


class Question(BaseModel):
    """What the files leave open; the answer is sent to `/again`."""

    id: str
    kind: Literal["zone", "time", "names", "unit", "altitude", "same", "split", "flights"]
    column: str | None = None
    words: str
    choices: list[Choice] = Field(default=[], description="empty: any text")
    examples: list[str] = Field(default=[], description="first values of the column")


class Flight(BaseModel):
    """A flight in the data folder."""

    id: str
    name: str
    state: State
    created: int = Field(description="ms since 1970")
    gallery: bool = False
    recorded: bool = Field(default=False, description="received live by this server")
    marks: list[FlightMark] = []
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
    field: str | None = Field(default=None, description="of the form for reading again that the error is about")
    notes: str = ""
    tags: list[str] = []
    how: ReadAgain = Field(default_factory=lambda: ReadAgain(), description="the last wish, kept when it fails")
    questions: list[Question] = Field(default=[], description="to be answered before the flight can be read")
    several: bool = Field(default=False, description="whether to ask if the files are several flights")
    period: tuple[int | None, int | None] = Field(default=(None, None), description="part of the files, ms since 1970")
    saved_suite: str | None = Field(default=None, description="the suite found again by the header of the file")
    deleted: int | None = Field(default=None, description="ms since 1970")


class ServerJob(BaseModel):
    """A queued, running or finished job."""

    id: str
    kind: Literal["intake", "run", "export", "gallery", "clean_air"]
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


class RunRequest(Strict):
    """Method and strength of a run."""

    method: Annotated[str, Field(max_length=40)] = "adaptive"
    strength: Annotated[float, Field(ge=0, le=1)] = 1.0


class CleanAirStated(Strict):
    """Periods of clean air, ms since 1970; none: it is found."""

    periods: Annotated[list[tuple[Instant, Instant]], Field(max_length=50)]


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
    saved: int | None = Field(default=None, description="ms since 1970")
    channels: list[SuiteChannel]


class Score(BaseModel):
    """One metric value of one method; family "all" is the mean over families."""

    run: str | None
    method: str
    strength: float | None
    family: str
    metric: str
    value: float | None
