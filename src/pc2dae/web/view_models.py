"""Responses that are stored by a worker and sent as they are; a test compares them with these models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pc2dae.view.formatting import Table
from pc2dae.web.schemas import Flight, Mapping, Numbers, Question, Run

Ms = Annotated[int, Field(description="ms since 1970")]


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReadSource(_Stored):
    """A recognised file."""

    file: str
    instrument: str
    rows: int
    rows_used: int
    rate_hz: float | None
    clock_offset_s: float | None
    clock_sigma_s: float | None
    clock_drift_ppm: float
    clock_by: str
    gaps: int
    longest_gap_s: float
    repairs: list[str]


class IgnoredFile(_Stored):
    """A file that was not used."""

    file: str
    reason: str


class TableColumn(_Stored):
    """A column of a table."""

    column: str
    file: str
    example: str


class Intake(_Stored):
    """How the uploaded files were read."""

    suite: str | None = None
    sources: list[ReadSource]
    ignored: list[IgnoredFile]
    notes: list[str]
    response_delay_s: dict[str, float] = {}
    columns: list[TableColumn]
    unmapped: list[TableColumn]
    time_columns: list[str]
    proposal: Mapping | None = None
    questions: list[Question] = []
    headers: list[str] = Field(default=[], description="fingerprints of the tables")
    saved_suite: str | None = None


class FlightPart(_Stored):
    """A part of an upload that may be a flight of its own."""

    name: str
    files: list[str]
    what: list[str]
    first: int | None
    last: int | None
    rows: int
    beside: list[str]
    checked: bool


class MeasuredChannel(_Stored):
    """A channel of a flight as measured."""

    name: str
    long_name: str
    family: str
    units: str
    lower_bound: float
    noise: float | None
    lag1: float | None
    t90_s: float | None
    blur_m: float | None
    below: float | None
    negative: float | None
    observed: float | None
    missing: float | None
    stale: float | None


class FamilyVerdict(_Stored):
    """Whether a family is denoised."""

    family: str
    kept: bool
    reason: str
    figures: dict[str, float | None]


class RunChannel(_Stored):
    """A channel of a run."""

    uncertainty: float | None
    below: float | None


class RunDetail(Run):
    """A run with what was stored of it; the last five are absent until it is ready."""

    model_config = ConfigDict(extra="forbid")

    model: str = ""
    lead: str = ""
    channels: dict[str, RunChannel] = Field(default_factory=dict)
    left_raw: list[str] = Field(default_factory=list)
    has_band: bool = False


class FlightDetail(Flight):
    """Everything about a flight except its time series."""

    model_config = ConfigDict(extra="forbid")

    lead: str
    intake: Intake | None
    parts: list[FlightPart] | None = Field(description="of an upload that may be several flights")
    runs: list[RunDetail]
    rate_hz: float | None
    channels: list[MeasuredChannel]
    verdicts: list[FamilyVerdict]
    motion: dict[str, float | Numbers | None]
    environment: dict[str, Numbers]
    gaps: list[dict[str, Any]]
    has_track: bool
    has_truth: bool


class ViewTables(_Stored):
    """The tables of a flight by section."""

    plumes: list[Table]
    scores: list[Table]
    budget: list[Table]
    uncertainty: list[Table] = []
    quality: list[Table]


class ViewFamily(_Stored):
    """A family of channels and whether its panels are open at first."""

    name: str
    is_open: bool


class ViewChannel(_Stored):
    """A channel as a panel shows it."""

    name: str
    long_name: str
    units: str
    summary: str
    target: str
    lower_bound: float
    family: str


class PlumeEncounter(_Stored):
    """A plume encounter of one channel."""

    channel: str
    number: int
    onset: Ms
    end: Ms
    peak_time: Ms
    duration_s: float
    peak: float | None
    peak_sigma: float | None = None
    excess: float | None
    excess_sigma: float | None
    excess_random_sigma: float | None
    excess_systematic_sigma: float | None
    snr: float | None
    units: str
    is_lower_limit: bool


class ProfileChannel(_Stored):
    """10, 50 and 90 % quantiles of a channel by layer."""

    low: Numbers
    median: Numbers
    high: Numbers


class ViewProfile(_Stored):
    """Quantiles by layer of height [m]."""

    label: str
    height: list[float]
    depth: float
    channels: dict[str, ProfileChannel]


class ViewBudget(_Stored):
    """Median standard uncertainties of a channel by part ("noise", "lag", "zero", …) and in total."""

    name: str
    units: str
    clean: dict[str, float]
    plume: dict[str, float]


class FlightShown(_Stored):
    """What the page draws of a flight, apart from series and track."""

    lead: str
    tiles: list[tuple[str, str]]
    start: Ms
    end: Ms
    step_ms: float
    families: list[ViewFamily]
    channels: list[ViewChannel]
    first: str | None
    intervals: list[tuple[Ms, Ms]]
    encounters: list[PlumeEncounter]
    clean_air: list[tuple[Ms, Ms]] = Field(default=[], description="stated periods of clean air")
    flag_kinds: dict[str, str]
    flag_words: dict[str, str]
    metrics: dict[str, tuple[str, str | float | None]]
    tables: ViewTables
    budget: list[ViewBudget] = []
    wind: tuple[float, float] | None
    profile: ViewProfile | None


class ChannelSeries(_Stored):
    """A channel over the common times; null where it has no such series."""

    raw: Numbers | None
    estimate: Numbers | None
    low: Numbers | None
    high: Numbers | None
    unbounded: Numbers | None
    response: Numbers | None
    truth: Numbers | None
    flags: list[tuple[Ms, Ms, int, str, float]]


class Series(_Stored):
    """Channels over common times."""

    time: list[Ms]
    step_s: float
    thinned: bool
    channels: dict[str, ChannelSeries]


class TrackShown(_Stored):
    """Position over time [m]; null where not known."""

    time: list[Ms]
    east: Numbers | None
    north: Numbers | None
    altitude: Numbers | None


class PlumeRow(_Stored):
    """An encounter; excess and ratios as value and one-sigma uncertainty."""

    kind: str = Field(default="encounter", description="smoke where two tracers of combustion rise and vary together")
    from_: Ms = Field(alias="from")
    to: Ms
    duration_s: float
    excess: dict[str, tuple[float | None, float | None]]
    ratios: dict[str, tuple[float | None, float | None]]


class Amount(_Stored):
    """A value with its standard uncertainties."""

    value: float | None
    sigma: float | None
    random_sigma: float | None
    systematic_sigma: float | None
    units: str
    share: float | None = Field(default=None, description="of the samples at which both species were measured")


class EmissionRatio(Amount):
    """A ratio of the whole flight."""

    ratio: str
    method: str
    resolution_s: float | None
    is_preferred: bool
    reason: str


class EmissionFactor(Amount):
    """An emission factor of a crossing or of the whole flight."""

    scope: str
    species: str
    is_good: bool = True


class BackgroundShown(_Stored):
    """The background of all excesses, and why it was chosen."""

    kind: str
    clean_share: float
    is_good: bool
    smoky: list[str] = Field(description="stated clean air that is itself in smoke, START/END")
    reason: str


class PlumesShown(_Stored):
    """Encounters, excess, emission ratios and combustion efficiency of a run."""

    intervals: list[tuple[Ms, Ms]]
    encounters: list[PlumeEncounter]
    table: list[PlumeRow]
    units: dict[str, str]
    ratios: list[EmissionRatio]
    emission_factors: list[EmissionFactor]
    background: BackgroundShown | None = None
    assumed_gains: dict[str, float]
    mce_says: str | None
