"""What is asked about real tables of unknown payloads, from their headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pc2dae.web.intake.proposal import propose, read_any
from pc2dae.web.intake.tables import table_heads

DATA = Path(__file__).parents[3] / "shared" / "data"
ASKED = {
    "konza_uav_burn/kolibri/1D.csv": (1463, {"zone", "altitude", "same:co2", "same:co"}),
    "aircore_drone/EMP_QCLAS_312_03.csv": (752, {"unit:Altitude", "unit:CH4_spec_corr"}),  # date and time: two columns
    "aircore_drone/RUG_ACORE_312_03.csv": (434, {"zone", "unit:alt", "same:ch4", "unit:ch4.corr", "unit:ch4.raw"}),
    "stove_carbon/A_RawData.csv.gz": (11293, {"zone", "same:co2", "unit:CO", "unit:CO2", "unit:CH4", "unit:CO2v"}),
}


@pytest.mark.skipif(not DATA.exists(), reason="the real files of ../shared/data are not here")
@pytest.mark.parametrize("file", ASKED)
def test_real_headers(file: str) -> None:
    (table,) = table_heads([DATA / file])
    proposed = propose(table)
    assert proposed is not None
    rows, questions = ASKED[file]
    assert {question.id for question in proposed[1]} == questions
    (stream,) = read_any(table)
    assert stream.rows_read == rows


@pytest.mark.skipif(not DATA.exists(), reason="the real files of ../shared/data are not here")
def test_a_table_without_column_names_is_recognised() -> None:
    tables = table_heads(list((DATA / "elt_licor").glob("*.daq")))
    assert [table.is_headless for table in tables] == [True, True]
