"""The variables of a channel: those that the stages write are those of the table, and the docs list them all."""

from __future__ import annotations

from pathlib import Path

import pytest

import pc2dae
from pc2dae.channel_schema import CHANNEL_VARIABLES
from pc2dae.flight.schema import suite_of
from pc2dae.simulate.campaign import simulate_flight, write_flight_files
from pc2dae.suite.model import reserved_for

DOCS = Path(__file__).parents[1] / "docs" / "files.md"


@pytest.mark.parametrize("model", ["adaptive", "savgol"])
def test_every_variable_of_a_channel_is_in_the_table(tmp_path: Path, model: str) -> None:
    logs = write_flight_files(simulate_flight(3, 5.0), tmp_path)
    clean = pc2dae.denoise(pc2dae.ingest([logs])[0], model=model)
    names = suite_of(clean).names
    known = {variable.of(name) for name in names for variable in CHANNEL_VARIABLES}
    written = {str(n) for n in clean.variables if str(n).removeprefix("qc_").startswith(names)}
    assert written <= known
    assert {f"{names[0]}_raw", f"{names[0]}_unbounded"} <= written


def test_the_docs_list_every_variable_of_a_channel() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for variable in CHANNEL_VARIABLES:
        assert f"| `{variable.of('<name>')}` |" in text


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("co_uncertainty", "a channel's uncertainty"),
        ("co_random_uncertainty", "a channel's random uncertainty"),
        ("qc_co", "a channel's flags"),
        ("scd30_samples", "the number of an instrument's rows"),
        ("co_ambient", None),
        ("co", None),
    ],
)
def test_names_of_variables_are_reserved(name: str, use: str | None) -> None:
    assert reserved_for(name) == use
