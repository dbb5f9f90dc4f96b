from __future__ import annotations

import pandas as pd

from pc2dae.plumes import Survey
from pc2dae.plumes.survey import ENCOUNTER_COLUMNS, FACTOR_COLUMNS, RATIO_COLUMNS
from pc2dae.view.plumes import ratio_table


def plumes(*methods: tuple[str, str]) -> Survey:
    figures = (0.05, 0.01, 0.008, 0.006, "1", 4.0, 1.0)
    rows = [("flight", pd.Timestamp(0), ratio, method, *figures, method == "integral", "") for ratio, method in methods]
    none, no_factor = (pd.DataFrame(columns=columns) for columns in (ENCOUNTER_COLUMNS, FACTOR_COLUMNS))
    return Survey(none, pd.DataFrame(rows, columns=RATIO_COLUMNS), none, no_factor)


def test_a_ratio_without_a_slope_says_why() -> None:
    table = ratio_table(
        plumes(("co/co2", "integral"), ("co/co2", "slope"), ("nox/co", "integral"), ("mce", "integral"))
    )
    assert table is not None
    assert [row.cells[:4] for row in table.rows] == [
        ["ΔNOₓ/ΔCO", "–", "0.050 ± 0.010", "–"],
        ["ΔCO/ΔCO₂", "–", "0.050 ± 0.010", "0.050 ± 0.010"],
        ["MCE", "–", "0.050 ± 0.010", "–"],
    ]
    assert (
        table.note
        == "Bold: the method with the smaller uncertainty. ΔNOₓ/ΔCO: correlation below 0.5, so no regression is given."
    )


def test_nothing_is_said_where_every_ratio_has_its_slope() -> None:
    table = ratio_table(plumes(("co/co2", "integral"), ("co/co2", "slope"), ("mce", "integral")))
    assert table is not None
    assert "correlation" not in table.note
