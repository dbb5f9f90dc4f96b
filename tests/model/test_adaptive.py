"""Laws of the adaptive network that hold for any weights; how well trained ones do is the benchmark's business."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pc2dae.model.adaptive import VARIANTS, Adaptive, AdaptiveConfig, Windows
from pc2dae.training.adaptive import Deployed, reach_of

SMALL = AdaptiveConfig(width=8, reach=16, right=16)


def network(config: AdaptiveConfig = SMALL, seed: int = 0) -> Adaptive:
    torch.manual_seed(seed)
    made = Adaptive(config).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def run(net: Adaptive, values: torch.Tensor, valid: torch.Tensor | None = None, sigma: float = 1.0, bound: float = 0.0):
    ones = torch.ones_like(values)
    with torch.no_grad():
        return net(values, ones if valid is None else valid, sigma * ones, 0 * ones, bound + 0 * ones[..., :1])


def test_windows_are_sums_of_their_samples() -> None:
    sums = Windows(torch.tensor([1.0, 2, 4, 8, 16]), 4, 4)
    assert sums.left(2).tolist() == [1, 3, 6, 12, 24]  # t−1 … t
    assert sums.ahead(2).tolist() == [3, 6, 12, 24, 16]  # t … t+1
    assert sums.around(2).tolist() == [3, 7, 14, 28, 24]  # t−1 … t+1
    assert Windows(torch.tensor([1.0, 2, 4, 8, 16]), 4, 1).around(2).tolist() == [1, 3, 6, 12, 24]  # causal


def test_every_variant_is_small() -> None:
    counts = {name: sum(p.numel() for p in Adaptive(config).parameters()) for name, config in VARIANTS.items()}
    assert all(count <= 21_500 for count in counts.values()), counts


def test_look_ahead_is_what_the_variants_promise() -> None:
    assert reach_of(Adaptive(VARIANTS["adaptive-causal"]))[1] == 0
    assert 0 < reach_of(Adaptive(VARIANTS["adaptive-short"]))[1] <= 10


@pytest.mark.parametrize("channels", [1, 2, 5])
def test_a_constant_stays_constant_also_across_gaps(channels: int) -> None:
    values = 7.0 * torch.arange(1, channels + 1)[None, :, None].expand(1, channels, 120).clone()
    valid = torch.ones_like(values)
    valid[..., 40:46] = 0
    values[..., 40:46] = -1e9  # what is not valid is not looked at
    estimate, _ = run(network(), values, valid)
    expected = 7.0 * torch.arange(1, channels + 1)[None, :, None]
    assert torch.allclose(estimate[..., 20:-20], expected.expand_as(estimate)[..., 20:-20], rtol=2e-3)


def test_channels_are_alike_whatever_their_order_and_unit() -> None:
    torch.manual_seed(1)
    values = torch.randn(1, 4, 100) * 3 + 10
    order = [2, 0, 3, 1]
    estimate, sigma = run(network(), values)
    shuffled, _ = run(network(), values[:, order])
    assert torch.allclose(shuffled, estimate[:, order], atol=1e-4)
    scaled, scaled_sigma = run(network(), values * 1000, sigma=1000.0)
    assert torch.allclose(scaled, 1000 * estimate, rtol=1e-4)
    assert torch.allclose(scaled_sigma, 1000 * sigma, rtol=1e-4)


def test_a_sample_matters_only_within_reach() -> None:
    net = network().double()
    back, ahead = reach_of(net)
    values = torch.randn(1, 2, 600, dtype=torch.float64)
    moved = values.clone()
    moved[0, :, 300] += 40
    changed = (run(net, values)[0] != run(net, moved)[0]).any(1)[0].nonzero().flatten()
    assert changed.min() >= 300 - ahead
    assert changed.max() <= 300 + back


FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(max_examples=40, deadline=None)
@given(
    values=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    noise=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    lag1=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    valid=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    bound=st.sampled_from([0.0, 300.0, -5.0]),
)
def test_any_input_gives_finite_values_at_or_above_the_bound(values, noise, lag1, valid, bound) -> None:
    least = torch.full((1, 2, 1), bound)
    with torch.no_grad():
        outputs = Deployed(network())(*map(torch.from_numpy, (values, valid, noise, lag1)), least)
    assert all(torch.isfinite(output).all() for output in outputs)
    assert (outputs[0] >= least).all()
    assert (outputs[2] > 0).all()
