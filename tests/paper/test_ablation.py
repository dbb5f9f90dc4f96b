"""Each ablated network lacks exactly what its name says."""

from __future__ import annotations

import pytest
import torch

from pc2dae.model.pc2dae import LEAN, WIDE
from pc2dae.paper.ablation import VARIANTS, build
from pc2dae.suite import load_suite
from pc2dae.windows.scaling import Scaler

torch.set_num_threads(1)
SUITE = load_suite("black-kite").only(["bc", "gas", "co2"])
SCALER = Scaler(tuple(c.lower_bound for c in SUITE.channels), (10.0,) * 15, (0.2,) * 15, (20.0,) * 3, (5.0,) * 3)
HEADS = 3


def made(name, seed=0):
    torch.manual_seed(seed)
    network = build(name, SUITE, SCALER).eval()
    for head in network.heads:  # an untrained network corrects nothing
        torch.nn.init.normal_(head.projection.weight)
    return network


def run(network, *, environment=20.0, level=1.0):
    values = torch.full((1, 15, 128), level)
    inputs = (values, torch.ones_like(values), torch.full((1, 3, 128), environment), torch.ones(1, 15))
    return network(*inputs[: len(network.inputs)]).detach()


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("lean-no-smoothing", 15 * 5 + HEADS),
        ("lean-no-attention", HEADS * 2 * 20 * 20),
        ("lean-no-environment", 3 * 12 + 12 + 12 * 12 + 12 + HEADS * 12 * 20),
        ("lean-no-softplus", 0),
        ("lean-no-skip", 0),
        ("lean-no-noise-units", 0),
        ("lean-no-variation", 0),
        ("lean-channel-alpha", HEADS - 15),  # 21,493
    ],
)
def test_what_is_taken_away_is_gone_and_nothing_else(name, gone):
    assert sum(p.numel() for p in made(name).parameters()) == 21_481 - gone


def test_only_without_softplus_can_it_fall_below_the_bound():
    bound = torch.tensor([c.lower_bound for c in SUITE.channels])[None, :, None]
    lowest = [min((run(made(name, seed), level=-50.0) - bound).min() for seed in range(5)) for name in VARIANTS]
    assert [name for name, low in zip(VARIANTS, lowest, strict=True) if low < 0] == ["lean-no-softplus"]


def test_without_environment_the_weather_does_not_matter():
    network = made("lean-no-environment")
    assert torch.equal(run(network, environment=0.0), run(network, environment=40.0))
    whole = made("lean-no-attention")
    assert not torch.equal(run(whole, environment=0.0), run(whole, environment=40.0))


def test_with_an_alpha_per_channel_one_can_be_smoothed_alone():
    heads = made("lean-channel-alpha").heads
    assert all((head.smoothing.blend == -2.0).all() for head in heads)  # as lean begins
    smoothing, step = heads[1].smoothing, torch.arange(9.0).expand(1, 9, 9) ** 2
    with torch.no_grad():
        smoothing.blend.fill_(-50.0)
        smoothing.blend[4] = 0.0  # half of the mean of (2², … 6²), 18, and half of 4² itself
    out = smoothing(step).detach()[0, :, 4]
    assert torch.allclose(out, torch.tensor([16.0] * 4 + [17.0] + [16.0] * 4))


def test_each_takes_the_others_settings_and_keeps_its_own_size():
    swapped = VARIANTS["lean-as-wide"]
    assert (swapped.widths, swapped.beta, swapped.dropout) == (LEAN.widths, WIDE.beta, WIDE.dropout)
    assert (swapped.positivity, swapped.smoothness) == (WIDE.positivity, WIDE.smoothness)
    assert sum(p.numel() for p in made("wide-as-lean").parameters()) == 204_461
