"""Fine-tuning of the adaptive denoiser on a user's own noisy flights, without truth.

Trained and judged by recorruption (`windows.corruption.recorrupt`): the network sees the record with more noise of its
own kind and is compared with a target whose noise is independent of that input. The identity behind it needs Gaussian
noise of known σ, which real noise is not quite, so the shipped weights are replaced only by a gain on held-out
stretches that is both statistically clear and not small; otherwise they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from pc2dae.arrays import Array
from pc2dae.denoiser import Estimate, Job
from pc2dae.edge.adaptive import AdaptiveDenoiser, Network, adaptive_of
from pc2dae.edge.card import Card
from pc2dae.edge.onnx_check import verify_onnx
from pc2dae.errors import ModelError
from pc2dae.model.adaptive import Adaptive
from pc2dae.noise import noise_level
from pc2dae.suite import Suite
from pc2dae.training.adaptive import Deployed, initializers, pretrained, with_weights
from pc2dae.training.checkpoint import save_checkpoint
from pc2dae.training.fit import Look, TrainingSettings, fit
from pc2dae.windows.corruption import recorrupt
from pc2dae.windows.slicing import Record, Segment, crops_at, data_hash, random_places, split, tiled_places

SETTINGS = TrainingSettings(steps=40, batch=4, learning_rate=2e-4, warmup=5, every=10, patience=3)
LENGTH = 768  # samples of a crop
HELD_OUT = 0.3  # share of the record that judges: the gain is small beside the noise of the target
DRAWS = 4  # recorruptions of each held-out record
BLOCK = 32  # samples; blocks are taken as independent, which neighbouring errors are not
CLEAR = 3.0  # standard errors …
WORTHWHILE = 0.005  # … and share of the loss that the gain must exceed: of 3 σ², nearly all of which is target noise


@dataclass(frozen=True)
class Recorrupted:
    """Recorrupted crops, (crop, channel, time) each."""

    inputs: tuple[Tensor, ...]  # of the network, as the denoiser prepares them
    target: Tensor  # counted from the same zero as the values in `inputs`
    weight: Tensor  # of the error, 0 where nothing was observed


@dataclass(frozen=True)
class NetworkComparison:
    """Losses of two networks on the same held-out recorruptions."""

    before: float
    after: float
    standard_error: float  # of before − after
    worthwhile: float = WORTHWHILE

    @property
    def margin(self) -> float:
        """The gain that replaces the shipped weights."""
        return max(CLEAR * self.standard_error, self.worthwhile * self.before)

    @property
    def is_better(self) -> bool:
        """Whether the second network is better by the margin."""
        return self.before - self.after > self.margin

    def as_dict(self) -> dict[str, float | bool]:
        """For the card."""
        return {
            "recorruption_loss_pretrained": self.before,
            "recorruption_loss_tuned": self.after,
            "gain_standard_error": self.standard_error,
            "required_gain": self.margin,
            "is_tuned": self.is_better,
        }


def finetune(
    records: Sequence[Record],
    suite: Suite,
    *,
    folder: Path,
    settings: TrainingSettings = SETTINGS,
    report: Callable[[Look], None] | None = None,
) -> Card:
    """Tune the shipped network to records and save it in `folder`; the card says whether the weights changed."""
    network, shipped, data = pretrained()
    material = TuningData(records, suite, adaptive_of(data, verify_onnx(data, where="adaptive.onnx"), name="adaptive"))
    train, held_out = split([len(record) for record in records], seed=settings.seed, share=HELD_OUT)
    length = min(LENGTH, max(segment.stop - segment.start for segment in train + held_out))
    judged = material.batch(tiled_places(held_out, length=length), length, np.random.default_rng([settings.seed, 1]))
    replaceable = _named(data)
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(name in replaceable)
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    fit(
        Deployed(network),
        draw=lambda rng: material.batch(random_places(train, rng, count=settings.batch, length=length), length, rng),
        loss=_loss,
        held_out=[judged],
        settings=settings,
        report=report,
    )
    network.load_state_dict({name: 0.5 * (value + kept[name]) for name, value in network.state_dict().items()})
    result = material.compare(network, held_out, np.random.default_rng([settings.seed, 2]))
    if not result.is_better:
        network.load_state_dict(kept)
    card = shipped | {
        "name": folder.name,
        "tuned_on": {"data_sha256": data_hash(records), "samples": sum(map(len, records)), "suite": suite.name},
        "metrics": result.as_dict(),
        "settings": asdict(settings),
    }
    card.pop("sha256")
    return save_checkpoint(folder, network, card, onnx=with_weights(data, network, card))


class TuningData:
    """Records with their noise, and the shipped denoiser, which prepares them for the network."""

    def __init__(self, records: Sequence[Record], suite: Suite, denoiser: AdaptiveDenoiser) -> None:
        self.records, self.suite, self.denoiser = records, suite, denoiser
        noise = [noise_level(record.values, record.valid) for record in records]
        sigma, self.lag1 = np.array([n.sigma for n in noise]), np.array([n.lag1 for n in noise])
        self.sigma = np.where(sigma > 0, sigma, np.nan)  # a channel without noise cannot be recorrupted: NaN weighs 0

    def batch(self, places: Sequence[tuple[Segment, int]], length: int, rng: np.random.Generator) -> Recorrupted:
        """Recorrupted crops at `places`, each prepared as if it were a flight of its own."""
        crops = crops_at(self.records, places, length)
        index = [segment.record for segment, _ in places]
        noisy, target = self._recorrupt(crops.values, crops.valid, index, rng)
        prepared = [self._prepare(*crop) for crop in zip(noisy, crops.environment, crops.valid, strict=True)]
        inputs = tuple(np.concatenate(arrays) for arrays in zip(*(inputs for inputs, _ in prepared), strict=True))
        spread = np.array([estimate.sigma for _, estimate in prepared])
        weight = self._weight(crops.valid & np.isfinite(crops.values), spread, index)
        return Recorrupted(tuple(map(_tensor, inputs)), _tensor(inputs[0] + (target - noisy)), _tensor(weight))

    def compare(self, network: Adaptive, held_out: Sequence[Segment], rng: np.random.Generator) -> NetworkComparison:
        """The shipped network and `network` on the held-out part of recorrupted records, run as `denoise` does."""
        jobs = [self._job(self.denoiser.network), self._job(_in_numpy(network))]
        blocks = []  # mean loss of the two in each block
        for index in sorted({segment.record for segment in held_out}):
            record, losses, counts = self.records[index], np.zeros(()), np.zeros(())
            for _ in range(DRAWS):
                noisy, target = self._recorrupt(record.values, record.valid, index, rng)
                pair = [job(noisy, record.environment, record.valid) for job in jobs]
                weight = self._weight(record.valid & np.isfinite(record.values), pair[0].sigma, index)
                errors = [np.where(weight > 0, weight * (estimate.unbounded - target), 0.0) for estimate in pair]
                losses, counts = losses + np.square(errors).sum(axis=1), counts + (weight > 0).sum(axis=0)
            for segment in (s for s in held_out if s.record == index):
                for start in range(segment.start, segment.stop, BLOCK):
                    part = slice(start, min(start + BLOCK, segment.stop))
                    if counts[part].any():
                        blocks.append(losses[:, part].sum(axis=1) / counts[part].sum())
        if len(blocks) < 2:
            raise ModelError("the held-out stretches have too few noisy samples to judge by", hint="add longer flights")
        before, after = np.transpose(blocks)
        if not np.isfinite(after).all():
            raise ModelError("tuning diverged: the tuned network gives estimates that are not finite",
                             hint="check the flights with `pc2dae inspect`")  # fmt: skip
        error = np.std(before - after, ddof=1) / np.sqrt(len(blocks))
        return NetworkComparison(float(before.mean()), float(after.mean()), float(error))

    def _recorrupt(self, values: Any, valid: Any, index: Any, rng: np.random.Generator) -> tuple[Array, Array]:
        return recorrupt(values, valid, np.nan_to_num(self.sigma[index]), self.lag1[index], rng)

    def _prepare(self, values: Array, environment: Any, valid: Any) -> tuple[tuple[Any, ...], Estimate]:
        """The inputs that the denoiser gives the network for a crop, and the shipped network's estimate from them."""
        inputs: list[tuple[Any, ...]] = []

        def tapped(*arrays: Any) -> tuple[Any, ...]:
            inputs.append(arrays)
            return self.denoiser.network(*arrays)

        estimate = self._job(tapped)(values, environment, valid)
        if inputs[0][0].shape[-1] != values.shape[1]:
            raise ModelError("every channel is slower than the flight's grid, so there is too little to tune on",
                             hint="set rate_hz of the suite to the rate of the sensors")  # fmt: skip
        return inputs[0], estimate

    def _job(self, network: Network) -> Job:
        return replace(self.denoiser, network=network).prepare(xr.Dataset(), self.suite)

    def _weight(self, seen: Any, spread: Any, index: Any) -> Array:
        """1 / √(σ² + u²), u the shipped network's uncertainty on the recorrupted input.

        Errors count in units of the channel's noise, and less in bright plumes, where they would outweigh all others. A
        weight that depends on the input alone leaves the identity of recorruption intact; a saturating loss would not.
        """
        weight = 1.0 / np.hypot(self.sigma[index][..., None], spread)
        return np.where(seen & np.isfinite(weight), weight, 0.0)


