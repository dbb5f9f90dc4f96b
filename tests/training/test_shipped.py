"""Training that starts from the shipped weights: for which channels, what the card says, and that it does no harm."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
import torch

from pc2dae.benchmark.cases import FAMILIES, as_prepared
from pc2dae.errors import ModelError
from pc2dae.flight.schema import suite_of
from pc2dae.metrics import score
from pc2dae.registry import load_model
from pc2dae.simulate import fly_plan, plan_campaign
from pc2dae.training.fit import TrainingSettings
from pc2dae.training.run import TrainingPlan, train
from pc2dae.training.shipped import TUNING, keep_if_better, shipped_network
from pc2dae.windows.slicing import record_of

UNUSED = 31007  # a campaign of which no flight trained the shipped weights


@pytest.fixture(scope="module")
def flown():
    """Three flights of one payload as records, and their suite."""
    flights = [fly_plan(plan) for plan in plan_campaign(UNUSED, flights=3, minutes=7)]
    prepared = [as_prepared(flight) for flight in flights]
    suite = suite_of(prepared[0]).only(FAMILIES)
    return [record_of(p, suite, truth=f.truth) for p, f in zip(prepared, flights, strict=True)], suite


def improvement(model, record, suite):
    values = record.values.astype(np.float64)
    engine = load_model(model).engine(suite)
    table = score(engine(values, record.environment, record.valid), values, record.valid, suite, truth=record.target)
    return table[(table.family == "all") & (table.metric == "mae_improvement")].value.item()


@pytest.mark.parametrize("name", ["lean", "wide"])
def test_the_weights_to_start_from_are_those_of_the_shipped_graph(name):
    denoiser = load_model(name)
    network, _ = shipped_network(name, denoiser.suite)
    rng = np.random.default_rng(0)
    values = rng.normal(300, 100, (2, 15, 128)).astype(np.float32)
    inputs = (values, np.ones_like(values), rng.normal(size=(2, 3, 128)), np.full((2, 15), 100.0))
    inputs = [np.asarray(a, np.float32) for a in inputs]
    with torch.no_grad():
        ours = network.eval()(*map(torch.from_numpy, inputs)).numpy()
    (theirs,) = denoiser.network(*inputs)
    np.testing.assert_allclose(ours, theirs, atol=0.02)  # of σ = 100


def test_other_channels_have_no_shipped_weights(records, suite, tmp_path):
    assert shipped_network("lean", suite) is None
    with pytest.raises(ModelError, match="no shipped weights of 'lean' for these channels"):
        train(records, suite, TrainingPlan(begin="pretrained"), folder=tmp_path / "model")


def test_the_card_states_the_gain_over_the_shipped_weights(flown, tmp_path):
    records, suite = flown
    plan = TrainingPlan(begin="pretrained", settings=TrainingSettings(steps=4, every=2, warmup=1, batch=2))
    card = train(records[:2], suite, plan, folder=tmp_path / "model", with_onnx=False)
    facts = card["metrics"]
    gain = facts["recorruption_loss_pretrained"] - facts["recorruption_loss_tuned"]
    assert facts["is_tuned"] == (gain > facts["required_gain"])
    assert facts["required_gain"] > 0


def test_a_network_that_is_not_better_is_not_kept():
    suite = load_model("lean").suite
    network, _ = shipped_network("lean", suite)
    shipped = {name: value.clone() for name, value in network.state_dict().items()}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    generator = torch.Generator().manual_seed(1)
    batch = _white(generator, len(suite.names))
    assert not keep_if_better(network, shipped, [batch]).is_better
    assert all(torch.equal(value, shipped[name]) for name, value in network.state_dict().items())


def _white(generator, channels):
    from pc2dae.model.batch import Batch

    target = torch.full((8, channels, 128), 1000.0)
    ones = torch.ones_like(target)
    values = target + 10 * torch.randn(target.shape, generator=generator)
    return Batch(values, ones, torch.zeros(8, 3, 128), torch.full((8, channels), 10.0), target, ones, ones)


@pytest.mark.slow
def test_two_own_flights_do_no_harm_on_a_third(flown, tmp_path, traced_once):
    records, suite = flown
    train(records[:2], suite, TrainingPlan(begin="pretrained", settings=TUNING), folder=tmp_path / "model")
    shipped, tuned = (improvement(model, records[2], suite) for model in ("lean", tmp_path / "model"))
    assert shipped > 60
    assert tuned >= shipped


def test_the_package_holds_what_training_starts_from():
    names = {path.name for path in files("pc2dae.weights").iterdir()}
    assert {"lean.safetensors", "wide.safetensors", "lean.onnx", "wide.onnx"} <= names
