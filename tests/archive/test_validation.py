"""Cross-validation: flights are scored only by models not trained on them; the table has the spread over flights."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pc2dae.archive.sources import find_sources
from pc2dae.archive.validation import Terms, Trial, folds_of, ready_one, summarise, trials_of, truth_of, try_one
from pc2dae.errors import ModelError


def test_folds_are_even_and_depend_on_names_alone() -> None:
    names = [f"f{n}" for n in range(7)]
    folds = folds_of(names, 3)
    assert sorted(list(folds.values()).count(fold) for fold in (1, 2, 3)) == [2, 2, 3]
    assert folds == folds_of(names[::-1], 3)


@pytest.mark.parametrize("count", [1, 4])
def test_folds_that_cannot_be_are_refused(count: int) -> None:
    with pytest.raises(ModelError, match=f"{count} folds for 3 flights"):
        folds_of(["a", "b", "c"], count)


def test_trials_are_all_combinations() -> None:
    found = trials_of(["lean", "wide"], seeds=2, folds=3)
    assert len(found) == len({trial.name for trial in found}) == 12
    assert found[0].name == "lean/seed_0/fold_1"


def test_a_flight_counts_once_however_many_seeds() -> None:
    values = {("a", 0): 1.0, ("a", 1): 3.0, ("b", 0): 6.0, ("b", 1): 6.0}
    rows = [("lean", seed, 1, flight, "all", "all", "m", value) for (flight, seed), value in values.items()]
    columns = ["variant", "seed", "fold", "flight", "family", "channel", "metric", "value"]
    (row,) = summarise(pd.DataFrame(rows, columns=columns)).to_dict("records")
    assert (row["mean"], row["flights"]) == (4.0, 2)  # flights 2 and 6
    assert row["sd_flights"] == pytest.approx(8**0.5)
    assert row["sd_seeds"] == pytest.approx(0.5**0.5)  # seeds 3.5 and 4.5


def test_the_truth_beside_a_flight(tree: Path) -> None:
    source = find_sources(tree)[0]
    assert truth_of(source) is None
    beside = source.path.with_name("flight_000.truth.nc")
    beside.touch()
    assert truth_of(source) == beside


@pytest.mark.slow
def test_a_trial_leaves_its_fold_out_and_is_done_once(long_tree: Path, tmp_path: Path) -> None:
    sources = find_sources(long_tree)
    files = {source.name: ready_one(source, tmp_path, None, None) for source in sources}
    folds = {source.name: 1 + n % 3 for n, source in enumerate(sources)}
    trial = Trial("despawn", 0, 2)  # small, and not exported: quick
    terms = Terms(tmp_path, files, {}, folds, steps=2)
    scores = try_one(trial, terms)
    assert set(scores["flight"]) == {sources[1].name}
    assert set(scores["metric"]) >= {"smoothness", "negatives"}
    weights = tmp_path / trial.name / "weights.safetensors"
    made = weights.stat().st_mtime_ns
    pd.testing.assert_frame_equal(try_one(trial, terms), scores)
    assert weights.stat().st_mtime_ns == made
