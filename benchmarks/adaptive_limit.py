"""How far is the adaptive denoiser from the best possible answer? A large network on top of it, as an estimate.

    python benchmarks/adaptive_limit.py -o FOLDER [--steps 900]     # goes on where it was cut short

The large network (some 820,000 parameters, no budget, looks both ways) starts from the shipped one and may draw any
correction: a U-Net over five scales whose output is added in units of the predicted uncertainty. Both parts learn from
the same random scenes with the same loss. Printed: MAE improvement [%] and SNR improvement [dB] of both, and the
distance, on scenes of unused seeds and on the development records. It is never shipped: what it draws need not be an
average of what was measured.
"""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from adaptive_dev import cases
from torch import Tensor, nn

from pc2dae.model.adaptive import Adaptive, ResidualStep
from pc2dae.noise import noise_level
from pc2dae.training.adaptive import pretrained
from pc2dae.training.fit import Look, TrainingSettings, fit
from pc2dae.training.pretrain import Scenes, draw_scenes, scene_loss

WIDTHS = (48, 64, 96, 128, 192)
SETTINGS = TrainingSettings(steps=900, learning_rate=1e-3, warmup=100, every=100, patience=1000)


class Limit(nn.Module):
    """The shipped network, trained on, and a U-Net that corrects it."""

    def __init__(self, shipped: Adaptive) -> None:
        super().__init__()
        self.shipped = shipped
        shipped.second.register_forward_hook(self._overhear)
        self.heard = torch.empty(0)
        self.enter = nn.Conv2d(2 * shipped.config.width + 4, WIDTHS[0], 1)
        self.down = nn.ModuleList(_stage(w) for w in WIDTHS)
        self.shrink = nn.ModuleList(nn.Conv2d(a, b, (1, 2), stride=(1, 2)) for a, b in pairwise(WIDTHS))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, (1, 2), stride=(1, 2)) for a, b in pairwise(WIDTHS))
        self.up = nn.ModuleList(_stage(w) for w in WIDTHS[:-1])
        self.read_out = nn.Conv2d(WIDTHS[0], 2, 1)
        for value in self.read_out.parameters():
            nn.init.zeros_(value)  # begin with the shipped answer

    def _overhear(self, _: nn.Module, __: object, output: Tensor) -> None:
        self.heard = output

    def forward(self, values: Tensor, valid: Tensor, sigma: Tensor, *facts: Tensor) -> tuple[Tensor, Tensor]:
        """As `Adaptive.forward`; the length must be a multiple of 16."""
        estimate, spread = self.shipped(values, valid, sigma, *facts)
        unit = spread.detach()
        heard = self.heard.reshape(*values.shape[:2], -1, values.shape[-1])
        others = heard.mean(1, keepdim=True).expand_as(heard)
        off = torch.nan_to_num((values - estimate) / sigma) * valid
        told = [
            torch.asinh(off),
            torch.asinh((estimate - estimate.mean(-1, keepdim=True)) / sigma),
            valid,
            torch.log(unit / sigma),
        ]
        h = self.enter(torch.cat([heard, others, torch.stack(told, 2)], 2).flatten(0, 1)[:, :, None])
        skips = []
        for stage, shrink in zip(self.down[:-1], self.shrink, strict=True):
            skips.append(stage(h))
            h = shrink(skips[-1])
        h = self.down[-1](h)
        for stage, grow in zip(reversed(self.up), reversed(self.grow), strict=True):
            h = stage(grow(h) + skips.pop())
        correction, wider = self.read_out(h).reshape(*values.shape[:2], 2, -1).unbind(2)
        return estimate + unit * correction, spread * torch.exp(wider)


def _stage(width: int) -> nn.Sequential:
    return nn.Sequential(ResidualStep(width, 1, ahead=True), ResidualStep(width, 2, ahead=True))


@torch.no_grad()
def score(network: nn.Module, scenes: Scenes) -> np.ndarray:
    """MAE and SNR improvement of every channel, measured samples only, bound applied."""
    zero = torch.zeros_like(scenes.values)
    lag = scenes.reading, scenes.gain, scenes.tau
    estimate, _ = network(scenes.values, scenes.valid, scenes.gain, scenes.lag1, zero, scenes.group, *lag)
    error, raw = ((x - scenes.target) * scenes.valid for x in (estimate.clamp_min(0), scenes.reading))
    mae = 100 * (1 - error.abs().sum(-1) / raw.abs().sum(-1))
    snr = 10 * torch.log10(raw.square().sum(-1) / error.square().sum(-1))
    return torch.stack([mae, snr], -1).flatten(0, 1).numpy()


def records() -> dict[str, list[Scenes]]:
    """What both are scored on: fresh random scenes, and the development sets."""
    found = {"random scenes": [draw_scenes(np.random.default_rng([0x11417, k])) for k in range(40)]}
    for name, clean, noisy, valid, bound in cases():
        noise = noise_level(np.nan_to_num(noisy), valid)
        size = clean.shape[-1] // 16 * 16
        scaled = [np.nan_to_num((x - bound[:, None]) / noise.sigma[:, None]) for x in (noisy, clean)]
        lag1 = np.broadcast_to(np.nan_to_num(noise.lag1)[:, None], clean.shape)
        group = np.broadcast_to(np.arange(len(clean))[:, None], clean.shape)
        one, zero = np.ones(clean.shape), np.zeros(clean.shape)
        arrays = (scaled[0], valid, lag1, group, scaled[0], one, zero, scaled[1], zero)  # no lag
        found.setdefault(name, []).append(
            Scenes(*(torch.from_numpy(a[None, :, :size].astype(np.float32)) for a in arrays))
        )
    return found


def main() -> None:
    """Train the large network and print both, and what lies between."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=SETTINGS.steps)
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)
    ours, _, _ = pretrained()
    large = Limit(pretrained()[0])
    chosen.out.mkdir(parents=True, exist_ok=True)

    def report(look: Look) -> None:
        logging.info("step %d: held out %.4f (%s)", look.step, look.held_out, look.terms)

    held_out = [draw_scenes(np.random.default_rng([0x0D8, k])) for k in range(8)]
    fit(large, draw=draw_scenes, loss=scene_loss, held_out=held_out, settings=replace(SETTINGS, steps=chosen.steps),
        state=chosen.out / "state.safetensors", report=report)  # fmt: skip
    sizes = [sum(p.numel() for p in network.parameters()) for network in (large, ours)]
    print("{:,} parameters against {:,}".format(*sizes))
    print(f"{'':16}{'adaptive':>16}{'large':>16}{'distance, dB':>16}")
    for name, scenes in records().items():
        small, big = (np.concatenate([score(network, s) for s in scenes]).mean(0) for network in (ours, large))
        print(f"{name:16}{small[0]:9.1f} {small[1]:6.2f}{big[0]:9.1f} {big[1]:6.2f}{big[1] - small[1]:16.2f}")


if __name__ == "__main__":
    main()
