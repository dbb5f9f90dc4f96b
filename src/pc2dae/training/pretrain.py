"""Pretraining of the adaptive denoiser on random simulated suites; `training/adaptive.py` has the command.

The loss follows the evaluation metrics, each channel relative to its own raw error so that none outweighs another:
    MAE/MAE₀ + ¼ log(MSE/MSE₀ + 0.003) + 0.3 · MAE of 32-s means/MAE₀ + 0.1 · pinball₀.₉(log|error|, log 1.645 σ̂).
The last term makes ±1.645 σ̂ contain 90 % of the errors; it has no gradient with respect to the estimate.
The target is the reading without noise and, where the response of the channel is known, without lag; σ̂ does not contain
the error of t90, which is stated separately. Most steps train on scenes of moderate signal; a fifth as many then
continue with channels whose plumes rise thousands of σ, where one per cent of a wrong average exceeds the noise. The
shipped weights are the mean of the weights after each stage: as good as the first in dim scenes and as the second in
bright ones.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.edge.lag import without_lag
from pc2dae.edge.levels import of_flight
from pc2dae.model.adaptive import VARIANTS, Adaptive
from pc2dae.simulate.random_scenes import HIGHEST_SNR, random_scene
from pc2dae.training.fit import Look, TrainingSettings, fit

SETTINGS = TrainingSettings(steps=4000, learning_rate=3e-3, warmup=100, every=100, patience=1000)
BRIGHT = TrainingSettings(learning_rate=1e-3, warmup=50, every=100, patience=1000)
BRIGHT_SHARE = 5  # first-stage steps per bright step
BRIGHT_SNR = 3000.0  # a CO cell in fresh smoke
LENGTH = 1024  # samples of a scene: a short flight
ROWS = 48  # channels of a batch, in scenes of the same number of channels
_CHANNELS = (1, 2, 3, 4, 6, 8, 12)
_BRIGHT = 0.25  # share of bright batches in the first stage
_MISJUDGED = 0.08  # relative error of a flight's estimated noise level
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scenes:
    """Random scenes in units of the noise of each channel's reading above its bound, each (scene, channel, time)."""

    values: Tensor  # without the lag, as far as it is known
    valid: Tensor
    lag1: Tensor
    group: Tensor
    reading: Tensor
    gain: Tensor
    tau: Tensor
    target: Tensor
    systematic: Tensor  # uncertainty of the target's estimate due to that of t90


def draw_scenes(
    rng: np.random.Generator, *, rows: int = ROWS, length: int = LENGTH, highest_snr: float | None = None
) -> Scenes:
    """A batch of scenes, all with the same random number of channels; a quarter of the batches are bright."""
    channels = int(rng.choice(_CHANNELS))
    if highest_snr is None:
        highest_snr = BRIGHT_SNR if rng.random() < _BRIGHT else HIGHEST_SNR
    parts = [_scaled(rng, channels, length, highest_snr) for _ in range(max(rows // channels, 1))]
    return Scenes(*(torch.from_numpy(np.stack(column).astype(np.float32)) for column in zip(*parts, strict=True)))


def _scaled(rng: np.random.Generator, channels: int, length: int, highest_snr: float) -> tuple[np.ndarray, ...]:
    scene = random_scene(rng, channels, length, highest_snr=highest_snr)
    levels, new = of_flight(scene.noisy, scene.valid, scene.bound)
    sigma = np.nan_to_num(levels.sigma, nan=1.0) * rng.lognormal(0, _MISJUDGED, channels)[:, None]
    reading, target, clean = ((x - scene.bound[:, None]) / sigma for x in (scene.noisy, scene.air, scene.clean))
    free = without_lag(reading, new, levels.lag1, scene.kernels)
    systematic = scene.doubt[:, None] * np.abs(target - clean)
    return free.values, new, free.lag1, levels.group, free.reading, free.gain, free.tau, target, systematic


def scene_loss(network: nn.Module, batch: Scenes, step: int) -> dict[str, Tensor]:
    """The terms above, averaged over channels; samples in gaps have a weight of 0.3."""
    zero = torch.zeros_like(batch.values)
    estimate, sigma = network(
        batch.values, batch.valid, batch.gain, batch.lag1, zero, batch.group, batch.reading, batch.gain, batch.tau
    )
    error, raw = estimate - batch.target, (batch.reading - batch.target) * batch.valid
    share = batch.valid.mean(-1).clamp_min(0.05)
    mae_raw = raw.abs().mean(-1) / share + 0.05
    mse_raw = raw.square().mean(-1) / share + 0.01
    weight = torch.where(batch.valid > 0.5, 1.0, 0.3)
    weight = weight / weight.mean(-1, keepdim=True)
    mae = (weight * error.abs()).mean(-1) / mae_raw
    mse = (weight * error.square()).mean(-1) / mse_raw
    slow = F.avg_pool1d(error.flatten(0, 1)[:, None], 32, 16).abs().mean(-1).reshape(mae.shape) / mae_raw
    excess = torch.log(error.detach().abs() + 1e-4) - torch.log(1.645 * torch.hypot(sigma, batch.systematic))
    return {
        "mae": _bounded(mae).mean(),
        "mse": 0.25 * torch.log(mse + 0.003).mean(),
        "slow": 0.3 * _bounded(slow).mean(),
        "interval": 0.1 * torch.maximum(0.9 * excess, -0.1 * excess).mean(),
    }


def _bounded(ratio: Tensor) -> Tensor:
    """Linear up to 3, logarithmic beyond, so that one channel with a large error does not dominate a step."""
    return torch.where(ratio < 3, ratio, 3 + torch.log(ratio.clamp_min(3) / 3))


def pretrain(
    folder: Path, *, variant: str = "adaptive", settings: TrainingSettings = SETTINGS, start: Path | None = None
) -> Adaptive:
    """Train a variant from a seed or from the weights in `start`; the same call resumes an interrupted run."""
    torch.manual_seed(settings.seed)
    network = Adaptive(VARIANTS[variant])
    if start is not None:
        network.load_state_dict(load_file(start))
    folder.mkdir(parents=True, exist_ok=True)

    def report(look: Look) -> None:
        terms = ", ".join(f"{name} {value:.4f}" for name, value in look.terms.items())
        _log.info("step %d: held out %.4f (%s)", look.step, look.held_out, terms)

    bright = replace(BRIGHT, steps=settings.steps // BRIGHT_SHARE, seed=settings.seed)
    stages = (("state", settings, draw_scenes), ("bright", bright, partial(draw_scenes, highest_snr=BRIGHT_SNR)))
    ends = []
    for name, chosen, draw in stages:
        held_out = [draw(np.random.default_rng([settings.seed, 0x0D7, k])) for k in range(8)]
        fit(network, draw=draw, loss=scene_loss, held_out=held_out, settings=chosen,
            state=folder / f"{name}.safetensors", report=report)  # fmt: skip
        ends.append({key: value.clone() for key, value in network.state_dict().items()})
    found = {key: torch.stack([end[key] for end in ends]).mean(0) for key in ends[0]}
    network.load_state_dict(found)
    return network
