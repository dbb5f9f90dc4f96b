"""A table as Markdown, JSON and on the terminal."""

from pc2dae.benchmark.result_table import Cell, ResultTable

SHEET = ResultTable("Table 0. Test", ["method", "gain", "paper"], [
    [Cell("raw"), Cell(-0.04), Cell(None)],
    [Cell("lean"), Cell(1234.56, 1000.0, 1500.0, is_bold=True, digits=0), Cell(float("nan"))],
], note="How to read it.")  # fmt: skip


def test_markdown_has_a_heading_the_note_and_aligned_figures():
    assert SHEET.markdown().splitlines() == [
        "## Table 0. Test",
        "",
        "How to read it.",
        "",
        "| method | gain | paper |",
        "|---|---:|---:|",
        "| raw | 0.0 |  |",
        "| lean | **1,235 [1,000, 1,500]** |  |",
    ]


def test_json_keeps_what_rounding_hides():
    assert SHEET.as_json()["rows"] == [
        ["raw", -0.04, None],
        ["lean", {"value": 1234.56, "low": 1000.0, "high": 1500.0, "bold": True}, None],
    ]


def test_a_minus_is_a_minus():
    assert Cell(-12.34).text == "−12.3"


def test_the_terminal_gets_every_row():
    assert SHEET.rich().row_count == 2
