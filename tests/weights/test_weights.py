"""Shipped models: small, intact, with their training on the card, and runnable on the drone."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest
import torch

from pc2dae.edge.card import parse_card
from pc2dae.edge.onnx_check import read_onnx
from pc2dae.registry import load_model
from pc2dae.training.checkpoint import build_network
from pc2dae.windows.scaling import Scaler

PAPER = ("lean", "wide")
TARGETS = 15  # of the paper


@pytest.mark.parametrize("name", PAPER)
def test_the_card_says_how_it_was_made(name):
    path = files("pc2dae.weights") / f"{name}.onnx"
    data, facts = read_onnx(path)
    card = parse_card((files("pc2dae.weights") / f"{name}.card.json").read_bytes(), where=name)
    assert len(data) < 1_000_000
    assert card["made_by"] == "make weights"
    assert card["config"]["objective"] == "truth"
    assert card["samples"] == 24 * 7894
    assert len(card["channels"]) == TARGETS
    assert facts.outputs == ("estimate",)


@pytest.mark.parametrize("name", PAPER)
def test_it_keeps_its_promise_on_noise_and_nonsense(name):
    denoiser = load_model(name)
    assert denoiser.latency_s == 63
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1e4, (2, TARGETS, 128)).astype(np.float32)
    values[0, 3, 5:9] = [np.nan, np.inf, -np.inf, 3e38]
    noise = np.array([[1.0] * TARGETS, [np.nan, np.inf, 0.0, -1.0, 1e-30] * 3], np.float32)
    (out,) = denoiser.network(values, np.ones_like(values), np.full((2, 3, 128), np.nan, np.float32), noise)
    bound = np.array([channel.lower_bound for channel in denoiser.suite.channels])[:, None]
    assert np.isfinite(out).all()
    assert (out >= bound).all()


def test_the_shape_is_the_papers():
    card = parse_card((files("pc2dae.weights") / "lean.card.json").read_bytes(), where="lean")
    network = build_network("lean", load_model("lean").suite, Scaler.from_dict(card["scaler"]))
    assert sum(p.numel() for p in network.parameters()) == 21_481
    assert isinstance(network, torch.nn.Module)


def test_denoising_never_loads_torch():
    script = (
        "import sys\n"
        "import numpy as np\n"
        "from pc2dae.registry import load_model\n"
        "model = load_model('lean')\n"
        "values = np.ones((15, 300))\n"
        "flight = {name: 0 for name in model.suite.names}\n"
        "out = model.prepare(flight, model.suite)(values, np.full((3, 300), np.nan), values > 0)\n"
        "assert out.value.shape == (15, 300) and np.isfinite(out.value).all()\n"
        "assert 'torch' not in sys.modules and 'onnx' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=250)
