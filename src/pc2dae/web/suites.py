"""Shipped suites and suites saved from the page, as TOML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tomli_w

from pc2dae.atomic import write_text
from pc2dae.errors import nearest
from pc2dae.suite import Suite, load_suite, parse_suite, presets
from pc2dae.web.problems import Refused
from pc2dae.web.schemas import Mapping, SuiteChannel, SuiteShown

MOST = 200


class Suites:
    """A folder of TOML files, and the presets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """All suites, the shipped ones first."""
        return [*presets(), *sorted(path.stem for path in self.folder.glob("*.toml"))]

    def check(self, name: str | None) -> None:
        """Refuse an unknown suite."""
        if name is not None and name not in self.names():
            raise Refused(422, f"unknown suite '{name[:40]}'", hint=nearest(name, self.names()))

    def source(self, name: str) -> str | Path:
        """The argument for `load_suite` that loads the suite of this name."""
        return name if name in presets() else self.folder / f"{name}.toml"

    def text(self, name: str) -> str:
        """A suite as TOML."""
        if name in presets():
            return as_toml(load_suite(name))
        return (self.folder / f"{name}.toml").read_text(encoding="utf-8")

    def shown(self, name: str) -> SuiteShown:
        """A suite as the page shows it."""
        suite = load_suite(self.source(name))
        channels = [
            SuiteChannel(name=c.name, family=suite.family_of(c.name), units=c.units, lower_bound=c.lower_bound,
                         t90_s=c.t90_s, column=c.column)
            for c in suite.channels
        ]  # fmt: skip
        return SuiteShown(name=name, shipped=name in presets(), channels=channels)

    def save(self, name: str, mapping: Mapping) -> SuiteShown:
        """Save a mapping as a suite; invalid units or names are refused in one line."""
        if name in presets():
            raise Refused(409, f"'{name}' is a shipped suite", hint="choose another name")
        if len(self.names()) > MOST and name not in self.names():
            raise Refused(409, f"{MOST} suites exist already", hint="delete some")
        text = as_toml(suite_of(name, mapping))
        write_text(self.folder / f"{name}.toml", text)
        return self.shown(name)

    def delete(self, name: str) -> None:
        """Delete a saved suite."""
        if name in presets():
            raise Refused(409, f"'{name}' is a shipped suite")
        (self.folder / f"{name}.toml").unlink()


def suite_of(name: str, mapping: Mapping) -> Suite:
    """The suite that a mapping describes."""
    families: dict[str, list[dict[str, Any]]] = {}
    for channel in mapping.channels:
        families.setdefault(channel.family, []).append(channel.model_dump(exclude={"family"}, exclude_none=True))
    time = {"column": mapping.time_column, "zone": mapping.zone, "format": mapping.time_format}
    table = {
        "name": name,
        "rate_hz": mapping.rate_hz,
        "missing": mapping.missing,
        "time": time,
        "environment": mapping.environment,
        "motion": mapping.motion,
        "family": [{"name": family, "channel": channels} for family, channels in families.items()],
    }
    return parse_suite(json.dumps(table), where=name)


def as_toml(suite: Suite) -> str:
    """A suite as a TOML file that reads back as the same suite."""
    return tomli_w.dumps(suite.model_dump(mode="json", exclude_defaults=True))
