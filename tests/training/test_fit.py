"""The training loop learns, keeps the best weights, is reproducible bit for bit, and survives interruptions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from pc2dae.errors import ModelError
from pc2dae.training.fit import TrainingSettings, fit, learning_rate
from pc2dae.training.objectives import Batch


class Interrupted(Exception):
    pass


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv1d(2, 8, 3, padding=1), nn.ELU(), nn.Dropout(0.2), nn.Conv1d(8, 2, 1))


def draw(rng, count=8):
    clean = np.sin(np.arange(32) / 3 + rng.uniform(0, 6, (count, 2, 1)))
    noisy = clean + rng.normal(0, 0.3, clean.shape)
    values, target = (torch.tensor(a, dtype=torch.float32) for a in (noisy, clean))
    ones = torch.ones_like(values)
    return Batch(values, ones, torch.zeros(count, 3, 32), torch.ones(count, ones.shape[1]), target, ones, ones)


def loss(net, batch, step):
    return {"mae": (net(batch.values) - batch.target).abs().mean(), "size": 1e-3 * net(batch.values).abs().mean()}


HELD_OUT = [draw(np.random.default_rng(99))]
SETTINGS = TrainingSettings(steps=60, every=10, warmup=5, learning_rate=2e-2, patience=99, seed=3)


def run(state=None, stop_at=None, settings=SETTINGS):
    net = network()

    def report(look):
        if look.step == stop_at:
            raise Interrupted

    looks = fit(net, draw=draw, loss=loss, held_out=HELD_OUT, settings=settings, state=state, report=report)
    return looks, [p.detach().numpy().tobytes() for p in net.parameters()]


def test_it_learns_and_reports_every_term():
    looks, _ = run()
    assert [look.step for look in looks] == [10, 20, 30, 40, 50, 60]
    assert looks[-1].held_out < 0.7 * looks[0].held_out
    assert looks[0].held_out == pytest.approx(sum(looks[0].terms.values()))
    assert set(looks[0].terms) == {"mae", "size"}


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    assert run() == run()
    assert (
        run()[1]
        != run(settings=TrainingSettings(steps=60, every=10, warmup=5, learning_rate=2e-2, patience=99, seed=4))[1]
    )


def test_an_interrupted_run_ends_in_the_same_bytes(tmp_path):
    state = tmp_path / "state.safetensors"
    for stop in (20, 30, 50):
        with pytest.raises(Interrupted):
            run(state, stop_at=stop)
    assert run(state) == run()


def test_a_state_that_cannot_be_read_is_begun_anew(tmp_path):
    state = tmp_path / "state.safetensors"
    state.write_bytes(b"not a state")
    assert run(state) == run()


def test_the_best_weights_are_left_in_the_network():
    net = network()

    def turning(net, batch, step):  # learns for 20 steps, then unlearns
        terms = loss(net, batch, step)
        return {name: -value for name, value in terms.items()} if net.training and step >= 20 else terms

    settings = TrainingSettings(steps=40, every=5, warmup=1, learning_rate=0.02, patience=99)
    looks = fit(net, draw=draw, loss=turning, held_out=HELD_OUT, settings=settings)
    with torch.no_grad():
        now = sum(float(v) for v in loss(net, HELD_OUT[0], 0).values())
    assert now == pytest.approx(min(look.held_out for look in looks))
    assert min(look.held_out for look in looks) < looks[-1].held_out


def test_it_stops_when_nothing_gets_better():
    frozen = TrainingSettings(steps=200, every=5, warmup=1, learning_rate=0.0, patience=3)
    looks = fit(network(), draw=draw, loss=loss, held_out=HELD_OUT, settings=frozen)
    assert len(looks) == 4


def test_a_loss_that_is_not_finite_is_never_the_best():
    def broken(net, batch, step):
        bad = math.nan if step >= 20 else 0.0
        return {"mae": (net(batch.values) - batch.target).abs().mean() + bad}

    net = network()
    looks = fit(net, draw=draw, loss=broken, held_out=HELD_OUT, settings=TrainingSettings(steps=40, every=10, warmup=1))
    assert math.isnan(looks[-1].held_out)
    assert all(torch.isfinite(p).all() for p in net.parameters())


def test_a_run_that_never_was_finite_says_so():
    def broken(net, batch, step):
        return {"mae": net(batch.values).mean() * math.inf}

    with pytest.raises(ModelError, match="diverged"):
        fit(network(), draw=draw, loss=broken, held_out=HELD_OUT, settings=TrainingSettings(steps=10, every=5))


def test_the_learning_rate_rises_then_falls_to_zero():
    settings = TrainingSettings(steps=100, warmup=10, learning_rate=1.0)
    assert learning_rate(0, settings) == pytest.approx(0.1)
    assert learning_rate(9, settings) == pytest.approx(1.0)
    assert learning_rate(55, settings) == pytest.approx(0.5)
    assert learning_rate(99, settings) < 0.01
