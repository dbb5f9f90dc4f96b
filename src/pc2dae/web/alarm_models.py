"""Limits of live channels and the alarms that crossing them raises."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

AlarmKind = Literal["above", "below", "rise", "no_data"]
AlarmSource = Literal["estimate", "raw"]
Level = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]


class Limit(BaseModel):
    """When a channel raises an alarm; null: never."""

    model_config = ConfigDict(extra="forbid")

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
