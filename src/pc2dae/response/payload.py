"""Response files: how each channel of a payload follows the air, found once and used for all of its flights.

Written by `pc2dae response`, read by everything that estimates the air; a calibration file may hold the same entries.
Numpy and pydantic only, because a stream reads it on the drone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pc2dae.atomic import write_bytes
from pc2dae.errors import ResponseError
from pc2dae.response.kernels import WORST, Kind
from pc2dae.response.stated import stated_t90
from pc2dae.suite import Channel, Suite

KIND = "pc2dae-response"


class _ResponsePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ChannelResponse(_ResponsePart):
    """What is known of one channel's response; without t90, only its limit."""

    t90_s: float | None = Field(default=None, ge=0)  # 0: no lag
    t90_uncertainty_s: float = Field(default=0.0, ge=0)
    kernel: Kind = "first_order"
    slow_t90_s: float = Field(default=0.0, ge=0)  # of two_step
    slow_share: float = Field(default=0.0, ge=0, le=0.5)
    delay_s: float = Field(default=0.0, ge=0)  # as in a suite: of inlet and clock
    delay_uncertainty_s: float = Field(default=0.5, ge=0)
    limit_s: float | None = Field(default=None, gt=0)  # largest t90 that the falls of its reading allow
    rise_s: float | None = Field(default=None, gt=0)  # t90 of steps up and down, where they were measured
    fall_s: float | None = Field(default=None, gt=0)
    flights: int = 0  # that contributed
    falls: int = 0
    steps: int = 0
    source: str = ""  # "falls", "pm25", "falls and pm25", "steps", "co-location"
    reason: str = ""  # why the lag is not corrected

    @property
    def is_usable(self) -> bool:
        """Whether t90 is known well enough to correct the lag."""
        return self.t90_s is not None and not self.reason and self.t90_uncertainty_s <= WORST * self.t90_s

    def improves(self, channel: Channel) -> bool:
        """Whether t90 is known better than by the channel's suite entry."""
        return self.is_usable and not stated_t90(channel)[1] <= self.t90_uncertainty_s

    def stated(self) -> dict[str, object]:
        """The keys of a channel's suite entry that say the same."""
        limit: dict[str, object] = {
            "t90_s": None,
            "t90_uncertainty_s": None,
            "t90_limit_s": self.limit_s,
            "t90_source": self.source or "flights",
        }
        if not self.is_usable:
            return limit
        slow: dict[str, object] = (
            {"slow_t90_s": self.slow_t90_s, "slow_share": self.slow_share} if self.kernel == "two_step" else {}
        )
        return limit | slow | {
            "t90_s": self.t90_s, "t90_uncertainty_s": self.t90_uncertainty_s, "kernel": self.kernel,
            "delay_s": self.delay_s, "delay_uncertainty_s": self.delay_uncertainty_s,
        }  # fmt: skip


class PayloadResponse(_ResponsePart):
    """The responses of a payload's channels."""

    kind: Literal["pc2dae-response"] = "pc2dae-response"
    version: Literal[1] = 1
    suite: str = ""
    flights: tuple[str, ...] = ()  # that were pooled
    channels: Mapping[str, ChannelResponse]

    @property
    def content(self) -> bytes:
        """The file's content."""
        content = self.model_dump(mode="json", exclude_defaults=True) | {"kind": self.kind, "version": self.version}
        return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()

    @property
    def digest(self) -> str:
        """SHA-256 of the file as `pc2dae response` writes it."""
        return hashlib.sha256(self.content).hexdigest()

    def write(self, path: str | Path) -> None:
        """Write the file atomically."""
        write_bytes(path, self.content)


def with_response(suite: Suite, channels: Mapping[str, ChannelResponse]) -> Suite:
    """The suite with the responses of its channels; those that `channels` does not name stay as they are."""
    if not set(channels) & set(suite.names):
        there = ", ".join(suite.names)
        raise ResponseError(f"the response file has no channel of suite '{suite.name}'", hint=f"its channels: {there}")
    families = [
        family.model_copy(
            update={
                "channel": tuple(
                    Channel.model_validate(c.model_dump() | channels[c.name].stated()) if c.name in channels else c
                    for c in family.channel
                )
            }
        )
        for family in suite.family
    ]
    return suite.model_copy(update={"family": tuple(families)})


def read_response(path: str | Path) -> PayloadResponse:
    """Read a response file; a damaged or foreign one is refused."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ResponseError(f"{Path(path).name} cannot be opened ({error.strerror})") from None
    return parse_response(content, name=Path(path).name)


def parse_response(text: str | bytes, *, name: str) -> PayloadResponse:
    """The response file with this content; `name` names it in errors."""
    hint = "pass a file that `pc2dae response` wrote"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ResponseError(f"{name} is not JSON ({str(error).splitlines()[0]})", hint=hint) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ResponseError(f"{name} is not a response file", hint=hint)
    try:
        return PayloadResponse.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ResponseError(f"{name}: {where}: {first['msg']}", hint=hint) from None
