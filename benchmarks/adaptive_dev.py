"""The development sets of the adaptive denoiser: what docs/adaptive.md quotes.

    python benchmarks/adaptive_dev.py [METHOD ...]      # default: adaptive, adaptive-short and strong rivals

GoAmazon flight 23 (real CO and NOx, where ../shared/data is) with white noise of 0.05 and 0.10 of P98 − P2, and random
scenes of 1 and 8 channels. Printed: MAE improvement [%], SNR improvement [dB], half-width of the 90 % interval in units
of the raw error's standard deviation, and the share of truth inside it. A method without intervals is given those that
fit its errors best: one width per channel, the 90 % quantile of |error|. Never the flights, halves and seeds that
results are reported on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import pc2dae
from pc2dae.filters import oracle
from pc2dae.registry import load_model
from pc2dae.simulate.random_scenes import random_scene
from pc2dae.suite import parse_suite

DATA = Path(__file__).parents[2] / "shared" / "data" / "goamazon_aircraft" / "G1_dryseason_23.xlsx"
METHODS = ["bayesshrink", "oracle-ma5", "oracle-matern", "oracle-tv", "adaptive-short", "adaptive"]
Case = tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # name, clean, noisy, valid, bound


def cases() -> Iterator[Case]:
    """Records with known truth, (channel, time) each."""
    rng = np.random.default_rng(5)
    if DATA.exists():
        flight = pc2dae.open_flight(DATA)
        for gas in ("co", "nox"):
            clean = flight[gas].values
            where = np.flatnonzero(np.isfinite(clean))
            clean = clean[where[0] : where[-1] + 1]
            valid = np.isfinite(clean)
            span = np.nanquantile(clean, 0.98) - np.nanquantile(clean, 0.02)
            for share in (0.05, 0.10):
                noisy = clean + share * span * rng.standard_normal(len(clean))
                yield f"{gas} {share:.2f}", clean[None], noisy[None], valid[None], np.zeros(1)
    else:
        print(f"{DATA.name} is not here: random scenes only", file=sys.stderr)
    rng = np.random.default_rng(424242)
    for channels, count in ((1, 24), (8, 3)):
        for _ in range(count):
            scene = random_scene(rng, channels, 1500)
            yield f"scenes of {channels}", scene.clean, scene.noisy, scene.valid, scene.bound


def score(method: str, case: Case) -> list[tuple[float, float, float, float]]:
    """MAE improvement, SNR improvement, half-width of the 90 % interval and the share inside it, of each channel."""
    _, clean, noisy, valid, bound = case
    toml = "".join(f'[[family.channel]]\nname="c{i}"\nunits="1"\nlower_bound={b}\n' for i, b in enumerate(bound))
    suite = parse_suite(f'name="dev"\n[[family]]\nname="f"\n{toml}', where="dev")
    tuned = method.removeprefix("oracle-")
    denoiser = load_model(method) if tuned == method else oracle(tuned, np.nan_to_num(clean))
    job = denoiser.prepare(None, suite)  # type: ignore[arg-type]
    answer = job(np.nan_to_num(noisy), np.full((3, noisy.shape[1]), np.nan), valid)
    rows = []
    for i, ok in enumerate(valid):
        raw = noisy[i, ok] - clean[i, ok]
        error = np.maximum(answer.unbounded[i, ok], bound[i]) - clean[i, ok]
        size = np.abs(error)
        half = np.full(size.shape, np.quantile(size, 0.9)) if answer.sigma is None else 1.645 * answer.sigma[i, ok]
        mae, snr = 100 * (1 - size.mean() / np.abs(raw).mean()), 10 * np.log10(np.mean(raw**2) / np.mean(error**2))
        rows.append((mae, snr, half.mean() / raw.std(), 100 * np.mean(size <= half)))
    return rows


def main() -> None:
    """Print one line per method."""
    table = list(cases())
    names = list(dict.fromkeys(case[0] for case in table))
    print(f"{'':16}" + "".join(f"{name:>24}" for name in names))
    for method in sys.argv[1:] or METHODS:
        cells = []
        for name in names:
            rows = np.array([row for case in table if case[0] == name for row in score(method, case)])
            mae, snr, half, inside = rows.mean(axis=0)
            cells.append(f"{mae:5.1f} {snr:5.1f} {half:5.2f} {inside:4.0f}%")
        print(f"{method:16}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
