from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.logs.cells import WIDEST, Cells, columns, different, joined
from pc2dae.logs.numbers import Numbers, numbers

FLOATS = st.floats(-1e300, 1e300)
FORMATS = st.sampled_from(["{}", "{:.2f}", "{:.15g}", "{:.16g}", "{:+.6e}", " {:.3f} "])


def test_cells_are_found_with_and_without_quotes() -> None:
    found = columns('a,"b c",1\n"",µ,', ",", 3)
    assert found is not None
    assert [cells.texts() for cells in found] == [["a", ""], ["b c", "µ"], ["1", ""]]


def test_rows_that_need_a_closer_look_are_not_cut() -> None:
    for text in ("a,b,c\nd,e", "a,b\n\nc,d", '"a,b",c', 'a"b",c', '"a""b",c', '"a,b'):
        assert columns(text, ",", 2) is None


def test_columns_are_joined_by_a_blank() -> None:
    found = columns("2024-04-10\t13:48\tx\n2024-04-11\t13:49\ty", "\t", 3)
    assert found is not None
    assert joined(found[:2]).texts() == ["2024-04-10 13:48", "2024-04-11 13:49"]
    assert joined([found[0], found[2]]).texts() == ["2024-04-10 x", "2024-04-11 y"]


def test_blanks_are_stripped_and_equal_cells_found() -> None:
    cells = Cells.of(["  1", "1 ", "", "  ", "2"]).stripped()
    assert cells.texts() == ["1", "1", "", "", "2"]
    texts, first, each = different(cells.matrix())
    assert [texts[i] for i in each] == cells.texts()
    assert sorted(first) == [0, 2, 4]


def test_a_cell_that_is_too_wide_is_no_number() -> None:
    counts = Numbers()
    wide = "1" * (WIDEST + 1)
    found = numbers(Cells.of([wide, "2" * 80, "1"]), np.arange(3), name="a", sign=".", counts=counts)
    assert np.isnan(found).tolist() == [True, True, False]
    assert counts.listed() == [
        f"column 'a': 2 cells that are not numbers taken as missing, like '{wide[:30]}' (first: line 0)"
    ]


@given(st.lists(st.tuples(FLOATS, FORMATS), min_size=1))
def test_numbers_are_rounded_as_by_python(drawn: list[tuple[float, str]]) -> None:
    texts = [text for value, form in drawn if len(text := form.format(value)) <= WIDEST] or ["0"]
    found = numbers(Cells.of(texts), np.arange(len(texts)), name="a", sign=".", counts=Numbers())
    assert found.tolist() == [float(text) for text in texts]
