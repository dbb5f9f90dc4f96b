"""One spelling for each unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.errors import SuiteError
from pc2dae.suite import canonical_units


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ppb", "ppb"),
        ("µg/m³", "ug m-3"),  # micro sign
        ("μg m⁻³", "ug m-3"),  # Greek mu
        ("ug/m^3", "ug m-3"),
        ("ug m**-3", "ug m-3"),
        ("ng·m-3", "ng m-3"),
        ("umol/mol", "umol mol-1"),
        ("m/s", "m s-1"),
        ("°C", "degC"),
        (" % ", "%"),
        ("Mm-1", "Mm-1"),
        ("#/cm3", None),
        ("PPB", None),
        ("parts", None),
        ("", None),
        ("ppb ppx", None),
    ],
)
def test_spellings(written: str, meant: str | None) -> None:
    if meant is None:
        with pytest.raises(SuiteError, match="is not a unit"):
            canonical_units(written)
    else:
        assert canonical_units(written) == meant


@given(st.text(max_size=12))
def test_the_spelling_is_final(text: str) -> None:
    try:
        once = canonical_units(text)
    except SuiteError:
        return
    assert canonical_units(once) == once