def _loss(network: nn.Module, batch: Recorrupted, step: int) -> dict[str, Tensor]:
    """Mean squared error of the unbounded estimate against the target, weighted."""
    _, unbounded, _ = network(*batch.inputs)
    error = batch.weight * (unbounded - torch.nan_to_num(batch.target))
    return {"recorruption": error.square().sum() / (batch.weight > 0).sum().clamp_min(1)}


def _in_numpy(network: Adaptive) -> Network:
    """A torch network as the denoiser calls it."""
    deployed = Deployed(network).eval()

    @torch.no_grad()
    def run(*arrays: Any) -> tuple[Any, ...]:
        return tuple(output.numpy() for output in deployed(*map(torch.from_numpy, arrays)))

    return run


def _tensor(array: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def _named(data: bytes) -> set[str]:
    import onnx

    return set(initializers(onnx.load_from_string(data)))


def summary(card: Card) -> str:
    """One line on whether the weights changed, and why."""
    metrics = card["metrics"]
    before, after, margin = (
        metrics[key] for key in ("recorruption_loss_pretrained", "recorruption_loss_tuned", "required_gain")
    )
    change = f"held-out recorruption loss {before:.4f} → {after:.4f}, gain {before - after:+.4f}"
    if metrics["is_tuned"]:
        return f"tuned weights saved: {change} (required: {margin:.4f})"
    return f"shipped weights kept: {change} is not above the required {margin:.4f}"
