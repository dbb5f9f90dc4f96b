"""One trace per architecture: it takes fifteen seconds, to fill in other weights takes none.

Before it is optimised, the graph holds every weight under its name. That the export has the same bytes as with a trace
of the network itself is tested in tests/training/test_export.py.
"""

from __future__ import annotations

import copy
import hashlib
import os
from pathlib import Path

import onnx
import torch
from torch import nn

from pc2dae.training import export
from shared import made_once

FOLDER = "PC2DAE_TRACES"  # names the folder of traces, also to processes that tests start
_trace = export._graph


def graph_once(network: nn.Module, channels: int) -> onnx.ModelProto:
    """In place of `export._graph`: the trace of another network of this architecture, with the weights of this one."""
    weights = dict(network.named_parameters()) | dict(network.named_buffers())
    shapes = sorted((name, tuple(value.shape)) for name, value in weights.items())
    key = hashlib.sha256(repr((type(network), str(network), shapes, channels)).encode()).hexdigest()[:16]
    path = made_once(Path(os.environ[FOLDER]) / f"{key}.onnx", lambda path: onnx.save(_any(network, channels), path))
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name in weights:
            tensor.raw_data = weights[tensor.name].detach().contiguous().numpy().tobytes()
    return model


def _any(network: nn.Module, channels: int) -> onnx.ModelProto:
    """The trace with weights that no network has: one that is not filled in is noticed."""
    other = copy.deepcopy(network)
    with torch.no_grad():
        for value in other.parameters():
            value.copy_(torch.randn(value.shape, generator=torch.Generator().manual_seed(0)))
    return _trace(other, channels)
