"""Comparisons: two runs of a flight, two sensors of a species, two flights."""

from __future__ import annotations

from math import hypot
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from pc2dae.arrays import Array
from pc2dae.view.series import Column, Columns, bucket_times, buckets, cut, extremes
from pc2dae.web.flights_api import At, Channels, Moment, Of, Points, ready_run, stored
from pc2dae.web.problems import Refused
from pc2dae.web.schemas import Flight, Key, Numbers
from pc2dae.web.series import named, read_columns, ready_facts
from pc2dae.web.store import Store

routes = APIRouter(prefix="/api/flights", tags=["compare"])
_COVERAGE_90 = 1.645  # as `view.flight_view.COVERAGE_90`, which needs pandas
Figures = dict[tuple[str, str], dict[str, Any]]  # kind and name: value, sigma, random_sigma, units


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


class FlightsCompared(BaseModel):
    """Two flights side by side."""

    flights: tuple[Side, Side]
    is_overlapping: bool = Field(description="whether both cover a common time")
    channels: list[SharedChannel]
    unlike: list[str] = Field(description="channels of one name but different units")
    facts: list[Fact]


@routes.get("/{flight}/difference")
def get_difference(
    station: At,
    flight: Of,
    run: Key,
    other: Key,
    channels: Channels = None,
    start: Annotated[Moment, Query(alias="from")] = None,
    stop: Annotated[Moment, Query(alias="to")] = None,
    points: Points = 1500,
) -> RunDifference:
    """Other run minus run over time; mean bias and RMS of all samples of the range, the series thinned to `points`."""
    store = station.store
    names = named(ready_facts(store, flight), channels)
    folders = [store.folder(flight.id, ready_run(station, flight, number).id) for number in (run, other)]
    mine, theirs = (read_columns(folder / "columns.npz") for folder in folders)
    time = read_columns(store.folder(flight.id) / "columns.npz")["time"]
    return difference(time, mine, theirs, names, start=start, stop=stop, points=points)


@routes.get("/{flight}/sensors", response_model=list[SensorPair])
async def get_sensors(station: At, flight: Of, run: Key | None = None) -> JSONResponse:
    """Every pair of sensors of one species, of a run or of the flight as measured: points, bias and York regression."""
    return stored(station, flight, run, "sensors")


@routes.get("/{flight}/beside")
async def get_beside(station: At, flight: Of, other: Key) -> FlightsCompared:
    """The figures of two flights with their difference, and the channels that both have."""
    return beside(station.store, flight, station.flight(other))


def difference(
    time: Column,
    run: Columns,
    other: Columns,
    names: list[str],
    *,
    start: float | None,
    stop: float | None,
    points: int,
) -> RunDifference:
    """Other minus run, of the channels that both have, within a stretch of time [ms]."""
    here = cut(time, start, stop)
    width = buckets(len(time[here]), points)
    channels = {name: _of(run, other, name, here, width) for name in names if name in run and name in other}
    return RunDifference(time=bucket_times(time[here], width).tolist(), channels=channels)


def _of(run: Columns, other: Columns, name: str, here: slice, width: int) -> DifferenceOf:
    apart = (other[name].astype(np.float64) - run[name])[here]
    known = apart[np.isfinite(apart)]
    kept = extremes(apart, width)
    errors = [e[here][kept] for e in (_random(run, name), _random(other, name)) if e is not None]
    return DifferenceOf(
        difference=_numbers(apart[kept]),
        sigma=_numbers(np.sqrt(sum(e**2 for e in errors))) if errors else None,
        bias=float(known.mean()) if len(known) else None,
        rms=float(np.sqrt(np.mean(known**2))) if len(known) else None,
        n=len(known),
        targets=["ambient" if f"{name} response" in columns else "response" for columns in (run, other)],
    )


def _random(columns: Columns, name: str) -> Array | None:
    """Standard uncertainty of random errors, the total where the parts are not stored, None where neither is known."""
    if f"{name} random" in columns:
        return columns[f"{name} random"].astype(np.float64)
    if f"{name} high" in columns:
        return (columns[f"{name} high"].astype(np.float64) - columns[name]) / _COVERAGE_90
    return None


def _numbers(values: Array) -> Numbers:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]


def beside(store: Store, first: Flight, second: Flight) -> FlightsCompared:
    """Compare the default runs of two flights."""
    if first.id == second.id:
        raise Refused(422, "a flight cannot be compared with itself", hint="choose another flight")
    facts = [ready_facts(store, flight) for flight in (first, second)]
    mine, theirs = ({c["name"]: c for c in known["channels"]} for known in facts)
    both = [name for name in mine if name in theirs]
    alike = [name for name in both if mine[name]["units"] == theirs[name]["units"]]
    one, two = (_figures(store, flight, known) for flight, known in zip((first, second), facts, strict=True))
    sides = [
        Side(id=flight.id, name=flight.name, run=flight.default_run, start=known["start"], end=known["end"])
        for flight, known in zip((first, second), facts, strict=True)
    ]
    return FlightsCompared(
        flights=(sides[0], sides[1]),
        is_overlapping=sides[0].start <= sides[1].end and sides[1].start <= sides[0].end,
        channels=[SharedChannel(**{k: mine[n][k] for k in ("name", "long_name", "units")}) for n in alike],
        unlike=[name for name in both if name not in alike],
        facts=[fact_of(key, one.get(key), two.get(key)) for key in dict.fromkeys([*one, *two])],
    )


def _figures(store: Store, flight: Flight, facts: dict[str, Any]) -> Figures:
    run = flight.default_run
    plumes = (store.facts(flight.id, run, name="plumes") if run is not None else None) or {}
    smoke = sum(row["duration_s"] for row in plumes.get("table", []))
    found: Figures = {
        ("flight", "duration"): {"value": facts["span_s"], "units": "s"},
        ("flight", "plume encounters"): {"value": len(plumes.get("table", [])), "units": "1"},
        ("flight", "time in smoke"): {"value": smoke, "units": "s"},
    }
    found |= {("ratio", row["ratio"]): row for row in plumes.get("ratios", []) if row["is_preferred"]}
    whole = (row for row in plumes.get("emission_factors", []) if row["scope"] == "flight")
    return found | {("emission factor", row["species"]): row for row in whole}


def fact_of(key: tuple[str, str], one: dict[str, Any] | None, two: dict[str, Any] | None) -> Fact:
    """One figure of two flights; uncertainties are taken as independent."""
    rows = [row or {} for row in (one, two)]
    values, sigmas, random = ([row.get(k) for row in rows] for k in ("value", "sigma", "random_sigma"))
    units = {row["units"] for row in rows if row}
    fact = Fact(kind=key[0], name=key[1], units=" or ".join(sorted(units)), values=(values[0], values[1]),
                sigmas=(sigmas[0], sigmas[1]))  # fmt: skip
    if len(units) == 1 and values[0] is not None and values[1] is not None:
        fact.difference = values[1] - values[0]
        fact.sigma, fact.random_sigma = _combined(sigmas), _combined(random)
    return fact


def _combined(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return hypot(*known) if len(known) == len(parts) else None
