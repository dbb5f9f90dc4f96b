"""Tuning of the adaptive network to noisy flights."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from pc2dae.models import load_model
from pc2dae.training.adaptive import pretrained
from pc2dae.training.finetune import SETTINGS, finetune, summary
from pc2dae.windows.slicing import Record


def bright_record(seed, length=1200):
    """CO that rises a thousand σ in a second or two, NO that hardly rises, CO₂ between them."""
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    plume = sum(np.exp(-0.5 * ((t - c) / rng.uniform(1, 4)) ** 2) for c in rng.uniform(0, length, 15))
    clean = np.stack([100 + 10000 * plume, 20 + 30 * plume, 420 + 30 * plume])
    values = clean + rng.standard_normal(clean.shape) * [[10], [10], [1]]
    return Record(values.astype(np.float32), np.ones(values.shape, bool), np.zeros((3, length), np.float32),
                  clean.astype(np.float32))  # fmt: skip


@pytest.fixture(scope="module")
def flights():
    return [bright_record(seed) for seed in range(3)]


def error(model, records, suite):
    job = load_model(model).prepare(None, suite)
    answers = [job(r.values.astype(float), r.environment, r.valid).value for r in records]
    return np.mean([np.abs(a - r.target).mean(axis=1) / [10, 10, 1] for a, r in zip(answers, records, strict=True)])


def test_bright_plumes_do_not_teach_how_to_average_noise(tmp_path, flights, suite):
    card = finetune(flights, suite, folder=tmp_path / "tuned", settings=replace(SETTINGS, steps=30, batch=2))
    assert "blind-spot" in summary(card)
    assert card["metrics"]["is_tuned"]
    assert error(tmp_path / "tuned", flights, suite) < 1.03 * error("adaptive", flights, suite)


def test_what_guesses_worse_is_not_kept(tmp_path, flights, suite):
    wild = replace(SETTINGS, steps=2, batch=1, warmup=0, every=2, learning_rate=1.0, clip=1e9)
    card = finetune(flights, suite, folder=tmp_path / "tuned", settings=wild)
    assert not card["metrics"]["is_tuned"]
    kept = load_file(next((tmp_path / "tuned").glob("*.safetensors")))
    assert all(torch.equal(kept[name], value) for name, value in pretrained()[0].state_dict().items())
