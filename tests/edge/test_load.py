"""Which network a name means, and which files are refused, live as offline."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from pc2dae.edge.card import digest, render_card
from pc2dae.edge.load import live_engine, open_network
from pc2dae.errors import ModelError
from pc2dae.registry import load_model

LEAN = (files("pc2dae.weights") / "lean.onnx").read_bytes()
WIDE = (files("pc2dae.weights") / "wide.onnx").read_bytes()


def checkpoint(folder: Path, onnx: bytes, *, stated: bytes) -> Path:
    """A training run's folder whose card states the digest of `stated`."""
    folder.mkdir()
    (folder / "model.onnx").write_bytes(onnx)
    (folder / "card.json").write_bytes(render_card({"sha256": {"model.onnx": digest(stated)}}))
    return folder


def test_a_checkpoint_runs_live(tmp_path: Path) -> None:
    engine, card = live_engine(checkpoint(tmp_path / "run", LEAN, stated=LEAN))
    assert (card["model"], card["model_sha256"]) == ("run", digest(LEAN))
    assert engine.latency_s == 63


@pytest.mark.parametrize("load", [live_engine, load_model])
def test_a_checkpoint_with_another_network_than_its_card_states_is_refused(tmp_path: Path, load: object) -> None:
    folder = checkpoint(tmp_path / "run", WIDE, stated=LEAN)  # a whole, sealed network, but not the one trained here
    with pytest.raises(ModelError, match=r"run/model\.onnx is damaged or was replaced"):
        load(folder)  # type: ignore[operator]


@pytest.mark.parametrize("load", [live_engine, load_model])
def test_a_changed_onnx_file_is_refused(tmp_path: Path, load: object) -> None:
    (tmp_path / "own.onnx").write_bytes(LEAN.replace(b"estimate", b"Estimate"))
    with pytest.raises(ModelError, match=r"own\.onnx is damaged"):
        load(tmp_path / "own.onnx")  # type: ignore[operator]


def test_what_is_not_a_network_cannot_run_live(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'leen' cannot run live.*did you mean 'lean'"):
        live_engine("leen")
    folder = checkpoint(tmp_path / "run", LEAN, stated=LEAN)
    (folder / "card.json").write_bytes(render_card({"sha256": {}}))
    assert open_network(folder) is None
    with pytest.raises(ModelError, match="export it with `pc2dae export`"):
        live_engine(folder)
