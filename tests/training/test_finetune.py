"""Fine-tuning the adaptive network does no harm, and helps where possible."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from pc2dae.benchmark.cases import FAMILIES, as_prepared
from pc2dae.edge.adaptive import adaptive_of
from pc2dae.edge.onnx_check import verify_onnx
from pc2dae.flight.schema import suite_of
from pc2dae.metrics import score
from pc2dae.registry import load_model
from pc2dae.simulate import fly_plan, plan_campaign
from pc2dae.training.adaptive import pretrained
from pc2dae.training.finetune import SETTINGS, NetworkComparison, TuningData, finetune, summary
from pc2dae.windows.slicing import Record, Segment, record_of

SIGMA = np.array([10.0, 10.0, 1.0])
QUICK = replace(SETTINGS, steps=30, batch=2)


def record(clean, rng):
    values = clean + rng.standard_normal(clean.shape) * SIGMA[:, None]
    return Record(values.astype(np.float32), np.ones(values.shape, bool), np.zeros(values.shape, np.float32),
                  clean.astype(np.float32))  # fmt: skip


def bright(seed, length=1200):
    """CO that rises a thousand σ in a second or two, NO that hardly rises, CO₂ between them."""
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    plume = sum(np.exp(-0.5 * ((t - c) / rng.uniform(1, 4)) ** 2) for c in rng.uniform(0, length, 15))
    return record(np.stack([100 + 10000 * plume, 20 + 30 * plume, 420 + 30 * plume]), rng)


def oscillating(seed, length=900):
    """Each channel swings by 4 σ every 8 s: nothing the network was trained on, which averages it away."""
    rng = np.random.default_rng(seed)
    swing = np.sin(2 * np.pi * np.arange(length) / 8 + rng.uniform(0, 6, (3, 1)))
    return record(np.array([[100], [100], [420]]) + 4 * SIGMA[:, None] * swing, rng)


def error(model, target, suite):
    """Mean absolute error [σ]."""
    job = load_model(model).prepare(None, suite)
    estimate = job(target.values.astype(float), target.environment, target.valid).value
    return np.mean(np.abs(estimate - target.target).mean(axis=1) / SIGMA)


def test_bright_plumes_do_not_teach_how_to_average_noise(tmp_path, suite):
    card = finetune([bright(0), bright(1)], suite, folder=tmp_path / "tuned", settings=QUICK)
    assert error(tmp_path / "tuned", bright(2), suite) < 1.005 * error("adaptive", bright(2), suite)
    assert "recorruption loss" in summary(card)


def test_flights_unlike_the_training_world_are_learned(tmp_path, suite):
    card = finetune([oscillating(0), oscillating(1)], suite, folder=tmp_path / "tuned", settings=QUICK)
    assert card["metrics"]["is_tuned"]
    assert summary(card).startswith("tuned weights saved: held-out recorruption loss")
    assert error(tmp_path / "tuned", oscillating(2), suite) < 0.85 * error("adaptive", oscillating(2), suite)


def test_a_wild_step_is_not_kept(tmp_path, suite):
    wild = replace(SETTINGS, steps=2, batch=1, warmup=0, every=2, learning_rate=1.0, clip=1e9)
    card = finetune([bright(0), bright(1)], suite, folder=tmp_path / "tuned", settings=wild)
    assert not card["metrics"]["is_tuned"]
    assert summary(card).startswith("shipped weights kept: held-out recorruption loss")
    kept = load_file(next((tmp_path / "tuned").glob("*.safetensors")))
    assert all(torch.equal(kept[name], value) for name, value in pretrained()[0].state_dict().items())


@pytest.mark.parametrize(
    ("after", "standard_error", "is_better"),
    [(2.9, 0.01, True), (2.9, 0.04, False), (2.99, 0.001, False), (3.1, 0.001, False), (float("nan"), 0.0, False)],
)
def test_only_a_clear_and_worthwhile_gain_counts(after, standard_error, is_better):
    """More than 3 standard errors, and more than 0.5 % of a loss of 3."""
    assert NetworkComparison(3.0, after, standard_error).is_better == is_better


def test_the_network_is_given_the_noise_of_the_recorrupted_record(suite):
    _, _, data = pretrained()
    denoiser = adaptive_of(data, verify_onnx(data, where="adaptive"), name="adaptive")
    material = TuningData([oscillating(0)], suite, denoiser)
    batch = material.batch([(Segment(0, 0, 900), 0)] * 4, 900, np.random.default_rng(0))
    noise = batch.inputs[2].mean(dim=(0, 2)).numpy()
    assert noise / material.sigma[0] == pytest.approx(np.full(3, np.hypot(1, 0.7)), rel=0.1)
    assert (batch.weight.numpy() * material.sigma[0][:, None]).max() <= 1.0


def test_equal_networks_have_equal_losses(suite):
    network, _, data = pretrained()
    denoiser = adaptive_of(data, verify_onnx(data, where="adaptive"), name="adaptive")
    result = TuningData([bright(3)], suite, denoiser).compare(
        network, [Segment(0, 600, 1200)], np.random.default_rng(0)
    )
    assert result.after == pytest.approx(result.before, rel=1e-4)  # ONNX and torch
    assert not result.is_better


def improvement(model, target, suite):
    """MAE improvement [%], mean of families."""
    values = target.values.astype(float)
    estimate = load_model(model).prepare(None, suite)(values, target.environment, target.valid)
    table = score(estimate, values, target.valid, suite, truth=target.target)
    return float(table[(table["family"] == "all") & (table["metric"] == "mae_improvement")]["value"].iloc[0])


@pytest.mark.slow
@pytest.mark.parametrize("campaign", range(31101, 31106))
def test_a_third_flight_is_not_harmed(tmp_path, campaign):
    """`benchmarks/finetune.py` has more flights and more steps."""
    records = []
    for plan in plan_campaign(campaign, flights=3, minutes=7):
        flown = fly_plan(plan)
        flight = as_prepared(flown)
        payload = suite_of(flight).only(FAMILIES)
        records.append(record_of(flight, payload, truth=flown.truth))
    finetune(records[:2], payload, folder=tmp_path / "tuned", settings=replace(SETTINGS, steps=20, batch=2))
    assert improvement(tmp_path / "tuned", records[2], payload) > improvement("adaptive", records[2], payload) - 0.5
