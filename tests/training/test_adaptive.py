"""The shipped graph with other weights in it."""

import numpy as np
import onnx
import torch

from pc2dae.training.adaptive import initializers, pretrained, with_weights


def test_weights_are_replaced_in_the_shipped_graph() -> None:
    network, card, data = pretrained("adaptive-causal")
    held = initializers(onnx.load_from_string(data))
    named = {name: p for name, p in network.named_parameters() if name in held}
    assert set(dict(network.named_parameters())) - set(named) == {"pair_score", "ridge"}  # the exporter folds these two
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in named.values():
            parameter.mul_(1 + 0.05 * torch.randn_like(parameter))
    changed = onnx.load_from_string(with_weights(data, network, card))  # which holds it against torch
    kernel = next(t for t in changed.graph.initializer if t.name == "network.first.1.conv.weight")
    expected = network.first[1].conv.weight.detach().numpy()
    assert np.array_equal(onnx.numpy_helper.to_array(kernel).reshape(expected.shape), expected)
