"""Two flights side by side: the channels that both have, and their figures with the difference."""

from __future__ import annotations

from math import hypot
from typing import Any

from pc2dae.web.compare_models import Beside, Fact, SharedChannel, Side
from pc2dae.web.problems import Refused
from pc2dae.web.schemas import Flight
from pc2dae.web.store import Store

Figures = dict[tuple[str, str], dict[str, Any]]  # kind and name: value, sigma, random_sigma, units


def beside(store: Store, first: Flight, second: Flight) -> Beside:
    """Compare the default runs of two flights."""
    if first.id == second.id:
        raise Refused(422, "a flight cannot be compared with itself", hint="choose another flight")
    facts = [_facts(store, flight) for flight in (first, second)]
    mine, theirs = ({c["name"]: c for c in known["channels"]} for known in facts)
    both = [name for name in mine if name in theirs]
    alike = [name for name in both if mine[name]["units"] == theirs[name]["units"]]
    one, two = (_figures(store, flight, known) for flight, known in zip((first, second), facts, strict=True))
    sides = [
        Side(id=flight.id, name=flight.name, run=flight.default_run, start=known["start"], end=known["end"])
        for flight, known in zip((first, second), facts, strict=True)
    ]
    return Beside(
        flights=(sides[0], sides[1]),
        is_overlapping=sides[0].start <= sides[1].end and sides[1].start <= sides[0].end,
        channels=[SharedChannel(**{k: mine[n][k] for k in ("name", "long_name", "units")}) for n in alike],
        unlike=[name for name in both if name not in alike],
        facts=[fact_of(key, one.get(key), two.get(key)) for key in dict.fromkeys([*one, *two])],
    )


def _facts(store: Store, flight: Flight) -> dict[str, Any]:
    if flight.state != "ready" or (found := store.facts(flight.id)) is None:
        raise Refused(409, f"the flight {flight.name} is not ready", hint="wait for its job")
    return dict(found)


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
