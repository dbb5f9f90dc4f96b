from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.errors import FlightError
from pc2dae.report import is_benchmark, report_benchmark
from pc2dae.report.benchmark_figures import forest, radar, scarcity, signals
from pc2dae.report.benchmark_page import COLUMNS, read_results, table_of

METRICS = ("smoothness", "hf_reduction", "negatives", "mae_improvement", "snr_improvement")


def results() -> pd.DataFrame:
    """Lean, wide, a clipped filter and the raw record on six flights; the filter beats lean by 10 ± 1 % every time."""
    scores = {
        ("lean", "plain"): (60.0, 90.0, 0.0, 20.0, 2.0),
        ("wide", "plain"): (50.0, 80.0, 0.0, 30.0, 3.0),
        ("tv", "clip"): (70.0, 70.0, 0.0, 31.0, 4.0),
        ("raw", "plain"): (0.0, 0.0, 30.0, 0.0, 0.0),
    }
    costs = {"lean": (21_481, 60.0, 2.0), "wide": (204_461, 600.0, 20.0)}
    rows = [
        ("simulated", method, dress, family, "all", f"f{flight}", "flight", 0, 1.0, metric, value + 0.1 * flight,
         *costs.get(method, (float("nan"),) * 3))
        for (method, dress), values in scores.items()
        for family in ("bc", "gas", "co2", "all")
        for flight in range(6)
        for metric, value in zip(METRICS, values, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_the_page_of_a_folder(tmp_path: Path) -> None:
    assert not is_benchmark(tmp_path)
    results().to_parquet(tmp_path / "results.parquet")
    assert is_benchmark(tmp_path)
    report_benchmark(tmp_path, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text("utf-8")
    body = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)
    assert "4 methods, counting output heads, on 6 held-out simulated flights" in body
    assert 'id="radar"' in body
    assert "A constant would fill the smoothness, HF reduction and compliance axes" in body
    assert 'id="forest"' in body
    assert "<b>+31 %</b><span>MAE reduction: tv, clipped</span>" in body
    assert '<td class=" best">11.0 [11.0, 11.0]</td>' in body  # paired with lean, the interval excludes 0
    assert '<td class=" soft">67.3</td>' in body  # what the paper has for lean
    assert "Real records" not in body  # nothing was run on any


def test_a_lead_is_bold_and_yardsticks_stand_back() -> None:
    lean = [Cell("PC²DAE-Lean"), Cell(1.0, is_bold=True), Cell(9.2)]
    sheet = ResultTable("Table 9. Try", ["method", "SNR, dB", "paper"], [[Cell("raw"), Cell(0.0), Cell()], lean])
    table = table_of(sheet)
    assert [row.kind for row in table.rows] == ["rule", "ours"]
    assert table.rows[1].best == (1,)
    assert table.rows[1].cells == ["PC²DAE-Lean", "1.0", "9.2"]
    assert table.soft == (2,)


def test_on_the_radar_the_cheapest_is_at_the_rim() -> None:
    drawn = radar(results())
    assert drawn is not None
    lean, wide = drawn.figure.axes[0].lines
    assert lean.get_label() == "PC²DAE-Lean"
    assert list(lean.get_ydata())[3:6] == [100.0, 100.0, 100.0]
    assert list(wide.get_ydata())[3:6] == [0.0, 0.0, 0.0]


def test_the_radar_draws_the_methods_and_axes_there_are() -> None:
    table = results()
    literal = table[table["method"] == "lean"].assign(method="lean-paper", training_s=float("nan"))
    literal.loc[literal["metric"] == "mae_improvement", "value"] = -258.0
    drawn = radar(pd.concat([table[table["method"] != "wide"], literal]))
    assert drawn is not None
    (axes,) = drawn.figure.axes
    lean, paper = axes.lines
    assert paper.get_label() == "PC²DAE-Lean, literal"
    assert list(lean.get_ydata())[6] == pytest.approx(20.25)  # MAE reduction, mean of six flights
    assert list(paper.get_ydata())[6] == 0.0  # worse than raw: at the centre
    blind = table[(table["metric"] != "mae_improvement") & (table["method"] == "lean")].assign(training_s=float("nan"))
    drawn = radar(blind)
    assert drawn is not None
    labels = [text.get_text().replace("\n", " ") for text in drawn.figure.axes[0].texts]
    assert labels == ["smoothness", "HF reduction", "compliance", "few parameters", "fast inference"]
    assert radar(table[table["method"] == "raw"]) is None


def test_the_forest_has_the_best_method_on_top_and_an_interval_over_flights() -> None:
    drawn = forest(results())
    assert drawn is not None
    (axes,) = drawn.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["raw", "PC²DAE-Lean", "PC²DAE-Wide", "tv"]
    _, (clip, _, (bars,)) = axes.containers
    assert list(clip.get_xdata()) == [4.25]
    low, high = bars.get_segments()[0][:, 0]
    assert 0 < high - 4.25 < 0.25  # the flights spread over 0.5
    assert 0 < 4.25 - low < 0.25


def test_a_figure_is_svg_in_the_colours_of_the_page() -> None:
    drawn = forest(results())
    assert drawn is not None
    assert drawn.svg.startswith("<svg")
    assert "currentColor" in drawn.svg
    assert "var(--line)" in drawn.svg
    again = forest(results())
    assert again is not None
    assert again.svg == drawn.svg  # no dates, no random identifiers


def test_the_inset_shows_the_strongest_plume() -> None:
    seconds = list(range(200))
    truth = [100.0 if second == 120 else 0.0 for second in seconds]
    rows = [("truth", "co", s, v) for s, v in zip(seconds, truth, strict=True)] + [
        ("raw", "co", s, 1.0) for s in seconds
    ]
    table = pd.DataFrame(rows, columns=["method", "channel", "second", "value"])
    drawn = signals(table, "co")
    assert drawn is not None
    (axes,) = drawn.figure.axes
    assert [line.get_label() for line in axes.lines] == ["raw", "truth"]
    (inset,) = axes.child_axes
    assert inset.get_xlim() == (95.0, 145.0)
    assert signals(table, "bc_uv_1") is None


def test_scarcity_needs_training_sets_of_several_sizes() -> None:
    table = results()[lambda t: t["dress"] == "plain"]
    assert scarcity(table) is None
    sizes = [table.assign(campaigns=c, value=table["value"] + c) for c in (0.5, 1.0)]
    injected = table.assign(noise="inject 0.05", value=99.0)  # must be ignored
    drawn = scarcity(pd.concat([*sizes, injected]))
    assert drawn is not None
    line = drawn.figure.axes[0].lines[0]
    assert list(line.get_xdata()) == [0.5, 1.0]
    assert list(line.get_ydata()) == [2.75, 3.25]
    assert [tick.get_text() for tick in drawn.figure.axes[0].get_xticklabels()] == ["1/2", "1"]
    drawn = scarcity(pd.concat([*sizes, *(size.assign(dress="skip") for size in sizes)]))
    assert drawn is not None
    assert "PC²DAE-Lean + skip, noise units" in [
        text.get_text() for text in drawn.figure.axes[0].get_legend().get_texts()
    ]


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    results().drop(columns="seed").to_parquet(tmp_path / "results.parquet")
    with pytest.raises(FlightError, match="lacks the column 'seed'"):
        read_results(tmp_path / "results.parquet")
