"""Shipped suites and suites saved from the page, as TOML."""

from __future__ import annotations

import json
import re
import time
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
        saved = None if name in presets() else self._known(name).get("saved")
        return SuiteShown(name=name, shipped=name in presets(), saved=saved, channels=channels)

    def free_name(self, title: str) -> str:
        """A name for the suite of a flight that no other suite has."""
        stem = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:36].strip("-") or "payload"
        taken = set(self.names())
        return next(name for n in range(1, MOST + 3) if (name := stem if n == 1 else f"{stem}-{n}") not in taken)

    def learn(self, name: str, headers: list[str]) -> None:
        """Remember the headers of a table that a saved suite has read, so that it is found again."""
        if name in presets() or name not in self.names():
            return
        known = self._known(name)
        known["headers"] = list(dict.fromkeys([*known.get("headers", []), *headers]))
        write_text(self.folder / f"{name}.json", json.dumps(known))

    def by_header(self) -> dict[str, str]:
        """The file of the saved suite for each known header; the newest counts."""
        mine = sorted((self._known(path.stem) | {"path": str(path)} for path in self.folder.glob("*.toml")),
                      key=lambda known: known.get("saved", 0))  # fmt: skip
        return {header: known["path"] for known in mine for header in known.get("headers", [])}

    def _known(self, name: str) -> dict[str, Any]:
        """When a suite was saved and which headers it has read."""
        try:
            return dict(json.loads((self.folder / f"{name}.json").read_bytes()))
        except (OSError, ValueError):
            return {}

    def save(self, name: str, mapping: Mapping) -> SuiteShown:
        """Save a mapping as a suite; invalid units or names are refused in one line."""
        if name in presets():
            raise Refused(409, f"'{name}' is a shipped suite", hint="choose another name")
        if len(self.names()) > MOST and name not in self.names():
            raise Refused(409, f"{MOST} suites exist already", hint="delete some")
        text = as_toml(suite_of(name, mapping))
        write_text(self.folder / f"{name}.toml", text)
        write_text(self.folder / f"{name}.json", json.dumps({"saved": int(time.time() * 1000), "headers": []}))
        return self.shown(name)

    def delete(self, name: str) -> None:
        """Delete a saved suite."""
        if name in presets():
            raise Refused(409, f"'{name}' is a shipped suite")
        (self.folder / f"{name}.toml").unlink()
        (self.folder / f"{name}.json").unlink(missing_ok=True)


def suite_of(name: str, mapping: Mapping) -> Suite:
    """The suite that a mapping describes."""
    families: dict[str, list[dict[str, Any]]] = {}
    for channel in mapping.channels:
        families.setdefault(channel.family, []).append(channel.model_dump(exclude={"family"}, exclude_none=True))
    stamps = {"column": mapping.time_column, "zone": mapping.zone, "format": mapping.time_format}
    table = {
        "name": name,
        "rate_hz": mapping.rate_hz,
        "missing": mapping.missing,
        "time": stamps,
        "environment": mapping.environment,
        "motion": mapping.motion,
        "column_units": mapping.column_units,
        "family": [{"name": family, "channel": channels} for family, channels in families.items()],
    }
    return parse_suite(json.dumps(table), where=name)


def as_toml(suite: Suite) -> str:
    """A suite as a TOML file that reads back as the same suite."""
    return tomli_w.dumps(suite.model_dump(mode="json", exclude_defaults=True))
