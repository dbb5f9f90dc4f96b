"""One trace per network and set of weights: tracing takes ten seconds, and gives the same graph each time.

That it does is tested in tests/training/test_export.py, with the real trace.
"""

from __future__ import annotations

import onnx
from safetensors.torch import save
from torch import nn

from pc2dae.training import export

_trace = export._trace
_TRACED: dict[tuple[type[nn.Module], int, bytes], onnx.ModelProto] = {}


def trace_once(network: nn.Module, channels: int) -> onnx.ModelProto:
    """In place of `export._trace`: a copy of the graph, traced on the first call."""
    weights = save({name: value.contiguous() for name, value in network.state_dict().items()})
    key = type(network), channels, weights
    if key not in _TRACED:
        _TRACED[key] = _trace(network, channels)
    model = onnx.ModelProto()
    model.CopyFrom(_TRACED[key])
    return model
