from __future__ import annotations

import numpy as np
import pytest

from pc2dae.view.formatting import duration, number, plus_minus, units


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (1234567.0, "1\u202f234\u202f567"), (-0.01234, "−0.0123"), (12.0, "12.0"), (np.nan, "–"), (1e-12, "0"),
])  # fmt: skip
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("value", "sigma", "text"), [
    (1234.6, 56.7, "1\u202f235 ± 57"), (0.8906, 0.0016, "0.8906 ± 0.0016"), (3.14159, np.nan, "3.14"),
    (np.nan, 1.0, "–"), (-5.0, 1.2, "−5.0 ± 1.2"),
])  # fmt: skip
def test_plus_minus_ends_where_the_uncertainty_ends(value: float, sigma: float, text: str) -> None:
    assert plus_minus(value, sigma) == text


def test_units_and_durations() -> None:
    assert units("ng m-3 per ppb") == "ng m⁻³ per ppb"
    assert units("ug m-3") == "µg m⁻³"
    assert [duration(s) for s in (47, 1500, 7894)] == ["47 s", "25 min", "2 h 12 min"]
