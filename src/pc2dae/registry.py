"""Look up a denoiser by name: a shipped model, a checkpoint folder, an ONNX file or a filter."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pc2dae.denoiser import Denoiser
from pc2dae.edge.engine import Progress
from pc2dae.edge.load import open_network
from pc2dae.errors import ModelError, nearest
from pc2dae.weights import SHIPPED

__all__ = ["SHIPPED", "Progress", "load_model"]


def load_model(source: str | Path, *, profile: str = "flight", progress: Progress | None = None) -> Denoiser:
    """Load a shipped model, a checkpoint folder, an ONNX file or a filter; files are verified first."""
    name, path = str(source), Path(source)
    network = open_network(source, profile=profile)
    if network is not None:
        network[0].progress = progress
        return network[0]
    if path.is_dir():  # without an ONNX export
        from pc2dae.training.flights import load_torch

        return load_torch(path, profile=profile)
    from pc2dae.filters import FILTERS  # scipy.signal takes a second to import

    if name not in FILTERS:
        raise ModelError(f"unknown model '{name}'", hint=nearest(name, [*SHIPPED, *FILTERS]))
    if profile == "live" and not np.isfinite(FILTERS[name].latency_s):
        raise ModelError(f"'{name}' needs the whole record, so it cannot run live", hint="use --model adaptive")
    return FILTERS[name]
