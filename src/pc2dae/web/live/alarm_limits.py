"""Limits by channel and units, so that one in ppm never applies to a channel in ppb, and the alarms they raise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from pc2dae.errors import nearest
from pc2dae.web.problems import Refused
from pc2dae.web.schemas import Strict

AlarmKind = Literal["above", "below", "rise", "no_data"]
AlarmSource = Literal["estimate", "raw"]
Level = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]


class Limit(Strict):
    """When a channel raises an alarm; null: never."""

    above: Level | None = None
    below: Level | None = None
    rise_per_min: Annotated[Level, Field(gt=0)] | None = Field(default=None, description="units per minute, over 20 s")
    hysteresis: Annotated[Level, Field(ge=0)] | None = Field(
        default=None, description="how far back from `above` or `below` an alarm ends; default: 3 σ, 5 to 50 % of these"
    )
    units: Annotated[str, Field(max_length=40)] | None = Field(
        default=None, description="of the limit; default: the channel's. A limit never applies to other units"
    )

    @property
    def is_empty(self) -> bool:
        """Whether it never raises an alarm."""
        return self.above is None and self.below is None and self.rise_per_min is None


class LimitShown(Limit):
    """A limit as it is applied."""

    note: str | None = Field(default=None, description="why it is not applied, or not to all values")


class Alarm(BaseModel):
    """One crossing of a limit, or one silence; times in milliseconds since 1970."""

    id: str
    flight: str
    channel: str | None = Field(description="null: no data from the whole payload")
    kind: AlarmKind
    source: AlarmSource = Field(description="what crossed first: the estimate, or the 3-s median of raw samples")
    limit: float = Field(description="of no_data: seconds")
    units: str = Field(description="of limit, peak and last")
    since: int = Field(description="by the samples' clock; silence of the whole payload by the server's")
    until: int | None = Field(description="null: not over yet")
    peak: float = Field(description="the farthest value beyond the limit")
    last: float
    last_time: int
    seen: bool = Field(description="acknowledged")
    raised: int = Field(description="by the server's clock")
    calls: int = Field(description="one more each time the peak has doubled: then it is announced again")
    ends_at: float = Field(description="value at which it ends")
    changed: int = Field(description="grows with every change")


class AlarmFile(BaseModel):
    """What survives a restart."""

    limits: dict[str, list[Limit]] = Field(default={}, description="by channel, at most one for each of its units")
    alarms: list[Alarm] = []


class AlarmLimits:
    """The limits that were set, and the channels of the present payload to which they apply."""

    def __init__(self) -> None:
        self.limits: dict[tuple[str, str], Limit] = {}  # by channel and units
        self.units: dict[str, str] = {}  # of the present payload's channels
        self.calibrated: frozenset[str] = frozenset()  # raw readings in other units: judged by estimates only

    def replace(self, wanted: Mapping[str, Limit | None]) -> set[str]:
        """Replace the limits of the channels named, and return those that changed; None or no level removes one."""
        checked = [(name, self._checked_units(name, limit), limit) for name, limit in wanted.items()]
        changed = set()
        for name, units, limit in checked:
            before = self.limits.pop((name, units), None)
            if limit is not None and not limit.is_empty:
                self.limits[name, units] = limit.model_copy(update={"units": units})
            if before != self.limits.get((name, units)):
                changed.add(name)
        return changed

    def _checked_units(self, name: str, limit: Limit | None) -> str:
        if name not in self.units:
            raise Refused(422, f"unknown channel '{name[:60]}'", hint=nearest(name, self.units))
        units = self.units[name]
        if limit is None:
            return units
        if limit.units is not None and limit.units != units:
            raise Refused(422, f"{name} is measured in {units}, the limit is in '{limit.units}'",
                          hint=f"give the limit in {units}")  # fmt: skip
        if limit.above is not None and limit.below is not None:
            if limit.below >= limit.above:
                raise Refused(422, f"{name}: the lower limit {limit.below:g} is not below the upper {limit.above:g}")
            if limit.hysteresis is not None and limit.hysteresis > limit.above - limit.below:
                raise Refused(422, f"{name}: the hysteresis {limit.hysteresis:g} is wider than the limits are apart")
        return units

    def applied(self) -> Iterator[tuple[str, Limit]]:
        """The limits of the present channels."""
        return ((name, limit) for (name, units), limit in self.limits.items() if self.units.get(name) == units)

    def shown(self) -> dict[str, LimitShown]:
        """One limit per channel with a note; one in the channel's units before one in others."""
        found: dict[str, LimitShown] = {}
        for (name, units), limit in self.limits.items():
            if name not in found or self.units.get(name) == units:
                found[name] = LimitShown(**limit.model_dump(), note=self._note(name, units))
        return found

    def _note(self, name: str, units: str) -> str | None:
        if name not in self.units:
            return "not applied: the present payload has no such channel"
        if self.units[name] != units:
            return f"not applied: the limit is in {units}, the channel in {self.units[name]}"
        if name in self.calibrated:
            return "applied to calibrated estimates only: raw readings are in other units"
        return None

    def listed(self) -> dict[str, list[Limit]]:
        """All limits by channel."""
        found: dict[str, list[Limit]] = {}
        for (name, _), limit in self.limits.items():
            found.setdefault(name, []).append(limit)
        return found

    def load(self, saved: Mapping[str, list[Limit]]) -> None:
        """Take over the limits of an earlier server process."""
        self.limits = {(name, str(limit.units)): limit for name, limits in saved.items() for limit in limits}
