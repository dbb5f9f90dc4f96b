from __future__ import annotations

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs import files, read_logs
from pc2dae.suite import Suite, parse_suite

COUNT = 40
STAMPS = [f"2024-04-10T13:48:{i:02d}Z" for i in range(COUNT)]
CO = [f"{150.629 + 331.7 * (i % 9):.3f}" for i in range(COUNT)]  # 150.629 to 2804.229
BC = [str(1200 * (i % 7) - 350) for i in range(COUNT)]
T = [f"{18.6 + 0.05 * i:.2f}" for i in range(COUNT)]


@functools.lru_cache
def suite(*columns: str) -> Suite:
    channels = "".join(
        f'[[family.channel]]\nname = "c{i}"\ncolumn = "{name}"\nunits = "1"\n' for i, name in enumerate(columns)
    )
    return parse_suite(f'name = "x"\n[[family]]\nname = "all"\n{channels}', where="test")


def read(path: Path, content: bytes | str, *columns: str) -> Stream:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (stream,) = read_logs([path], suite=suite(*columns)).streams
    return stream


def tabs(**columns: list[str]) -> str:
    """A tab-separated file of some columns."""
    rows = zip(STAMPS, *columns.values(), strict=False)
    return "\n".join("\t".join(row) for row in [("time", *columns), *rows]) + "\n"


def written(cell: str, sign: str, group: str = "") -> str:
    """A number with another decimal sign and a sign between thousands."""
    whole, dot, decimals = cell.partition(".")
    return f"{int(whole):,}".replace(",", group) + (sign if dot else "") + decimals


DIALECTS = {
    "comma": (",", lambda cell: cell),
    "semicolon": (";", lambda cell: cell),
    "tab": ("\t", lambda cell: cell),
    "semicolon, decimal comma": (";", lambda cell: written(cell, ",")),
    "tab, decimal comma": ("\t", lambda cell: written(cell, ",")),
    "tab, decimal comma, thousands": ("\t", lambda cell: written(cell, ",", ".")),
    "comma, quoted decimal comma": (",", lambda cell: f'"{written(cell, ",")}"'),
    "comma, quoted thousands": (",", lambda cell: f'"{written(cell, ".", ",")}"'),
    "tab, thousands": ("\t", lambda cell: written(cell, ".", ",")),
    "semicolon, Swiss thousands": (";", lambda cell: written(cell, ".", "’")),
}
ENCODINGS = {
    "UTF-8": lambda text: text.encode(),
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16-LE": lambda text: text.encode("utf-16-le"),
    "Latin-1": lambda text: text.replace("’", "'").encode("latin-1"),
    "NUL tail": lambda text: text.encode() + b"\0" * 512,
}
ENDS = (["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"])


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_and_encoding_gives_the_numbers_of_the_clean_file(dialect, encoding, tmp_path):
    separator, write = DIALECTS[dialect]
    rows = [["time", "CO (µmol)", "bc", "t"]]
    rows += [[stamp, *map(write, cells)] for stamp, *cells in zip(STAMPS, CO, BC, T, strict=True)]
    end = ENDS[(list(DIALECTS).index(dialect) + list(ENCODINGS).index(encoding)) % len(ENDS)]  # each with each in turn
    text = "".join(separator.join(row) + e for row, e in zip(rows, itertools.cycle(end), strict=False))
    stream = read(tmp_path / "x.csv", ENCODINGS[encoding](text), "CO (µmol)", "bc", "t")
    for column, cells in zip(stream.columns.values(), (CO, BC, T), strict=True):
        np.testing.assert_array_equal(column, np.array(cells, dtype=float))


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": ["150,629", "18,60"]}, 150.629),
        ({"a": ["150,629", "1.234,5"]}, 150.629),
        ({"a": ["150,629", "1,234,567"]}, 150629),
        ({"a": ["150,629", "12.5"]}, 150629),
        ({"a": ["150,629", "0,629"]}, 150.629),
        ({"a": ["1.234", "1.234,5"]}, 1234),
        ({"a": ["1.234", "12.5"]}, 1.234),
        ({"a": ["1.234", "1.234.567"]}, 1234),
        ({"a": ["150,629", "150,630"], "b": ["18,60", "18,60"]}, 150.629),
        ({"a": ["150,629", "150,630"], "b": ["18.60", "18.60"]}, 150629),
        ({"a": ["150,629", "150,630"], "other": ["18,60", "18,60"]}, 150.629),
        ({"a": ["1.234", "987"], "b": ["18,60", "18,60"]}, 1234),
        ({"a": ["1.234", "1.235"], "b": ["18,60", "18,60"], "other": ["1.5", "2.5"]}, None),
        ({"a": ["150,629", "150,630"], "b": ["18,60", "18,60"], "c": ["1.5", "2.5"]}, None),
        ({"a": ["150,629", "150,630"], "b": ["7", "8"]}, None),
        ({"a": ["18,60", "18.60"]}, None),
    ],
)
def test_all_rows_and_columns_decide_what_a_comma_means(columns, expected, block, tmp_path, monkeypatch):
    """Also where the deciding cells come blocks after the first one."""
    monkeypatch.setattr(files, "BLOCK", block)
    cells = {name: [first] * (COUNT - 4) + [last] * 4 for name, (first, last) in columns.items()}
    wanted = [name for name in cells if name != "other"]
    if expected is None:
        with pytest.raises(LogError, match=r"x\.csv, line \d+: .*column 'a'.*; write all numbers with a decimal point"):
            read(tmp_path / "x.csv", tabs(**cells), *wanted)
        return
    values = read(tmp_path / "x.csv", tabs(**cells), *wanted).columns["c0"]
    assert set(values[:-4]) == {expected}


