"""Pretraining of the adaptive network, in miniature."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file

import pc2dae.training.pretrain as room
from pc2dae.training.pretrain import SETTINGS, draw_scenes, pretrain


@pytest.fixture
def short(monkeypatch):
    """Scenes small enough for a test."""
    monkeypatch.setattr(room, "draw_scenes", partial(draw_scenes, rows=2, length=64))
    return replace(SETTINGS, steps=10, every=5, seed=1)


def test_what_ships_lies_halfway_between_dim_and_bright_scenes(tmp_path, short):
    network = pretrain(tmp_path, settings=short)
    dim, bright = (load_file(tmp_path / f"{name}.safetensors") for name in ("state", "bright"))
    assert any(not torch.equal(dim[f"best.{n}"], bright[f"best.{n}"]) for n in network.state_dict())
    for name, value in network.state_dict().items():
        assert torch.allclose(value, (dim[f"best.{name}"] + bright[f"best.{name}"]) / 2)


def test_the_same_seed_gives_the_same_weights_and_a_finished_run_is_not_run_again(tmp_path, short):
    once, twice, again = (pretrain(tmp_path / place, settings=short).state_dict() for place in "aba")
    assert all(torch.equal(once[n], twice[n]) and torch.equal(once[n], again[n]) for n in once)


def test_training_can_start_from_weights(tmp_path, short):
    initial = pretrain(tmp_path / "first", settings=short).state_dict()
    save_file(initial, tmp_path / "start.safetensors")
    other = replace(short, seed=2)
    started, anew = (
        pretrain(tmp_path / name, settings=other, start=start).state_dict()
        for name, start in (("more", tmp_path / "start.safetensors"), ("anew", None))
    )
    moved, apart = (sum(float((x[n] - initial[n]).square().sum()) for n in initial) for x in (started, anew))
    assert 0 < moved < 0.1 * apart
