"""The ONNX export agrees with torch and keeps the output guarantee, or is not written."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tracing
from pc2dae.edge.card import parse_card
from pc2dae.edge.onnx_check import inspect
from pc2dae.edge.runtime import denoiser_of
from pc2dae.errors import ModelError
from pc2dae.model.pc2dae import LEAN, PC2DAE
from pc2dae.registry import load_model
from pc2dae.training import export
from pc2dae.training.adaptive import pretrained
from pc2dae.training.checkpoint import load_checkpoint, save_checkpoint
from pc2dae.windows.scaling import Scaler


def card_and_network(suite, gain):
    scale, fill = (100.0, 40.0, 150.0), (0.1, 0.1, 0.8)
    scaler = Scaler((0.0, 0.0, 300.0), scale, fill, (20.0, 50.0, 950.0), (5.0, 10.0, 9.0))
    torch.manual_seed(1)
    network = PC2DAE(LEAN, suite, scaler).eval()
    with torch.no_grad():
        for head in network.heads:  # an untrained network corrects nothing
            torch.nn.init.normal_(head.projection.weight, std=0.3)
        for p in network.parameters() if gain != 1 else ():
            p.copy_(torch.randn_like(p) * gain)
    card = {"network": "lean", "suite": suite.model_dump_json(exclude_defaults=True), "scaler": scaler.as_dict(),
            "versions": {"pc2dae": "0"}}  # fmt: skip
    return card, network


pytestmark = pytest.mark.usefixtures("traced_once")


@pytest.fixture(scope="module")
def twin(suite, traced_once):
    card, network = card_and_network(suite, 1)
    return card, network, export.export_onnx(network, card)


@pytest.fixture(scope="module")
def wild(suite, traced_once):
    """An export with huge random weights: only the output guarantee holds."""
    card, network = card_and_network(suite, 1e20)
    return denoiser_of(export._finish(export._trace(network, 3), card, suite), name="wild").network


def test_the_twin_agrees_with_torch_over_seven_orders_of_magnitude(twin):
    card, network, data = twin
    assert export.verify_twin(network, denoiser_of(data, name="x").network, card) < 1e-4


def test_batch_and_length_are_free(twin):
    _, network, data = twin
    run = denoiser_of(data, name="x").network
    for batch, length in ((1, 1), (5, 300), (2, 128)):
        inputs = [np.random.default_rng(0).random((batch, rows, length), dtype=np.float32) for rows in (3, 3, 3)]
        inputs.append(np.ones((batch, 3), np.float32))
        with torch.no_grad():
            theirs = network(*map(torch.from_numpy, inputs)).numpy()
        assert np.allclose(run(*inputs)[0], theirs, rtol=1e-4, atol=1e-2)


anything = st.floats(width=32, allow_nan=True, allow_infinity=True)
three = arrays(np.float32, (1, 3, 16), elements=anything)
level = arrays(np.float32, (1, 3), elements=anything)


@settings(max_examples=80, deadline=None)
@given(values=three, valid=three, environment=three, noise=level)
def test_any_input_gives_finite_values_at_or_above_the_bound(twin, wild, values, valid, environment, noise):
    bound = np.array([0.0, 0.0, 300.0])[:, None]
    for run in (denoiser_cached(twin), wild):
        (out,) = run(values, valid, environment, noise)
        assert np.isfinite(out).all()
        assert (out >= bound).all()


_CACHE = {}


def denoiser_cached(twin):
    return _CACHE.setdefault("run", denoiser_of(twin[2], name="x").network)


def test_the_file_says_what_it_is_and_nothing_about_the_machine(twin, suite):
    card, _, data = twin
    facts = inspect(data, where="x")
    assert facts.inputs == ("values", "valid", "environment", "noise")
    assert facts.outputs == ("estimate",)
    assert json.loads(facts.metadata["units"]) == {"co": "ppb", "no": "ppb", "co2": "ppm"}
    assert facts.metadata["suite"] == card["suite"]
    assert b"/work" not in data
    assert b"site-packages" not in data
    assert b".py" not in data


def test_the_same_network_gives_the_same_bytes(twin, monkeypatch):
    """Traced itself, and with its weights in the trace of another: see `tracing`."""
    card, network, data = twin
    monkeypatch.setattr(export, "_graph", tracing._trace)
    assert export.export_onnx(network, card) == data


def test_an_export_that_differs_is_refused(twin, monkeypatch):
    card, network, _ = twin
    trace = export._trace

    def slightly_wrong(net, channels):
        model = trace(net, channels)
        weight = next(w for w in model.graph.initializer if "trunk.0.convolution.weight" in w.name)
        values = onnx.numpy_helper.to_array(weight).copy()
        values[0, 0, 0] += 0.1
        weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
        return model

    monkeypatch.setattr(export, "_trace", slightly_wrong)
    with pytest.raises(ModelError, match=r"differs from torch .*; train it again with another --seed"):
        export.export_onnx(network, card)


@pytest.mark.slow
def test_rounding_that_torch_shares_is_no_difference(suite, monkeypatch):
    """A constant of 2000 that the environment adds to the features and the projection takes off again.

    It changes nothing but the digits that single precision has left, in torch as in the twin.
    """
    card, network = card_and_network(suite, 1)
    with torch.no_grad():
        network.environment.second.bias.add_(2000.0)
        for head in network.heads:
            added = head.environment.weight[:, :, 0] @ torch.full((LEAN.environment,), 2000.0)
            head.projection.bias.sub_(head.projection.weight[:, :, 0] @ added)
    twin = denoiser_of(export.export_onnx(network, card), name="x").network
    monkeypatch.setattr(export, "ROUNDING", 0.0)
    assert export.verify_twin(network, twin, card) > export.TOLERANCE


def test_weights_that_are_not_finite_are_not_exported(twin, monkeypatch):
    card, network, _ = twin
    trace = export._trace

    def diverged(net, channels):
        model = trace(net, channels)
        weight = next(w for w in model.graph.initializer if "trunk.0.convolution.weight" in w.name)
        values = onnx.numpy_helper.to_array(weight).copy()
        values[0, 0, 0] = np.nan
        weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
        return model

    monkeypatch.setattr(export, "_trace", diverged)
    with pytest.raises(ModelError, match="the export has weights that are NaN or infinite"):
        export.export_onnx(network, card)


def test_a_checkpoint_is_exported_with_its_card_beside_it(twin, tmp_path):
    card, network, _ = twin
    save_checkpoint(tmp_path / "run", network, card)
    line = export.export_checkpoint(tmp_path / "run", tmp_path / "out.onnx")
    assert "differs from torch by" in line
    beside = parse_card((tmp_path / "out.card.json").read_bytes(), where="card")
    assert beside["sha256"]["onnx"] == load_model(tmp_path / "out.onnx").sha256


def test_a_tuned_adaptive_network_is_exported_as_it_was_saved(tmp_path):
    network, card, data = pretrained()
    card = {key: value for key, value in card.items() if key != "sha256"}
    save_checkpoint(tmp_path / "tuned", network, card, onnx=data)
    assert "kB, the ONNX of tuned" in export.export_checkpoint(tmp_path / "tuned", tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == data
    assert load_model(tmp_path / "out.onnx").look_ahead == card["look_ahead"]
    with pytest.raises(ModelError, match=r"network 'adaptive'.*; use its model\.onnx"):
        load_checkpoint(tmp_path / "tuned")
    (tmp_path / "tuned" / "model.onnx").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelError, match="damaged or was replaced"):
        export.export_checkpoint(tmp_path / "tuned", tmp_path / "out.onnx")