def test_what_stays_unclear_is_refused_with_both_readings(tmp_path):
    with pytest.raises(LogError) as refused:
        read(tmp_path / "x.csv", tabs(a=["150,629"] * 20), "a")
    assert str(refused.value) == (
        "x.csv, line 2: '150,629' in column 'a' may be 150.629 or 150629, and no other number shows which;"
        " write all numbers with a decimal point and without thousands separators"
    )


def test_one_damaged_cell_does_not_make_a_file_unreadable(tmp_path):
    path = tmp_path / "x.csv"
    stamps = [f"2024-04-10T13:{48 + i // 60}:{i % 60:02d}Z" for i in range(300)]
    path.write_text("time\ta\n" + "".join(f"{s}\t{'18,60' if i == 7 else '12.5'}\n" for i, s in enumerate(stamps)))
    (stream,) = read_logs([path], suite=suite("a")).streams
    assert np.flatnonzero(np.isnan(stream.columns["c0"])).tolist() == [7]
    assert stream.repairs == (
        "column 'a': 1 cells that are not numbers taken as missing, like '18,60' (first: line 9)",
    )


FORMATS = {
    "padded": lambda i: f"{410 + 1.37 * i:.2f}",
    "padded, significant digits": lambda i: f"{90 + 1.37 * i:#.5g}",
    "shortest": lambda i: repr(round(410 + 1.37 * i, 2)),
    "all halves but the last": lambda i: "410.25" if i == COUNT - 1 else f"{400.5 + i}",
    "constant but the last": lambda i: "0.25" if i == COUNT - 1 else "0.0",
    "whole": lambda i: str(410 + 7 * i),
    "exponents": lambda i: f"{1.5e-5 * 3**i:.2e}",
    "decimal comma": lambda i: f"{410 + 1.37 * i:.2f}".replace(".", ","),
    "quoted": lambda i: f'"{410 + 7 * i}"',
}


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_cut_at_any_byte_of_its_last_lines_has_no_other_number(form, tmp_path):
    lines = [f"{stamp}\t{T[i]}\t{FORMATS[form](i)}\r\n" for i, stamp in enumerate(STAMPS)]
    whole = "time\tt\ta\r\n" + "".join(lines)
    expected = read(tmp_path / "whole.csv", whole, "t", "a")
    for size in range(len(whole) - len("".join(lines[-3:])), len(whole)):
        stream = read(tmp_path / "cut.csv", whole[:size], "t", "a")
        complete = whole[:size].count("\n") - 1
        assert complete <= len(stream.time) <= complete + 1
        assert np.array_equal(stream.time, expected.time[: len(stream.time)])
        lost = len(stream.time) == complete and not whole[:size].endswith("\n")
        for name, values in stream.columns.items():
            seen = np.isfinite(values)
            assert np.array_equal(values[seen], expected.columns[name][: len(values)][seen])
            assert seen[:complete].all()
            lost |= not seen.all()
        assert any("truncated" in line or "incomplete" in line for line in stream.repairs) == lost


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+00:00", "%Y-%m-%d %H:%M:%S.%fZ"])
def test_a_time_in_the_last_column_is_never_cut_to_another_time(form, tmp_path):
    times = [np.datetime64("2024-04-10T13:48:00").item().replace(second=i, microsecond=i * 1000) for i in range(COUNT)]
    lines = [f"{T[i]},{time.strftime(form)}\n" for i, time in enumerate(times)]
    whole = "a,time\n" + "".join(lines)
    expected = read(tmp_path / "whole.csv", whole, "a")
    for size in range(len(whole) - len("".join(lines[-3:])), len(whole)):
        stream = read(tmp_path / "cut.csv", whole[:size], "a")
        assert np.array_equal(stream.time, expected.time[: len(stream.time)])
        assert len(stream.time) >= whole[:size].count("\n") - 1


