"""Every table has its reference rows and the published figures, and files are written."""

import json

import pandas as pd

from pc2dae.benchmark.study_tables import ablation_table, scarcity_tables, seen_tables
from pc2dae.benchmark.tables import BLIND, COMPARED
from pc2dae.benchmark.write import write_tables
from pc2dae.paper.signals import write_signals
from pc2dae.paper.tables import all_tables


def test_every_table_has_the_yardsticks(results):
    tables = all_tables(results[1])
    assert [s.title.split(".")[0] for s in tables] == [
        *(f"Table {n}" for n in ("1", "2a", "2b", "2c", "3a", "3b", "4a", "4b", "4c", "4e"))
    ]
    for table in tables:
        assert [row[0].text for row in table.rows[:4]] == ["constant", "raw", "clip", "truth"], table.title
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_published_injection_figures_stand_beside_ours(results):
    (table,) = [s for s in all_tables(results[1]) if s.title.startswith("Table 3a")]
    row = next(r for r in table.rows if r[0].value == "ma5")
    assert table.columns[2] == table.columns[4] == "paper"
    assert (row[2].value, row[4].value, row[6].value) == (-7.9, 4.6, 38.2)


def test_one_flight_makes_nothing_bold(results):
    assert not any(cell.is_bold for table in all_tables(results[1]) for row in table.rows for cell in row)


def test_tables_are_written_as_markdown_and_json(results, plan):
    out, table = results
    write_tables(all_tables(table), out, plan)
    assert (out / "tables.md").read_text().startswith("# Benchmark\n")
    written = json.loads((out / "tables.json").read_text())
    assert written["facts"]["plan"]["flights"] == 1
    assert len(written["tables"]) == 10


def test_signals_hold_the_drawn_channels_of_one_flight(results, plan):
    out, _ = results
    write_signals(plan, out)
    table = pd.read_parquet(out / "signals.parquet")
    assert set(table.channel) == {"bc_uv_1", "co_a"}
    assert set(table.method) == {"raw", "truth", "bayesshrink"}
    assert table[(table.method == "raw") & (table.channel == "co_a")].second.tolist() == list(range(360))


def made(method, values, *, campaigns=1.0):
    columns = ["method", "dress", "family", "channel", "flight", "noise", "seed", "campaigns", "metric", "value"]
    rows = [
        (method, "plain", "all", "all", f"f{i}", "flight", 0, campaigns, metric, v)
        for metric in (*COMPARED, *BLIND)
        for i, v in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=columns)


def test_scarcity_has_one_column_per_amount_and_gaps_to_lean():
    amounts = (0.125, 3.0)
    values = {"lean": [1.0] * 5, "wide": [3.0] * 5}
    means, gaps = scarcity_tables(pd.concat([made(m, v, campaigns=a) for m, v in values.items() for a in amounts]))
    assert means.columns[2:] == ["0.125 campaign", "3 campaigns"]
    assert [c.text for c in means.rows[0]] == ["PC²DAE-Lean", "MAE reduction, %", "1.0", "1.0"]
    assert [c.text for c in gaps.rows[0]] == ["PC²DAE-Wide", "MAE reduction, %", *["2.0 [2.0, 2.0]"] * 2]


def test_flights_trained_on_stand_beside_unseen_ones():
    rows = made("lean-paper", [60.0, -38.0, -50.0]).replace({"f0": "1-1", "f1": "1-6", "f2": "5001-1"})
    (table,) = seen_tables(rows)
    assert [c.text for c in table.rows[0]][1::2] == ["60.0", "−38.0", "−50.0"]


def test_ablation_compares_each_network_with_its_own_base():
    rows = pd.concat([made(m, v) for m, v in {
        "lean": [1.0, 2.0, 3.0, 4.0, 5.0], "wide": [9.0] * 5,
        "lean-no-attention": [2.0, 3.0, 4.0, 5.0, 6.0], "wide-as-lean": [8.0] * 5,
    }.items()])  # fmt: skip
    (table,) = ablation_table(rows)
    last = {row[0].text: row[-2] for row in table.rows}
    assert last["lean"].text == last["wide"].text == ""
    assert (last["lean-no-attention"].value, last["wide-as-lean"].value) == (1.0, -1.0)
    assert last["lean-no-attention"].is_bold
    assert last["wide-as-lean"].is_loss
    assert not last["wide-as-lean"].is_bold  # bold is for the better
    assert "Training seeds of each: 1." in table.note
