"""Properties of the adaptive network for any weights; accuracy of trained weights is left to the benchmark."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pc2dae.edge.lag import without_lag
from pc2dae.model.adaptive import VARIANTS, Adaptive, AdaptiveConfig
from pc2dae.model.sliding import Windows
from pc2dae.response.kernels import Kernel, respond
from pc2dae.training.adaptive import Deployed, reach_of

SMALL = AdaptiveConfig(width=8, reach=16, right=16)


def network(config: AdaptiveConfig = SMALL, seed: int = 0) -> Adaptive:
    torch.manual_seed(seed)
    made = Adaptive(config).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def run(
    net: Adaptive,
    values: torch.Tensor,
    valid: torch.Tensor | None = None,
    sigma: float | torch.Tensor = 1.0,
    bound: float = 0.0,
    group: list[int] | None = None,
):
    ones = torch.ones_like(values)
    groups = torch.tensor(range(values.shape[1]) if group is None else group)[None, :, None] * ones
    with torch.no_grad():
        masked = ones if valid is None else valid
        return net(values, masked, sigma * ones, 0 * ones, bound + 0 * ones, groups, values, ones, 0 * ones)


def test_windows_are_sums_of_their_samples() -> None:
    sums = Windows(torch.tensor([1.0, 2, 4, 8, 16]), 4, 4)
    assert sums.left(2).tolist() == [1, 3, 6, 12, 24]  # t−1 … t
    assert sums.ahead(2).tolist() == [3, 6, 12, 24, 16]  # t … t+1
    assert sums.around(2).tolist() == [3, 7, 14, 28, 24]  # t−1 … t+1
    assert Windows(torch.tensor([1.0, 2, 4, 8, 16]), 4, 1).around(2).tolist() == [1, 3, 6, 12, 24]  # causal


def test_every_variant_is_small() -> None:
    counts = {name: sum(p.numel() for p in Adaptive(config).parameters()) for name, config in VARIANTS.items()}
    assert all(count <= 22_500 for count in counts.values()), counts


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


@settings(max_examples=60, deadline=None)
@given(
    values=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    noise=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    lag1=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    valid=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    group=arrays(np.float32, (1, 2, 40), elements=FLOATS),
    bound=st.sampled_from([0.0, 300.0, -5.0]),
    lag=st.none() | st.tuples(*3 * [arrays(np.float32, (1, 2, 40), elements=FLOATS)]),
    seed=st.integers(0, 3),
)
def test_any_input_gives_values_in_the_range_of_the_samples(
    values, noise, lag1, valid, group, bound, lag, seed
) -> None:
    """Finite, at or above the bound, and before the bound within 3 σ of the samples they can be made from."""
    reading, gain, tau = (values, np.ones_like(values), np.zeros_like(values)) if lag is None else lag
    facts = values, valid, noise, lag1, np.full_like(values, bound), group, reading, gain, tau
    inputs = [torch.from_numpy(a) for a in facts]
    least = inputs[4]
    with torch.no_grad():
        outputs = Deployed(network(seed=seed))(*inputs)
    assert all(torch.isfinite(output).all() for output in outputs)
    assert (outputs[0] >= least).all()
    assert (outputs[2] > 0).all()
    unbounded = outputs[1].numpy().astype(float)
    sigma = np.where((noise > 1e-30) & (noise < 1e30), noise, 1.0).astype(float)
    with np.errstate(invalid="ignore"):
        seen = (np.abs(values) < 1e30) & (np.abs(reading) < 1e30) & (valid > 0.5)
    for channel in range(2):
        x = values[0, channel].astype(float)
        for t in range(40):
            near = seen[0, channel, max(t - 15, 0) : t + 16]
            if not near.any():
                continue
            part = x[max(t - 15, 0) : t + 16][near]
            largest = np.abs(x[seen[0, channel]]).max()
            slack = 3 * sigma[0, channel, t] + 1e-6 * (largest + sigma[0, channel].max())  # float32
            assert part.min() - slack <= unbounded[0, channel, t] <= part.max() + slack


@pytest.mark.parametrize("t90_s", [4.0, 20.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_lag_estimates_are_in_the_range_of_the_inverted_samples(t90_s: float, seed: int) -> None:
    """[min u − 3 σ_u, max u + 3 σ_u] of the lag-free samples u within reach, σ_u their amplified noise."""
    rng = np.random.default_rng(seed)
    air = 20 + 100 * (np.arange(300) % 60 < 12)
    reading = respond(air, Kernel(t90_s)) + rng.normal(0, 1, 300)
    new = rng.random((1, 300)) < 0.8
    free = without_lag(reading[None], new, np.zeros((1, 300)), [Kernel(t90_s)])
    zero = np.zeros((1, 300))
    facts = free.values, new, free.gain, free.lag1, zero, zero, free.reading, free.gain, free.tau
    with torch.no_grad():
        unbounded = Deployed(network(seed=seed))(*(torch.from_numpy(a[None].astype(np.float32)) for a in facts))[1]
    for t, estimate in enumerate(unbounded[0, 0].double().numpy()):
        part = slice(max(t - 15, 0), t + 16)
        u, slack = free.values[0, part][new[0, part]], 3 * free.gain[0, t] + 1e-3
        assert u.min() - slack <= estimate <= u.max() + slack


@pytest.mark.parametrize("config", VARIANTS)
@pytest.mark.parametrize("gain", [1.0, 1e10, 1e30, 3e38])
def test_any_finite_weights_and_facts_give_finite_values(config: str, gain: float) -> None:
    """Also where float32 overflows inside, the noise is far below the bound or channels belong to no group."""
    net = network(VARIANTS[config])
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_((torch.randn_like(parameter) * gain).clamp(-3.4e38, 3.4e38))
    values = torch.randn(1, 3, 64) * torch.tensor([1.0, 1e-20, 1e29])[:, None]
    ones = torch.ones_like(values)
    for noise, bound, group, tau in ((1.0, 0.0, 1.0, 0.0), (1e-22, 1e6, 1.0, 9e5), (1e-29, -1e29, torch.nan, 8.0)):
        facts = noise * ones, 0 * ones, bound * ones, group * ones, values / 2, (1 + tau) * ones, tau * ones
        with torch.no_grad():
            outputs = Deployed(net)(values, ones, *facts)
        assert all(torch.isfinite(output).all() for output in outputs)
        assert (outputs[0] >= bound).all()
        assert (outputs[2] > 0).all()


@pytest.mark.parametrize("config", VARIANTS)
def test_a_noise_level_that_changes_does_not_change_what_was_measured(config: str) -> None:
    """Averages are formed in physical units: a constant stays, whatever the noise level does."""
    values = torch.full((1, 1, 300), 420.0)
    sigma = torch.logspace(-3, 3, 300)[None, None]
    estimate, _ = run(network(VARIANTS[config]), values, sigma=sigma, bound=300.0)
    assert torch.allclose(estimate, values, atol=1e-3)


def test_copies_are_as_if_they_were_not_there() -> None:
    torch.manual_seed(3)
    values = 10 + 3 * torch.randn(1, 2, 200)
    copied = torch.cat([values, values[:, :1], values[:, :1]], 1)
    alone, sigma = run(network(), values)
    estimate, spread = run(network(), copied, group=[0, 1, 0, 0])
    for channel, original in enumerate((0, 1, 0, 0)):
        assert torch.allclose(estimate[:, channel], alone[:, original], atol=1e-4)
        assert torch.allclose(spread[:, channel], sigma[:, original], atol=1e-4)


def test_what_lies_under_a_flag_is_not_looked_at() -> None:
    torch.manual_seed(4)
    values = 10 + torch.randn(1, 2, 200)
    valid = torch.ones_like(values)
    valid[0, 0, 1::2] = 0
    held, noise, nothing = values.clone(), values.clone(), values.clone()
    held[0, 0, 1::2] = values[0, 0, ::2]
    noise[0, 0, 1::2] = 1e20 * torch.randn(100)
    nothing[0, 0, 1::2] = torch.nan
    answers = [run(network(), x, valid) for x in (held, noise, nothing)]
    for other in answers[1:]:
        assert all(torch.equal(a, b) for a, b in zip(answers[0], other, strict=True))


@pytest.mark.parametrize("config", VARIANTS)
def test_values_may_be_counted_from_anywhere(config: str) -> None:
    """Also where a channel begins late: nothing may depend on what the constant is."""
    torch.manual_seed(5)
    values = 10 + torch.randn(1, 2, 600, dtype=torch.float64)
    valid = torch.ones_like(values)
    valid[0, 1, :400] = 0
    valid[0, 0, 100:130] = 0
    net = network(VARIANTS[config]).double()
    near, far = (run(net, values + level, valid, bound=level)[0] - level for level in (0.0, 1000.0))
    assert torch.allclose(near, far, atol=1e-6)
