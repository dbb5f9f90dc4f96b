"""Which channels a live stream has, and whether they are those of the suite."""

from __future__ import annotations

import json
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from pydantic import ValidationError

from pc2dae.errors import Pc2daeError
from pc2dae.response.stated import stated_responses
from pc2dae.suite import Suite, load_suite
from pc2dae.web.live.live_models import LiveChannel
from pc2dae.web.suites import Suites

_NAMED = 6  # names in one line


@dataclass(frozen=True)
class Payload:
    """What our gateway takes: a suite by its name or file, without the families excluded."""

    source: str
    suite: Suite
    exclude: tuple[str, ...] = ()


class Match:
    """Compares the names in a stream with the channels of the payload."""

    def __init__(self, suites: Suites) -> None:
        self.suites = suites
        self.foreign: list[LiveChannel] | None = None  # channels that a gateway elsewhere states
        self._fitting = lru_cache(maxsize=1)(self._find_fitting)

    def read_card(self, payload: bytes) -> None:
        """Take the channels from the card of a gateway."""
        try:
            stated = json.loads(payload)["payload"]["channels"]
            self.foreign = [LiveChannel(**channel, has_data=False) for channel in stated]
        except (ValueError, TypeError, KeyError, ValidationError, RecursionError):
            self.foreign = None

    def channels(self, payload: Payload, with_data: Set[str], *, is_own: bool) -> list[LiveChannel]:
        """The channels that get estimates."""
        if self.foreign is not None and not is_own:
            return [c.model_copy(update={"has_data": c.name in with_data}) for c in self.foreign]
        _, reasons = stated_responses(payload.suite)
        return [
            LiveChannel(name=c.name, units=c.units, family=family.name, lower_bound=c.lower_bound,
                        lag_not_corrected=reasons.get(c.name, ""), has_data=c.name in with_data)
            for family in payload.suite.family
            if family.name not in payload.exclude
            for c in family.channel
        ]  # fmt: skip

    def ignored(self, payload: Payload, seen: Set[str], channels: list[LiveChannel]) -> list[str]:
        """Names in the stream that are no channels."""
        return sorted(seen - {c.name for c in channels} - set(payload.suite.names))

    def judge(self, payload: Payload, seen: Set[str], channels: list[LiveChannel]) -> tuple[str | None, str | None]:
        """One line if no name in the stream is a channel, and the suite that fits best."""
        if not seen or seen & {c.name for c in channels}:
            return None, None
        best = self._fitting(frozenset(seen), tuple(self.suites.names()))
        named = ", ".join(sorted(seen)[:_NAMED]) + (f" and {len(seen) - _NAMED} more" if len(seen) > _NAMED else "")
        hint = f"suite {best} fits best" if best is not None else "no stored suite has these names"
        return f"the stream sends {named}, but suite {payload.suite.name} has none of these; {hint}", best

    def _find_fitting(self, seen: frozenset[str], names: tuple[str, ...]) -> str | None:
        """The suite with most of these names, and among equals with fewest others."""
        scores = []
        for name in names:
            with suppress(Pc2daeError, OSError):
                channels = set(load_suite(self.suites.source(name)).names)
                scores.append((len(seen & channels), -len(channels - seen), name))
        common, _, best = max(scores, default=(0, 0, ""))
        return best if common else None
