"""Responses of the routes that compare runs, sensors and flights."""

from __future__ import annotations

from pydantic import BaseModel, Field

Numbers = list[float | None]


class DifferenceOf(BaseModel):
    """The difference of two runs in one channel; figures are of all samples of the range, the series is thinned."""

    difference: Numbers
    sigma: Numbers | None = Field(description="standard uncertainty of the difference, of random errors; null: unknown")
    bias: float | None = Field(description="mean of the difference")
    rms: float | None
    n: int
    targets: list[str] = Field(description='what run and other estimate: "ambient" (the air) or "response"')


class RunDifference(BaseModel):
    """Other minus run over common times [ms since 1970]."""

    time: list[int]
    channels: dict[str, DifferenceOf]


class ScatterPoints(BaseModel):
    """Some samples of two sensors, evenly spaced in clean air and in plumes."""

    time: list[int] = Field(description="ms since 1970")
    x: list[float]
    y: list[float]
    smoke: list[int] = Field(description="1: in a plume encounter")


class SensorPair(BaseModel):
    """Two sensors of one species at the coarser resolution of both, with the line y = intercept + slope·x."""

    species: str
    title: str
    x: str
    y: str
    units: str
    n: int
    bias: float = Field(description="mean of y − x")
    bias_clean: float | None = Field(description="the same in clean air")
    rms: float = Field(description="root mean square of y − x")
    correlation: float
    slope: float | None = Field(description="York regression")
    slope_sigma: float | None = Field(description="standard uncertainty, by block bootstrap")
    intercept: float | None
    resolution_s: float
    remark: str = Field(description="disagreement beyond the stated uncertainty, if any")
    points: ScatterPoints


class Side(BaseModel):
    """One of two flights that are compared."""

    id: str
    name: str
    run: str | None
    start: int = Field(description="ms since 1970")
    end: int


class Fact(BaseModel):
    """One figure of two flights; the difference is the second minus the first, where units agree."""

    kind: str = Field(description="flight, ratio or emission factor")
    name: str
    units: str
    values: tuple[float | None, float | None]
    sigmas: tuple[float | None, float | None] = (None, None)
    difference: float | None = None
    sigma: float | None = Field(default=None, description="of the difference; all errors independent")
    random_sigma: float | None = Field(default=None, description="the same of random errors alone")


class SharedChannel(BaseModel):
    """A channel that two flights have."""

    name: str
    long_name: str
    units: str


class Beside(BaseModel):
    """Two flights side by side."""

    flights: tuple[Side, Side]
    is_overlapping: bool = Field(description="whether both cover a common time")
    channels: list[SharedChannel]
    unlike: list[str] = Field(description="channels of one name but different units")
    facts: list[Fact]
