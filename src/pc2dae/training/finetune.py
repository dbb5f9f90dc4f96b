"""Fine-tuning of the adaptive denoiser on a user's own noisy flights, without truth.

Blind spots: samples are hidden from the network together with their correlated neighbours, and it is held to what was
measured there. Noise has no bias, so the best guess of a hidden sample is its true value. Not all that is learned there
is true of samples that are seen: the tuned weights are those halfway back to the pretrained ones, kept only
if they guess held-out hidden samples better; otherwise the pretrained stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from pc2dae.edge.card import Card
from pc2dae.noise import noise_level
from pc2dae.suite import Suite
from pc2dae.training.adaptive import pretrained, with_weights
from pc2dae.training.checkpoint import save_checkpoint
from pc2dae.training.fit import Look, Settings, fit, judge
from pc2dae.windows.corruption import blind_width, hide
from pc2dae.windows.slicing import Record, data_hash, random_crops, split, tiled_crops

SETTINGS = Settings(steps=60, batch=6, learning_rate=3e-4, warmup=5, every=10, patience=3)
LENGTH = 768  # samples of a crop
_SCALE = 4.0  # σ beyond which an error is no noise


@dataclass(frozen=True)
class Hidden:
    """Crops in units of each channel's noise above its bound, some samples hidden; (crop, channel, time)."""

    values: Tensor
    visible: Tensor
    lag1: Tensor
    asked: Tensor


def finetune(
    records: Sequence[Record],
    suite: Suite,
    *,
    folder: Path,
    settings: Settings = SETTINGS,
    report: Callable[[Look], None] | None = None,
) -> Card:
    """Tune the shipped network to records into `folder`; the card says whether it paid."""
    network, shipped, data = pretrained()
    bound = np.array([channel.lower_bound for channel in suite.channels], np.float32)
    scaled = [_scaled(record, bound) for record in records]
    lag1 = np.nanmedian([noise_level(r.values, r.valid).lag1 for r in records], axis=0)
    width = np.array([blind_width(lag) for lag in lag1])
    train, held_out = split([len(record) for record in records], seed=settings.seed)

    def hidden(crops_rng: np.random.Generator, *, judged: bool) -> Hidden:
        crops = (
            tiled_crops(scaled, held_out, length=LENGTH)
            if judged
            else random_crops(scaled, train, crops_rng, count=settings.batch, length=LENGTH)
        )
        visible, asked = hide(crops.valid, width, crops_rng)
        memory = np.broadcast_to(np.nan_to_num(lag1)[None, :, None], crops.values.shape)
        return Hidden(
            *(torch.from_numpy(np.array(a, dtype=np.float32)) for a in (crops.values, visible, memory, asked))
        )

    for name, parameter in network.named_parameters():
        parameter.requires_grad_(name in _named(data))
    judged = [hidden(np.random.default_rng([settings.seed, 0xB11D]), judged=True)]
    before = sum(judge(network, judged, _blind_loss, 0).values())
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    fit(network, draw=lambda rng: hidden(rng, judged=False), loss=_blind_loss, held_out=judged,
        settings=settings, report=report)  # fmt: skip
    network.load_state_dict({name: 0.5 * (value + kept[name]) for name, value in network.state_dict().items()})
    after = sum(judge(network, judged, _blind_loss, 0).values())
    if after >= before:
        network.load_state_dict(kept)
    card = shipped | {
        "name": folder.name,
        "tuned_on": {"data_sha256": data_hash(records), "samples": sum(map(len, records)), "suite": suite.name},
        "metrics": {"blind_loss_pretrained": before, "blind_loss_tuned": after, "is_tuned": after < before},
        "settings": asdict(settings),
    }
    card.pop("sha256")
    return save_checkpoint(folder, network, card, onnx=with_weights(data, network, card))


def _scaled(record: Record, bound: np.ndarray) -> Record:
    """A record in units of its channels' noise above their bounds."""
    sigma = noise_level(record.values, record.valid).sigma
    sigma = np.where(np.isfinite(sigma) & (sigma > 0), sigma, 1.0).astype(np.float32)
    return Record((record.values - bound[:, None]) / sigma[:, None], record.valid, record.environment)


def _blind_loss(network: nn.Module, batch: Hidden, step: int) -> dict[str, Tensor]:
    """½ s² log(1 + e²/s²) of the errors e [σ] at the asked samples, s = 4: quadratic for noise, hardly a pull beyond.

    What neighbours cannot tell, as the next second of a plume of a thousand σ, must not teach how to average noise.
    """
    ones = torch.ones_like(batch.values)
    seen = torch.where(batch.asked > 0, torch.nan, batch.values)
    estimate, _ = network(seen, batch.visible, ones, batch.lag1, torch.zeros_like(ones[..., :1]))
    error = estimate - torch.nan_to_num(batch.values)
    loss = 0.5 * _SCALE**2 * torch.log1p((error / _SCALE).square())
    return {"blind": (loss * batch.asked).sum() / batch.asked.sum().clamp_min(1)}


def _named(data: bytes) -> set[str]:
    import onnx

    return {tensor.name.removeprefix("network.") for tensor in onnx.load_from_string(data).graph.initializer}


def summary(card: Card) -> str:
    """One line on whether tuning paid."""
    metrics = card["metrics"]
    before, after = metrics["blind_loss_pretrained"], metrics["blind_loss_tuned"]
    if metrics["is_tuned"]:
        return f"held-out blind-spot loss {before:.4f} → {after:.4f}"
    return f"held-out blind-spot loss {before:.4f} would become {after:.4f}: the pretrained weights are kept"
