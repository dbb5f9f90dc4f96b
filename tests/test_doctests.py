"""Every example in a docstring gives what it shows."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import pc2dae
import suites

SOURCE = Path(pc2dae.__file__).parent
MODULES = sorted(
    "pc2dae." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert result.attempted
    assert not result.failed


def test_examples_of_the_suite_builder() -> None:
    assert not doctest.testmod(suites).failed


@pytest.mark.parametrize("room", ["calibration", "response", "noise", "sentinels"])
def test_physics_has_examples(room: str) -> None:
    assert any(name.startswith(f"pc2dae.{room}") for name in MODULES)
