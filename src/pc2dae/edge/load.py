"""Models for a live stream, by name or file, where there is nothing but numpy and onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from pc2dae.edge import adaptive
from pc2dae.edge.adaptive import AdaptiveDenoiser, adaptive_of
from pc2dae.edge.card import Card, digest
from pc2dae.edge.engine import Engine
from pc2dae.edge.onnx_check import card_of, read_onnx
from pc2dae.edge.runtime import WindowedDenoiser, denoiser_of
from pc2dae.errors import ModelError, nearest
from pc2dae.suite import Suite, load_suite, presets

DEFAULT_SUITE = "black-kite"


def open_live(source: str | Path) -> tuple[AdaptiveDenoiser | WindowedDenoiser, Card]:
    """The denoiser and card of a shipped model, a training run's folder or an ONNX file, checked before it runs."""
    path = Path(source)
    weights = files("pc2dae.weights")
    shipped = sorted(p.name.removesuffix(".onnx") for p in weights.iterdir() if p.name.endswith(".onnx"))
    if str(source) in shipped:
        with as_file(weights / f"{source}.onnx") as file:
            return open_network(file, str(source), profile="live")
    if path.is_dir():
        return open_network(path / "model.onnx", path.name, profile="live")
    if path.is_file():
        return open_network(path, path.stem, profile="live")
    raise ModelError(f"there is no model '{source}' that runs live", hint=nearest(str(source), shipped))


def live_engine(
    source: str | Path, *, suite: str | Path | None = None, exclude: Sequence[str] = ()
) -> tuple[Engine, Card]:
    """Engine and card of a model for a suite's families but those excluded; default: the suite it was trained for."""
    denoiser, card = open_live(source)
    own: Suite | None = getattr(denoiser, "suite", None)
    if suite is None and own is not None and own.name not in presets():
        chosen = own
    else:
        chosen = load_suite(suite if suite is not None else DEFAULT_SUITE if own is None else own.name)
    if exclude:
        chosen.only(list(exclude))  # refuses names it does not know
    engine = denoiser.engine(chosen.only([f.name for f in chosen.family if f.name not in exclude]))
    engine.ignored = frozenset(chosen.names) - frozenset(engine.suite.names)
    return engine, card


def open_network(path: Path, name: str, *, profile: str) -> tuple[AdaptiveDenoiser | WindowedDenoiser, Card]:
    """An ONNX file as the denoiser its inputs say it is, and its card."""
    data, facts = read_onnx(path)
    card = {"model": name, "model_sha256": digest(data), **card_of(facts, where=path.name)}
    if facts.inputs == adaptive.INPUTS:
        return adaptive_of(data, facts, name=name, profile=profile), card
    return denoiser_of(data, name=name), card
