"""Which denoiser a name means: a shipped model, a checkpoint folder, an ONNX file, a filter."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from pc2dae.denoiser import Denoiser
from pc2dae.edge.card import check_digest, parse_card
from pc2dae.edge.load import open_network
from pc2dae.edge.onnx_check import read_limited
from pc2dae.errors import ModelError, nearest

SHIPPED = ("adaptive", "adaptive-short", "adaptive-causal", "lean", "wide")
Progress = Callable[[int, int], None]  # samples done, samples in all
_log = logging.getLogger(__name__)


def load_model(source: str | Path, *, profile: str = "flight", progress: Progress | None = None) -> Denoiser:
    """The denoiser of a shipped name, a checkpoint folder, an ONNX file or a filter's name; files are checked first."""
    from pc2dae.filters import FILTERS

    name, path = str(source), Path(source)
    if name in SHIPPED:
        if path.exists():
            _log.warning("'%s' is the shipped model; write ./%s for the folder of that name", name, name)
        with as_file(files("pc2dae.weights") / f"{name}.onnx") as shipped:
            return _open(shipped, name, profile, progress)
    if path.is_dir():
        return _open_checkpoint(path, profile, progress)
    if path.is_file():
        return _open(path, path.stem, profile, progress)
    if name in FILTERS:
        if profile == "live" and not np.isfinite(FILTERS[name].latency_s):
            raise ModelError(f"'{name}' needs the whole record, so it cannot run live", hint="use --model adaptive")
        return FILTERS[name]
    raise ModelError(f"there is no model '{name}'", hint=nearest(name, [*SHIPPED, *FILTERS]))


def _open(path: Path, name: str, profile: str, progress: Progress | None) -> Denoiser:
    """An ONNX file as the denoiser it is, telling its progress."""
    denoiser, _ = open_network(path, name, profile=profile)
    denoiser.progress = progress
    return denoiser


def _open_checkpoint(folder: Path, profile: str, progress: Progress | None) -> Denoiser:
    """A folder's ONNX twin; the network in torch where it has none."""
    card = parse_card(read_limited(folder / "card.json"), where=f"{folder.name}/card.json")
    if "model.onnx" in card["sha256"]:
        check_digest(
            read_limited(folder / "model.onnx"), card["sha256"]["model.onnx"], where=f"{folder.name}/model.onnx"
        )
        return _open(folder / "model.onnx", folder.name, profile, progress)
    from pc2dae.training.checkpoint import load_checkpoint, suite_of_card, torch_denoiser

    network, card = load_checkpoint(folder)
    return torch_denoiser(network, suite_of_card(card), name=folder.name, sha256=card["sha256"]["weights.safetensors"])
