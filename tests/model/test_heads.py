"""Properties of the head: a smoothing kernel averages, attention ignores masked samples."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pc2dae.model.heads import ChannelAttention, TemporalSmoothing

positive = st.floats(0, 1e6, width=32)
logit = st.floats(-50, 50, width=32)


def smoothing(logits, blend):
    module = TemporalSmoothing(2)
    with torch.no_grad():
        module.logits.copy_(torch.from_numpy(logits))
        module.blend.fill_(blend)
    return module


@settings(deadline=None)
@given(arrays(np.float32, (2, 5), elements=logit), arrays(np.float32, (1, 2, 12), elements=positive), logit)
def test_smoothing_averages(logits, y, blend):
    module = smoothing(logits, blend)
    assert (module.kernel >= 0).all()
    assert torch.allclose(module.kernel.sum(-1), torch.ones(2), atol=1e-6)
    out = module(torch.from_numpy(y)).detach().numpy()
    assert (out >= 0).all()
    assert (out.max(axis=-1) <= y.max(axis=-1) * (1 + 1e-5)).all()


@settings(deadline=None)
@given(arrays(np.float32, (2, 5), elements=logit), positive, logit)
def test_a_constant_stays_constant_to_the_edges(logits, level, blend):
    out = smoothing(logits, blend)(torch.full((1, 2, 9), level)).detach()
    assert torch.allclose(out, torch.tensor(level), rtol=1e-5, atol=1e-37)  # subnormal numbers lose digits in any sum


def test_smoothing_by_hand():
    module = smoothing(np.zeros((2, 5), np.float32), 0.0)  # five equal weights, half blended
    out = module(torch.tensor([[[0.0, 0, 10, 0, 0, 0]] * 2])).detach()[0, 0]
    assert torch.allclose(out, torch.tensor([1.0, 1, 6, 1, 1, 0]))


def test_attention_pools_over_valid_samples_only():
    torch.manual_seed(0)
    attention = ChannelAttention(3)
    h = torch.randn(1, 3, 8)
    weight = torch.ones(1, 1, 8)
    weight[..., 5:] = 0
    other = h.clone()
    other[..., 5:] = 100.0
    assert torch.equal(attention(h, weight)[..., :5], attention(other, weight)[..., :5])
    assert torch.isfinite(attention(h, torch.zeros(1, 1, 8))).all()
