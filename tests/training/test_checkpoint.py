"""A checkpoint restores its network, and is rejected if a bit has changed."""

from __future__ import annotations

import pytest
import torch

from pc2dae.errors import ModelError
from pc2dae.model.pc2dae import LEAN, PC2DAE
from pc2dae.training import checkpoint
from pc2dae.training.checkpoint import build_network, load_checkpoint, save_checkpoint
from pc2dae.windows.scaling import Scaler


@pytest.fixture
def saved(suite, tmp_path):
    scaler = Scaler((0.0, 0.0, 300.0), (1.0, 2.0, 3.0), (0.0,) * 3, (0.0,) * 3, (1.0,) * 3)
    network = PC2DAE(LEAN, suite, scaler).eval()
    card = {"network": "lean", "suite": suite.model_dump_json(exclude_defaults=True), "scaler": scaler.as_dict()}
    save_checkpoint(tmp_path, network, card)
    return tmp_path, network


def test_it_gives_the_network_back(saved):
    folder, network = saved
    again, card = load_checkpoint(folder)
    inputs = (torch.rand(1, 3, 64) * 9, torch.ones(1, 3, 64), torch.rand(1, 3, 64), torch.ones(1, 3))
    with torch.no_grad():
        assert torch.equal(network(*inputs), again(*inputs))
    assert card["scaler"]["scale"] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["weights.safetensors", "card.json"])
@pytest.mark.parametrize("where", [0.0, 0.1, 0.5, 0.999])
def test_a_flipped_bit_is_refused(saved, name, where):
    folder, _ = saved
    data = bytearray((folder / name).read_bytes())
    data[int(where * len(data))] ^= 1
    (folder / name).write_bytes(bytes(data))
    with pytest.raises(ModelError, match="damaged"):
        load_checkpoint(folder)


def test_a_pickle_in_place_of_the_weights_is_never_opened(saved):
    folder, network = saved
    torch.save(network.state_dict(), folder / "weights.safetensors")
    with pytest.raises(ModelError, match="damaged or was replaced"):
        load_checkpoint(folder)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_neither_saved_nor_loaded(saved, tmp_path, monkeypatch, bad):
    _, network = saved
    with torch.no_grad():
        network.trunk[0].convolution.weight[0, 0, 0] = bad
    _, card = load_checkpoint(saved[0])
    with pytest.raises(ModelError, match=r"the weights of new are NaN or infinite \('trunk\.0\.convolution\.weight'\)"):
        save_checkpoint(tmp_path / "new", network, card)
    assert not (tmp_path / "new").exists()
    monkeypatch.setattr(checkpoint, "check_finite", lambda weights, where: None)
    save_checkpoint(tmp_path / "new", network, card)  # as an earlier version did
    monkeypatch.undo()
    with pytest.raises(ModelError, match="the weights of new are NaN or infinite"):
        load_checkpoint(tmp_path / "new")


def test_a_folder_without_a_model_says_so(tmp_path):
    with pytest.raises(ModelError, match=r"card\.json cannot be read"):
        load_checkpoint(tmp_path)


def test_an_unknown_network_is_named(suite):
    with pytest.raises(ModelError, match="unknown network 'leam'; did you mean 'lean'"):
        build_network("leam", suite, None)


def test_weights_of_version_0_1_are_not_taken_for_those_of_the_new_network(saved):
    network, card = load_checkpoint(saved[0])
    save_checkpoint(saved[0], network, card | {"config": {"network": "lean", "objective": "paper"}})
    with pytest.raises(ModelError, match=r"'lean' of version 0\.1.*use its model\.onnx"):
        load_checkpoint(saved[0])
