"""Limits by channel and units: a limit in ppm never applies to a channel in ppb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pc2dae.errors import nearest
from pc2dae.web.alarm_models import Limit, LimitShown
from pc2dae.web.problems import Refused


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
