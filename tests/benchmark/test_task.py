"""A run in small units: what it writes, and that it resumes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae.benchmark import run, so_far
from pc2dae.benchmark.plan import Contender
from pc2dae.benchmark.scoring import COLUMNS
from pc2dae.benchmark.task import RESULTS, SIMULATED, Unit, processor_seconds, units_of


def value(table, method, metric, *, noise="flight", dress="plain"):
    rows = table[(table.method == method) & (table.metric == metric) & (table.noise == noise) & (table.dress == dress)]
    return rows[(rows.family == "all") & (rows.channel == "all")].value.item()


def test_the_table_has_its_columns_and_every_yardstick(results):
    out, table = results
    assert tuple(table.columns) == COLUMNS
    assert {"constant", "raw", "clip", "truth", "ma5", "bayesshrink"} == set(table.method)
    pd.testing.assert_frame_equal(pd.read_parquet(out / RESULTS), table)


def test_the_yardsticks_score_what_they_must(results):
    _, table = results
    assert value(table, "raw", "mae_improvement") == pytest.approx(0)
    assert value(table, "constant", "smoothness") == pytest.approx(100)
    assert value(table, "truth", "mae_improvement") == pytest.approx(100)
    assert value(table, "truth", "mae_improvement", noise="inject 0.05") == pytest.approx(100)
    assert value(table, "clip", "negatives") == 0


def test_against_a_noisy_record_even_the_truth_scores_badly(results):
    _, table = results
    assert value(table, "truth", "mae_improvement", noise="noisy 0.05") < 0


def test_a_filter_tuned_with_the_truth_is_no_worse_than_untuned(results):
    _, table = results
    tuned = value(table, "ma5", "mae_improvement", dress="oracle")
    assert tuned > value(table, "ma5", "mae_improvement", dress="clip")


def test_a_second_run_does_nothing_again_and_a_lost_piece_is_made_anew(results, plan):
    out, table = results
    told = []
    again = run(plan, out, workers=0, report=lambda *news: told.append(news))
    assert told == []
    pd.testing.assert_frame_equal(again, table)
    unit = next(u for u in units_of(plan, None) if u.contender == Contender("ma5"))
    unit.piece(out).unlink()
    known = so_far(plan, out)
    assert ("ma5", "plain") not in set(zip(known.method, known.dress, strict=True))
    assert len(known) == len(table) - (table.method.eq("ma5") & table.dress.eq("plain")).sum()
    renewed = run(plan, out, workers=0, report=lambda *news: told.append(news))
    assert told == [("ma5 on 5001-1", 9, 9)]
    assert processor_seconds(out) > 0
    same = [c for c in COLUMNS if c != "inference_ms"]
    pd.testing.assert_frame_equal(renewed[same], table[same])


def test_new_weights_of_a_shipped_model_make_a_new_piece(tmp_path, monkeypatch):
    (tmp_path / "lean.onnx").write_bytes(b"one")
    monkeypatch.setattr("pc2dae.benchmark.task.files", lambda _: tmp_path)
    unit = Unit("simulated", Contender("lean"), SIMULATED, "5001-1")
    first = unit.piece(tmp_path)
    (tmp_path / "lean.onnx").write_bytes(b"two")
    assert unit.piece(tmp_path) != first


def test_no_piece_is_shared_by_two_different_units(plan):
    units = units_of(plan, None)
    assert len({u.piece(Path("anywhere")) for u in units}) == len(units)
    assert np.unique([u.flight for u in units]).tolist() == ["5001-1"]