def test_one_damaged_cell_does_not_turn_points_into_thousands_separators(tmp_path):
    """All cells of `a` have three decimals: one `3,5` among them is damage where `b` shows the sign, else unclear."""
    a = [f"{360 + i}.125" for i in range(COUNT)]
    for damaged in ("360.125.361,5", "3,5"):
        a[7] = damaged
        found = read(tmp_path / "x.tsv", tabs(a=a, b=[f"0.3170{i:02d}" for i in range(COUNT)]), "a", "b").columns["c0"]
        assert found[0] == 360.125
        assert np.isnan(found[7])
    with pytest.raises(LogError, match=r"column 'a' has '3,5', but '360.125' in line 2: decimal point and decimal"):
        read(tmp_path / "y.tsv", tabs(a=a, b=["1"] * COUNT), "a", "b")


def test_a_header_that_lost_a_delimiter_fits_no_row(tmp_path):
    """Rows with a cell more than the header have row names in front if these are text or count up, as R writes them."""
    rows = [f"{stamp},{i},{2 * i}" for i, stamp in enumerate(STAMPS)]
    with pytest.raises(LogError, match="no row can be used"):
        read(tmp_path / "x.csv", "\n".join(["time,a;b", *rows, ""]), "a;b")
    numbered = [f'"{i + 1}",{row}' for i, row in enumerate(rows)]
    found = read(tmp_path / "y.csv", "\n".join(["time,a,b", *numbered, ""]), "a", "b")
    np.testing.assert_array_equal(found.columns["c1"], 2 * np.arange(COUNT))


def test_rows_that_mostly_do_not_fit_their_header_are_refused(tmp_path):
    """One row that lost a delimiter too would fit, with its columns moved."""
    rows = [f"{stamp},1,2,3" for stamp in STAMPS]
    rows[5] = rows[5].replace(",1,2", ",12")
    with pytest.raises(LogError, match=r"x.csv, line 2: 39 of 40 rows do not have the 3 cells that the header names"):
        read(tmp_path / "x.csv", "\n".join(["time,a;b,c", *rows, ""]), "c")
