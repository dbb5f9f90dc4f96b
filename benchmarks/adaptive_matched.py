"""Would the adaptive denoiser gain from training on the very air it is used in? Only a question: nothing here ships.

    python benchmarks/adaptive_matched.py [--steps 300]

The shipped network is tuned on the first half of GoAmazon flight 23 (real CO and NOx taken for the truth, white noise
of 0.02 to 0.2 of P98 − P2 put on) and scored on the second half, before and after: MAE improvement [%] and SNR
improvement [dB]. What it gains is what better training scenes could bring at most, or nearly so.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from adaptive_dev import DATA
from adaptive_limit import score

import pc2dae
from pc2dae.noise import noise_level
from pc2dae.training.adaptive import pretrained
from pc2dae.training.fit import TrainingSettings, fit
from pc2dae.training.pretrain import LENGTH, Scenes, scene_loss

ROWS = 48
Record = tuple[np.ndarray, np.ndarray, float]  # values, which were measured, P98 − P2


def halves(path: Path) -> dict[str, tuple[Record, Record]]:
    """CO and NOx of the flight, cut in the middle; gaps are bridged and not scored."""
    flight, found = pc2dae.open_flight(path), {}
    for gas in ("co", "nox"):
        values = flight[gas].values
        where = np.flatnonzero(np.isfinite(values))
        values = values[where[0] : where[-1] + 1]
        known = np.isfinite(values)
        span = float(np.nanquantile(values, 0.98) - np.nanquantile(values, 0.02))
        values = np.interp(np.arange(len(values)), np.flatnonzero(known), values[known])
        cut = len(values) // 2
        found[gas] = ((values[:cut], known[:cut], span), (values[cut:], known[cut:], span))
    return found


def noisy(rng: np.random.Generator, record: Record, share: float) -> tuple[np.ndarray, ...]:
    """One record with noise of `share` of its span, in units of the noise level found in it."""
    values, known, span = record
    measured = values + share * span * rng.standard_normal(len(values))
    noise = noise_level(measured[None], known[None])
    lag1, one, zero = (np.full(len(values), x) for x in (np.nan_to_num(noise.lag1[0]), 1.0, 0.0))
    scaled = measured / noise.sigma[0]
    return scaled, known, lag1, zero, scaled, one, zero, values / noise.sigma[0], zero  # no lag


def stacked(rows: list[tuple[np.ndarray, ...]]) -> Scenes:
    """Records of one channel each as a batch."""
    return Scenes(*(torch.from_numpy(np.stack(c)[:, None].astype(np.float32)) for c in zip(*rows, strict=True)))


def main() -> None:
    """Print the second half's scores before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    records = halves(DATA)
    firsts = [first for first, _ in records.values()]

    def draw(rng: np.random.Generator) -> Scenes:
        rows = []
        for _ in range(ROWS):
            values, known, span = firsts[rng.integers(len(firsts))]
            begin = rng.integers(len(values) - LENGTH)
            part = slice(begin, begin + LENGTH)
            rows.append(noisy(rng, (values[part], known[part], span), np.exp(rng.uniform(np.log(0.02), np.log(0.2)))))
        return stacked(rows)

    network, _, _ = pretrained()
    asked = {
        f"{gas} {share:.2f}": stacked([noisy(np.random.default_rng(77), second, share)])
        for gas, (_, second) in records.items()
        for share in (0.05, 0.10)
    }
    before = {name: score(network, scenes)[0] for name, scenes in asked.items()}
    fit(network, draw=draw, loss=scene_loss, held_out=[draw(np.random.default_rng([1, k])) for k in range(4)],
        settings=TrainingSettings(steps=steps, learning_rate=1e-3, warmup=20, every=50))  # fmt: skip
    print(f"{'':12}{'as shipped':>16}{'tuned':>16}")
    for name, scenes in asked.items():
        after = score(network, scenes)[0]
        print(f"{name:12}{before[name][0]:9.1f} {before[name][1]:6.2f}{after[0]:9.1f} {after[1]:6.2f}")


if __name__ == "__main__":
    main()
