"""The literal reading of the paper: same size, same guarantee, masked samples as the mean."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pc2dae.model.pc2dae import LEAN, WIDE
from pc2dae.paper.literal import LiteralPC2DAE
from pc2dae.suite import load_suite
from pc2dae.windows.scaling import Scaler
from suites import scaler_of

torch.set_num_threads(1)
TARGETS = load_suite("black-kite").only(["bc", "gas", "co2"])


def lean(seed=0, suite=TARGETS):
    torch.manual_seed(seed)
    return LiteralPC2DAE(LEAN, suite, scaler_of(suite)).eval()


@pytest.mark.parametrize(("variant", "count"), [(LEAN, 21_481), (WIDE, 204_461)])
def test_parameter_counts_of_the_paper(variant, count):
    network = LiteralPC2DAE(variant, TARGETS, scaler_of(TARGETS))
    assert sum(p.numel() for p in network.parameters()) == count


anything = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(max_examples=60, deadline=None)
@given(
    values=arrays(np.float32, (1, 15, 16), elements=anything),
    valid=arrays(np.float32, (1, 15, 16), elements=anything),
    environment=arrays(np.float32, (1, 3, 16), elements=anything),
    gain=st.sampled_from([1.0, 1e3, 1e10, 1e30, 3e38]),
    seed=st.integers(0, 9),
)
def test_any_input_and_any_weights_give_finite_values_at_or_above_the_bound(values, valid, environment, gain, seed):
    network = lean(seed)
    with torch.no_grad():
        for p in network.parameters():
            p.copy_(torch.randn_like(p) * gain)
        out = (
            network(torch.from_numpy(values), torch.from_numpy(valid), torch.from_numpy(environment))
            .numpy()
            .astype(np.float64)
        )
    assert np.isfinite(out).all()
    assert (out >= np.array([c.lower_bound for c in TARGETS.channels])[:, None]).all()


def test_a_bound_that_float32_rounds_down_is_still_kept():
    n = len(TARGETS.names)
    scaler = Scaler((0.7,) * n, (1e-3,) * n, (0.0,) * n, (0.0,) * 3, (1.0,) * 3)
    assert float(np.float32(0.7)) < 0.7
    network = LiteralPC2DAE(LEAN, TARGETS, scaler).eval()
    with torch.no_grad():
        for head in network.heads:
            head.projection.bias.fill_(-1e6)
        out = network(torch.zeros(1, n, 32), torch.ones(1, n, 32), torch.zeros(1, 3, 32)).double()
    assert (out >= 0.7).all()


def test_masked_samples_enter_as_the_mean_of_the_valid_ones():
    network = lean()
    values = torch.full((1, 15, 4), 50.0)
    values[0, 0] = torch.tensor([10.0, 30.0, float("nan"), 9e9])
    valid = torch.ones(1, 15, 4)
    valid[0, 0, 3] = 0
    x, weight = network.scaling.into(values, valid)
    assert x[0, 0].tolist() == [1.0, 3.0, 2.0, 2.0]
    assert weight[0, 0].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_channel_without_a_sample_enters_as_the_training_mean():
    network = lean()
    x, _ = network.scaling.into(torch.full((1, 15, 4), float("nan")), torch.ones(1, 15, 4))
    assert torch.allclose(x, torch.tensor(0.2))
