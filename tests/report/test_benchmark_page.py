from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from pc2dae.errors import FlightError
from pc2dae.report import is_benchmark, report_benchmark
from pc2dae.report.benchmark_figures import radar, scarcity, signals
from pc2dae.report.benchmark_page import COLUMNS, read_results


def results() -> pd.DataFrame:
    scores = {"lean": (60.0, 90.0, 0.0, 20.0), "wide": (50.0, 80.0, 0.0, 30.0), "raw": (0.0, 0.0, 30.0, 0.0)}
    costs = {"lean": (21_481, 60.0, 2.0), "wide": (204_461, 600.0, 20.0), "raw": (0, 0.0, 0.0)}
    rows = [
        (method, "plain", family, "all", flight, 0.05, 0, metric, value, *costs[method])
        for method, values in scores.items()
        for family in ("bc", "all")
        for flight in ("f1", "f2")
        for metric, value in zip(("smoothness", "hf_reduction", "negatives", "mae_improvement"), values, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_the_page_of_a_folder(tmp_path: Path) -> None:
    assert not is_benchmark(tmp_path)
    results().to_parquet(tmp_path / "results.parquet")
    assert is_benchmark(tmp_path)
    report_benchmark(tmp_path, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text("utf-8")
    body = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)
    assert "3 methods on 2 held-out flights" in body
    assert 'id="radar"' in body
    assert body.index(">wide<") < body.index(">lean<") < body.index(">raw<")  # by error removed, yardsticks last
    assert "Family bc" in body


def test_on_the_radar_the_cheapest_is_at_the_rim(tmp_path: Path) -> None:
    results().to_parquet(tmp_path / "results.parquet")
    figure = radar(read_results(tmp_path / "results.parquet"))
    assert figure is not None
    lean, wide = figure.data
    assert lean["name"] == "lean"
    assert lean["r"][:6] == [60.0, 90.0, 100.0, 100.0, 100.0, 100.0]
    assert wide["r"][3:6] == [0.0, 0.0, 0.0]


def test_the_inset_shows_the_strongest_plume() -> None:
    seconds = list(range(200))
    truth = [100.0 if second == 120 else 0.0 for second in seconds]
    rows = [("truth", "co", s, v) for s, v in zip(seconds, truth, strict=True)] + [
        ("raw", "co", s, 1.0) for s in seconds
    ]
    table = pd.DataFrame(rows, columns=["method", "channel", "second", "value"])
    figure = signals(table, "co")
    assert figure is not None
    assert [trace["name"] for trace in figure.data] == ["raw", "raw", "truth", "truth"]
    assert figure.layout["xaxis2"]["range"] == [95.0, 145.0]
    assert signals(table, "bc_uv_1") is None


def test_scarcity_needs_training_sets_of_several_sizes(tmp_path: Path) -> None:
    table = results().assign(label=lambda t: t["method"])
    assert scarcity(table) is None
    figure = scarcity(pd.concat([table.assign(campaigns=c, value=table["value"] + c) for c in (0.5, 1.0)]))
    assert figure is not None
    assert figure.data[0]["x"] == [0.5, 1.0]
    assert figure.data[0]["y"] == [20.5, 21.0]


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    results().drop(columns="seed").to_parquet(tmp_path / "results.parquet")
    with pytest.raises(FlightError, match="lacks the column 'seed'"):
        read_results(tmp_path / "results.parquet")
