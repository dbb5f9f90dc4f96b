"""The folder of a training run, and that kill −9 does not change the result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from pc2dae.errors import ModelError
from pc2dae.training.fit import TrainingSettings
from pc2dae.training.run import TrainingPlan, train

SHORT = TrainingPlan(settings=TrainingSettings(steps=40, every=5, batch=4, warmup=5))
FILES = ("weights.safetensors", "card.json", "model.onnx", "history.csv")


@pytest.fixture(scope="module")
def finished(records, suite, tmp_path_factory, traced_once):
    folder = tmp_path_factory.mktemp("run") / "model"
    return folder, train(records, suite, SHORT, folder=folder)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def test_a_run_leaves_all_its_files_and_learns(finished):
    folder, card = finished
    assert sorted(p.name for p in folder.iterdir()) == sorted([*FILES, "config.json", "loss.png"])
    history = (folder / "history.csv").read_text().splitlines()
    assert history[0] == "step,train,held_out,held_out_mae,held_out_positivity,held_out_variation"
    assert card["metrics"]["held_out_loss"] < float(history[1].split(",")[2])
    assert card["channels"] == ["co", "no", "co2"]
    assert card["seed"] == 0
    assert card["threads"] == 1


def test_the_scale_comes_from_the_training_part_alone(finished, records):
    _, card = finished
    held = {s["record"] for s in card["held_out"]}
    assert len(held) == 1
    import numpy as np

    kept = np.concatenate([r.values[0] for i, r in enumerate(records) if i not in held])
    assert card["scaler"]["scale"][0] == pytest.approx(float(np.percentile(kept, 99.5)))


def test_the_same_run_again_does_nothing(finished, records, suite):
    folder, card = finished
    before = (folder / "card.json").stat().st_mtime_ns
    assert train(records, suite, SHORT, folder=folder) == card
    assert (folder / "card.json").stat().st_mtime_ns == before


def test_another_run_does_not_overwrite_it(finished, records, suite):
    folder, _ = finished
    with pytest.raises(ModelError, match="holds a run with another plan"):
        train(records, suite, TrainingPlan(settings=TrainingSettings(steps=41)), folder=folder)
    with pytest.raises(ModelError, match="holds a run with another data"):
        train(records[:2], suite, SHORT, folder=folder)


def test_literal_sums_weigh_the_variation_of_every_sample(finished, records, suite, tmp_path):
    plan = replace(SHORT, literal_sums=True)
    card = train(records, suite, plan, folder=tmp_path, with_onnx=False)
    assert card["config"]["literal_sums"]
    assert card["metrics"]["terms"]["mae"] > 50 * finished[1]["metrics"]["terms"]["mae"]  # a window has 128 samples
    with pytest.raises(ModelError, match="'adaptive' is not trained with the paper's loss"):
        replace(plan, network="adaptive")


def test_a_folder_of_something_else_is_left_alone(records, suite, tmp_path):
    (tmp_path / "thesis.txt").write_text("do not touch")
    with pytest.raises(ModelError, match="is not empty"):
        train(records, suite, SHORT, folder=tmp_path)


CHILD = """
import os, sys; sys.path[:0] = [{tests!r}, {tests!r} + "/.."]
from pathlib import Path
from conftest import SUITE, small_record
from pc2dae.training import export
from pc2dae.training.fit import TrainingSettings
from pc2dae.training.run import TrainingPlan, train
from tracing import graph_once
export._graph = graph_once  # as `finished`
plan = TrainingPlan(settings=TrainingSettings(steps=40, every=5, batch=4, warmup=5))
records = [small_record(500, seed, truth=True) for seed in range(3)]
for _ in sys.stdin:  # a new process for each line; torch, imported once, takes five seconds
    if (process := os.fork()) == 0:
        train(records, SUITE, plan, folder=Path({folder!r}))
        os._exit(0)
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kill_minus_nine_at_any_moment_ends_in_the_same_bytes(finished, tmp_path):
    folder = tmp_path / "model"
    command = [sys.executable, "-c", CHILD.format(tests=os.path.dirname(__file__), folder=str(folder))]
    kills, state = 0, folder / "state.safetensors"
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as starter:
        for _ in range(3):
            child = start(starter)
            seen, limit = stamp(state), time.monotonic() + 120
            while stamp(state) == seen and not (folder / "card.json").exists() and time.monotonic() < limit:
                time.sleep(0.005)
            time.sleep(0.02 * kills)  # somewhere between two looks
            os.kill(child, signal.SIGKILL)
            kills += starter.stdout.readline() == f"{-signal.SIGKILL}\n"
        assert kills >= 2
        start(starter)
        assert starter.stdout.readline() == "0\n"
        starter.stdin.close()
    assert contents(folder) == contents(finished[0])


def start(starter):
    starter.stdin.write("\n")
    return int(starter.stdout.readline())


def stamp(path):
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
