"""Parameter counts, receptive field and output guarantee of the network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pc2dae.model.noise_units import features
from pc2dae.model.pc2dae import LEAN, PC2DAE, WIDE, count_parameters
from pc2dae.suite import load_suite
from pc2dae.windows.scaling import Scaler
from suites import make_suite, scaler_of

torch.set_num_threads(1)
TARGETS = load_suite("black-kite").only(["bc", "gas", "co2"])


def lean(seed=0, suite=TARGETS):
    torch.manual_seed(seed)
    return PC2DAE(LEAN, suite, scaler_of(suite)).eval()


@pytest.mark.parametrize(("variant", "count"), [(LEAN, 21_481), (WIDE, 204_461)])
def test_parameter_counts_of_the_paper(variant, count):
    network = PC2DAE(variant, TARGETS, scaler_of(TARGETS))
    assert sum(p.numel() for p in network.parameters()) == count
    assert sum(n for _, n in count_parameters(network)) == count


def test_counts_per_component_by_hand():
    counts = dict(count_parameters(PC2DAE(LEAN, TARGETS, scaler_of(TARGETS))))
    assert counts["trunk 1"] == 15 * 20 * 5 + 20 + 2 * 20 + 15 * 20 + 20
    assert counts["trunk 6"] == 20 * 20 * 5 + 20 + 2 * 20
    assert counts["environment"] == 3 * 12 + 12 + 12 * 12 + 12
    assert counts["heads 2"] == 2 * 20 * 20 + 12 * 20 + 20 * 9 + 9 + 9 * 5 + 1


def test_the_six_blocks_see_57_samples():
    network = lean()
    for block in network.trunk:
        block.normalisation = torch.nn.Identity()  # frozen: GroupNorm sees the whole window
    x = torch.randn(1, 15, 201, requires_grad=True)
    network.trunk(x)[0, :, 100].sum().backward()
    touched = torch.nonzero(x.grad[0].abs().sum(0)).squeeze()
    assert touched.min() == 100 - 28
    assert touched.max() == 100 + 28
    assert len(touched) == 57


def test_another_suite_builds_its_own_heads():
    suite = make_suite({"a": {"co": "ppm"}, "b": {"x": "ppb", "y": "ppb"}}, name="k")
    network = lean(suite=suite)
    assert [head.projection.out_channels for head in network.heads] == [1, 2]
    assert network(torch.zeros(2, 3, 40), torch.ones(2, 3, 40), torch.zeros(2, 3, 40), torch.ones(2, 3)).shape == (
        2,
        3,
        40,
    )


anything = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(max_examples=60, deadline=None)
@given(
    values=arrays(np.float32, (1, 15, 16), elements=anything),
    valid=arrays(np.float32, (1, 15, 16), elements=anything),
    environment=arrays(np.float32, (1, 3, 16), elements=anything),
    noise=arrays(np.float32, (1, 15), elements=anything),
    gain=st.sampled_from([1.0, 1e3, 1e10, 1e30, 3e38]),
    seed=st.integers(0, 9),
)
def test_any_input_and_any_weights_give_finite_values_at_or_above_the_bound(
    values, valid, environment, noise, gain, seed
):
    network = lean(seed)
    with torch.no_grad():
        for p in network.parameters():
            p.copy_(torch.randn_like(p) * gain)
        out = network(*map(torch.from_numpy, (values, valid, environment, noise))).numpy().astype(np.float64)
    assert np.isfinite(out).all()
    assert (out >= np.array([c.lower_bound for c in TARGETS.channels])[:, None]).all()


def test_a_bound_that_float32_rounds_down_is_still_kept():
    n = len(TARGETS.names)
    scaler = Scaler((0.7,) * n, (1e-3,) * n, (0.0,) * n, (0.0,) * 3, (1.0,) * 3)
    assert float(np.float32(0.7)) < 0.7
    network = PC2DAE(LEAN, TARGETS, scaler).eval()
    with torch.no_grad():
        for head in network.heads:
            head.projection.bias.fill_(-1e6)
        out = network(torch.zeros(1, n, 32), torch.ones(1, n, 32), torch.zeros(1, 3, 32), torch.ones(1, n)).double()
    assert (out >= 0.7).all()


def test_what_a_masked_sample_holds_does_not_matter():
    network = lean()
    values, valid, environment = torch.rand(1, 15, 64) * 10, torch.ones(1, 15, 64), torch.zeros(1, 3, 64)
    valid[0, 3, 20:30] = 0
    other = values.clone()
    other[0, 3, 20:30] = 1e20
    with torch.no_grad():
        noise = torch.ones(1, 15)
        assert torch.equal(network(values, valid, environment, noise), network(other, valid, environment, noise))


def test_an_untrained_network_gives_the_measurement():
    values = 50 + 10 * torch.rand(1, 15, 128)
    values[0, -2:] += 300  # above the bound of CO2
    out = lean()(values, torch.ones(1, 15, 128), torch.zeros(1, 3, 128), torch.ones(1, 15))
    assert torch.allclose(out, values, atol=1.5)  # smoothed by a twelfth


def test_masked_samples_hold_the_last_valid_value():
    values, valid = torch.full((1, 15, 8), 50.0), torch.ones(1, 15, 8)
    values[0, 0] = torch.tensor([7.0, 10.0, float("nan"), 30.0, 9e9, 9e9, 20.0, 5.0])
    valid[0, 0] = torch.tensor([0.0, 1, 1, 1, 0, 0, 1, 1])
    x, weight, unit = lean().scaling.into(values, valid, torch.full((1, 15), 10.0))
    assert x[0, 0].tolist() == [1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 2.0, 0.5]
    assert weight[0, 0].tolist() == [0.0, 1, 0, 1, 0, 0, 1, 1]
    assert (unit == 10).all()


def test_a_channel_without_a_sample_is_zero():
    x, weight, _ = lean().scaling.into(torch.full((1, 15, 4), float("nan")), torch.ones(1, 15, 4), torch.ones(1, 15))
    assert not x.any()
    assert not weight.any()


def test_an_estimate_stays_near_the_samples_of_its_window():
    network, values = lean(), 500 + torch.randn(1, 15, 128)
    with torch.no_grad():
        for head in network.heads:
            head.projection.bias.fill_(1e6)
        out = network(values, torch.ones_like(values), torch.zeros(1, 3, 128), torch.full((1, 15), 2.0))
    assert (out <= values.amax(-1, keepdim=True) + 3 * 2.0 + 1e-3).all()


def test_noise_in_a_bright_plume_is_visible_to_the_network():
    x = torch.zeros(1, 1, 128)
    x[..., 40:80] = 1000.0
    moved = x.clone()
    moved[..., 60] += 1.0
    assert (features(moved) - features(x))[0, 0, 60] > 0.5
