"""Suites from TOML files, shipped presets and the JSON kept in a flight."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from pc2dae.errors import SuiteError, nearest, nearest_first
from pc2dae.suite.metadata import Metadata
from pc2dae.suite.model import Channel, Family, Suite, TimeColumn

_PRESETS = files("pc2dae.suite") / "presets"
# Where the validator's own words would not help.
_WORDS = {
    "string_pattern_mismatch": "a name is letters, digits and underscores, and starts with a letter",
    "float_parsing": "must be a number",
    "tuple_type": "must be a list",
    "too_short": "needs at least one entry",
}


def presets() -> list[str]:
    """The names of the suites that ship with the package."""
    return sorted(p.name.removesuffix(".toml") for p in _PRESETS.iterdir() if p.name.endswith(".toml"))


def load_suite(source: str | Path) -> Suite:
    """The suite of a preset's name or of a TOML file."""
    if str(source) in presets():
        return parse_suite((_PRESETS / f"{source}.toml").read_text(encoding="utf-8"), where=str(source))
    path = Path(source)
    if path.is_dir():
        raise SuiteError(f"{path} is a folder, not a suite", hint="name a .toml file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise SuiteError(
            f"unknown suite '{source}'", hint=f"name a .toml file or a preset ({', '.join(presets())})"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path} cannot be read as a suite: {error}", hint="a suite is a TOML file in UTF-8") from None
    return parse_suite(text, where=path.name)


@lru_cache(maxsize=32)  # every stage asks for the suite of its flight
def parse_suite(text: str, *, where: str) -> Suite:
    """The suite written as TOML (or as the JSON of `Suite.model_dump_json`) in `text`; `where` names it in errors."""
    if text.lstrip().startswith("{"):
        return _validated(lambda: Suite.model_validate_json(text), where)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"{where} is not TOML: {error}", hint="see docs/suite.md for an example") from None
    return _validated(lambda: Suite.model_validate(table), where)


def _validated(build: Any, where: str) -> Suite:
    try:
        suite: Suite = build()
    except ValidationError as error:
        # A misspelt key shows up twice, as missing and as unknown: only the second says what to do.
        problem = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        key = _key(problem["loc"])
        if problem["type"] == "extra_forbidden":
            choose = nearest_first if problem["loc"][0] == "metadata" else nearest
            hint = choose(str(problem["loc"][-1]), _keys_at(problem["loc"]))
            raise SuiteError(f"{where}: unknown key '{key}'", hint=hint) from None
        if problem["type"] == "literal_error" and problem["loc"][-1] == "[key]":  # keys of [environment] and [motion]
            hint = nearest(str(problem["input"]), _literals(str(problem["loc"][0])))
            raise SuiteError(f"{where}: unknown key '{problem['loc'][0]}.{problem['input']}'", hint=hint) from None
        if problem["type"] == "literal_error":
            hint = nearest(str(problem["input"]), re.findall(r"'([^']+)'", problem["ctx"]["expected"]))
            raise SuiteError(f"{where}: key '{key}': unknown value {problem['input']!r}", hint=hint) from None
        if problem["type"] == "missing":
            raise SuiteError(f"{where}: key '{key}' is missing", hint="see docs/suite.md for an example") from None
        shown = f", not {problem['input']!r}" if isinstance(problem["input"], str | int | float) else ""
        said = _WORDS.get(problem["type"]) or problem["msg"][:1].lower() + problem["msg"][1:]
        raise SuiteError(f"{where}: key '{key}': {said}{shown}") from None
    except SuiteError as error:
        raise SuiteError(f"{where}: {Exception.__str__(error)}", hint=error.hint) from None
    return suite


def _key(loc: Iterable[int | str]) -> str:
    """A pydantic location as a person writes it: family 2, channel 1, `unit` → `family[2].channel[1].unit`."""
    text = ""
    for part in loc:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    parents = [part for part in loc[:-1] if isinstance(part, str)]
    tables: dict[str, type[BaseModel]] = {
        "family": Family,
        "channel": Channel,
        "time": TimeColumn,
        "metadata": Metadata,
    }
    model: type[BaseModel] = Suite
    for parent in parents:
        model = tables.get(parent, model)
    return list(model.model_fields)


def _literals(table: str) -> list[str]:
    key_type = get_args(Suite.model_fields[table].annotation)[0]
    return list(get_args(key_type))
