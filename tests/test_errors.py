"""Errors are one line with a hint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.errors import FlightError, LogError, ModelError, Pc2daeError, SuiteError, explain, nearest


def test_the_hint_follows_the_message() -> None:
    assert (
        str(SuiteError("'pbb' is not a unit", hint="did you mean 'ppb'?")) == "'pbb' is not a unit; did you mean 'ppb'?"
    )


def test_without_a_hint_the_message_stands_alone() -> None:
    error = LogError("a.csv: the file is empty")
    assert str(error) == "a.csv: the file is empty"
    assert error.hint is None


def test_any_error_is_one_line() -> None:
    full = OSError(28, "No space left on device", "/x")
    assert str(explain(MemoryError())) == "not enough memory; use a shorter record, or allow more memory"
    assert str(explain(full)) == "/x: No space left on device"
    assert str(explain(full, with_path=False)) == "No space left on device"
    assert str(explain(ZeroDivisionError("a\nb"))) == "internal error, ZeroDivisionError: a b; please report it"


@pytest.mark.parametrize("child", [SuiteError, LogError, FlightError, ModelError])
def test_one_except_catches_them_all(child: type[Pc2daeError]) -> None:
    with pytest.raises(Pc2daeError):
        raise child("wrong")


@pytest.mark.parametrize(
    ("wrong", "choices", "hint"),
    [
        ("unit", ["units", "name", "column"], "did you mean 'units'?"),
        ("CO_A", ["co_a", "co_b"], "did you mean 'co_a'?"),  # case alone is no reason to give up
        ("co_c", ["co_a", "co_b"], "did you mean 'co_b'?"),
        ("xyz", ["units", "name"], "known: name, units"),
        ("xyz", [], "none is known"),
        ("?", [f"c{i:02d}" for i in range(14)], f"known: {', '.join(f'c{i:02d}' for i in range(12))} and 2 more"),
    ],
)
def test_nearest(wrong: str, choices: list[str], hint: str) -> None:
    assert nearest(wrong, choices) == hint


@given(st.lists(st.text("abcdefgh_", min_size=3, max_size=9), min_size=1, max_size=8, unique=True), st.data())
def test_a_name_that_exists_is_its_own_nearest(choices: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(choices))
    assert nearest(name, choices) == f"did you mean '{name}'?"


def test_the_nearest_name_is_found_whatever_its_case() -> None:
    assert nearest("co", ["CO", "time"]) == "did you mean 'CO'?"
