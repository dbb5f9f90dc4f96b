"""How fast the network runs: torch eager, torch traced, onnxruntime; one window at a time and in batches, one core.

    python benchmarks/inference.py [--model lean|wide]
    python benchmarks/inference.py --flight [--samples 1579]    # shipped networks on one flight, as `denoise` runs them

Every figure is also given as a ratio to eager and as a fraction of what the core reaches in a plain matrix product.
"Processed" samples are all that windows hold; one in eight of them is emitted (hop 16 of window 128).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import xarray as xr

import pc2dae
from pc2dae.denoiser import HOP, WINDOW
from pc2dae.edge.onnx_check import card_of, read_onnx
from pc2dae.edge.runtime import denoiser_of
from pc2dae.registry import load_model
from pc2dae.suite import load_suite
from pc2dae.training.checkpoint import build_network, suite_of_card
from pc2dae.windows.scaling import Scaler


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="lean", choices=["lean", "wide"])
    parser.add_argument("--flight", action="store_true", help="every shipped network on one flight, beside lean")
    parser.add_argument("--samples", type=int, default=1579, help="of that flight")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.flight:
        whole_flight(chosen.samples)
        return
    name = chosen.model
    data, facts = read_onnx(Path(pc2dae.__file__).parent / "weights" / f"{name}.onnx")
    card = card_of(facts, where=name)
    suite = suite_of_card(card)
    network = build_network(
        name, suite, Scaler.from_dict(card["scaler"])
    ).eval()  # speed does not depend on the weights
    session = denoiser_of(data, name=name).network
    peak = gemm_peak()
    work = multiply_adds(network)
    print(f"{name}: {work / 1e3:.1f} k multiply-adds per sample; matrix product on this core {peak / 1e9:.0f} GFLOP/s")
    print("                  1 window   ratio  of peak       64 windows   ratio  of peak     emitted")
    with torch.no_grad():
        one, many = (inputs(len(suite.names), batch, card) for batch in (1, 64))
        traced = torch.jit.freeze(torch.jit.trace(network, tuple(map(torch.from_numpy, one)), check_trace=False))
        methods: dict[str, Callable[..., object]] = {
            "torch eager": lambda *x: network(*map(torch.from_numpy, x)),
            "torch traced": lambda *x: traced(*map(torch.from_numpy, x)),
            "onnxruntime": session,
        }
        # Interleaved, so that a busy machine slows all alike; the best of many is what the core can do.
        seconds = {key: [np.inf, np.inf] for key in methods}
        for _ in range(12):
            for key, run in methods.items():
                for i, (x, repeat) in enumerate(((one, 10), (many, 1))):
                    seconds[key][i] = min(seconds[key][i], timed(run, x, repeat))
    for key, (single, batch) in seconds.items():
        faster = [seconds["torch eager"][0] / single, seconds["torch eager"][1] / batch]
        share = [2 * work * WINDOW / single / peak, 2 * work * WINDOW * 64 / batch / peak]
        print(
            f"{key:14}{1e3 * single:9.2f} ms{faster[0]:8.1f}{share[0]:9.0%}   "
            f"{64 * WINDOW / batch / 1e6:8.2f} M/s  {faster[1]:8.1f}{share[1]:9.0%}{64 * HOP / batch / 1e3:8.0f} k/s"
        )


def whole_flight(samples: int) -> None:
    """Processor time per 128 samples of a flight, what is computed for its overlaps and ends included."""
    suite = load_suite("black-kite").only(["bc", "gas", "co2"])
    rng, shape = np.random.default_rng(0), (len(suite.names), samples)
    level = np.array([channel.lower_bound for channel in suite.channels])[:, None]
    values = level + rng.gamma(2.0, 20.0, shape)
    flight = xr.Dataset({name: ("time", row) for name, row in zip(suite.names, values, strict=True)})
    arguments = (values, np.full((3, samples), np.nan), rng.random(shape) < 0.96)
    names = ("lean", "wide", "adaptive", "adaptive-short", "adaptive-causal")
    jobs = {name: load_model(name).prepare(flight, suite) for name in names}
    seconds = dict.fromkeys(jobs, np.inf)
    for _ in range(9):
        for name, job in jobs.items():
            seconds[name] = min(seconds[name], timed(job, arguments, 1))
    print(f"one flight of {samples} samples, {len(suite.names)} channels, one thread; ms per {WINDOW} samples, × lean")
    for name, spent in seconds.items():
        print(f"{name:16}{1e3 * spent * WINDOW / samples:8.2f}{spent / seconds['lean']:8.2f}")


def inputs(channels: int, batch: int, card: dict) -> tuple[np.ndarray, ...]:
    """Windows of plausible values, and their noise."""
    rng = np.random.default_rng(0)
    scale, bound = (np.asarray(card["scaler"][key])[:, None] for key in ("scale", "bound"))
    values = (bound + scale * rng.random((batch, channels, WINDOW))).astype(np.float32)
    noise = np.broadcast_to((0.05 * scale[:, 0]).astype(np.float32), (batch, channels)).copy()
    return values, np.ones_like(values), rng.random((batch, 3, WINDOW), dtype=np.float32), noise


def timed(run: Callable[..., object], x: tuple[np.ndarray, ...], repeat: int) -> float:
    """Processor seconds per call: every method runs in one thread, and a busy machine does not count."""
    begun = time.process_time()
    for _ in range(repeat):
        run(*x)
    return (time.process_time() - begun) / repeat


def gemm_peak() -> float:
    """FLOP/s of a 512³ float32 product, best of many."""
    a = torch.rand(512, 512)
    return 2 * 512**3 / min(timed(torch.mm, (a, a), 3) for _ in range(15))


def multiply_adds(network: torch.nn.Module) -> float:
    """Multiply-adds per sample of all convolutions, the heads' attention apart (once per window)."""
    convolutions = [m for m in network.modules() if isinstance(m, torch.nn.Conv1d)]
    return float(sum(m.weight.numel() for m in convolutions))


if __name__ == "__main__":
    main()
