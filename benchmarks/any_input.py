"""Whatever goes in, what comes out is finite and at or above the bound: any window, attack or weights.

    python benchmarks/any_input.py --windows 1000000 --weights 1000

Windows are random float32 bit patterns (NaN, infinities, subnormals), extremes, constants and plausible records, with
any mask and any weather, through the shipped networks in onnxruntime, through torch and through a stream. Prints one
line per part; exit code 1 if any value breaks the promise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import torch
from torch import Tensor, nn

from pc2dae.arrays import Array
from pc2dae.edge.load import live_engine
from pc2dae.edge.messages import Sample
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.model.adaptive import VARIANTS, Adaptive
from pc2dae.registry import SHIPPED, load_model
from pc2dae.training.adaptive import Deployed, pretrained
from pc2dae.training.shipped import shipped_network

LENGTH, CHANNELS = 128, 15  # of a window; the adaptive networks take any number of both and get fewer
EXTREMES = np.array([np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45, -1e-45, 0.0, -0.0, -9999.0, 65535.0], np.float32)
Network = Callable[..., tuple[Array, ...]]


def hostile(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Windows (batch, channel, time), each of one of five kinds."""
    bits = rng.integers(0, 2**32, shape, np.uint32).view(np.float32)
    plausible = rng.normal(400, 30, shape).astype(np.float32)
    spiked = np.where(rng.random(shape) < 0.1, rng.choice(EXTREMES, shape), plausible)
    scaled = plausible * np.float32(10.0) ** rng.integers(-38, 36, (shape[0], 1, 1)).astype(np.float32)
    constant = np.broadcast_to(rng.choice(EXTREMES, (*shape[:2], 1)), shape)
    kind = rng.integers(0, 5, (shape[0], 1, 1))
    return np.select([kind == n for n in range(4)], [bits, spiked, scaled, constant], plausible)


def inputs_of(name: str, rng: np.random.Generator, batch: int) -> tuple[list[Array], Array]:
    """What a network is given, and the bound that its estimate may not be below."""
    if name in VARIANTS:
        shape = (batch, 3, LENGTH // 2)
        bound = np.broadcast_to(rng.choice(np.array([0, 300, -5, 1e6], np.float32), (batch, 3, 1)), shape).copy()
        values, valid, noise, lag1, group, reading, gain, tau = (hostile(rng, shape) for _ in range(8))
        lagging = rng.random((batch, 1, 1)) < 0.5
        lag = [
            np.where(lagging, x, free) for x, free in ((reading, values), (gain, np.float32(1)), (tau, np.float32(0)))
        ]
        return [values, _mask(valid, rng), noise, lag1, bound, group, *lag], bound
    shape = (batch, CHANNELS, LENGTH)
    bound = np.array([channel.lower_bound for channel in load_model(name).suite.channels])[:, None]  # type: ignore[attr-defined]
    values, valid, noise = hostile(rng, shape), _mask(hostile(rng, shape), rng), hostile(rng, shape)[..., 0].copy()
    return [values, valid, hostile(rng, (batch, 3, LENGTH)), noise], bound


def _mask(valid: Array, rng: np.random.Generator) -> Array:
    """Mostly ones, so that the values count; in some windows anything at all."""
    return np.where(rng.random((len(valid), 1, 1)) < 0.8, np.float32(1), valid)


def broken(outputs: tuple[Array, ...], bound: Array) -> int:
    """Values that are not finite, and estimates below the bound."""
    below = np.asarray(outputs[0], np.float64) < np.asarray(bound, np.float64)
    return int(below.sum()) + sum(int((~np.isfinite(output)).sum()) for output in outputs)


def through_onnxruntime(name: str, windows: int, seed: int = 0) -> tuple[int, int]:
    """Values that break the promise, of how many."""
    network: Network = load_model(name).network  # type: ignore[attr-defined]
    bad = values = 0
    for n, batch in enumerate(_batches(windows)):
        inputs, bound = inputs_of(name, np.random.default_rng([seed, n]), batch)
        outputs = network(*inputs)
        bad, values = bad + broken(outputs, bound), values + outputs[0].size
    return bad, values


def _batches(windows: int) -> Iterator[int]:
    for first in range(0, windows, 64):
        yield min(64, windows - first)


def in_torch(name: str) -> nn.Module:
    """The shipped network in torch."""
    if name in VARIANTS:
        return Deployed(pretrained(name)[0]).eval()
    found = shipped_network(name, load_model(name).suite)  # type: ignore[attr-defined]
    assert found is not None
    return found[0].eval()


def outputs_of(network: nn.Module, inputs: list[Array]) -> tuple[Array, ...]:
    """Run in torch."""
    with torch.no_grad():
        given = network(*map(torch.from_numpy, inputs))
    return tuple(output.numpy() for output in (given if isinstance(given, tuple) else (given,)))


def with_any_weights(name: str, sets: int, seed: int = 0) -> tuple[int, int]:
    """The same with new random weights each time, of every size that a file may hold."""
    rng, bad, values = np.random.default_rng(seed), 0, 0
    torch.manual_seed(seed)
    network = Deployed(Adaptive(VARIANTS[name])).eval() if name in VARIANTS else in_torch(name)
    for _ in range(sets):
        gain = float(10.0 ** rng.uniform(-3, 37))
        with torch.no_grad():
            for p in network.parameters():
                p.copy_((torch.randn_like(p) * gain).clamp(-3.4e38, 3.4e38))
        inputs, bound = inputs_of(name, rng, 4)
        outputs = outputs_of(network, inputs)
        bad, values = bad + broken(outputs, bound), values + outputs[0].size
    return bad, values


def attacked(name: str, steps: int, seed: int = 0) -> tuple[int, int]:
    """Descend on the input to push each head's lowest estimate below its bound."""
    rng, network, bad, values = np.random.default_rng(seed), in_torch(name), 0, 0
    for scale in (1.0, 100.0, 1e4):
        inputs, bound = inputs_of(name, rng, 2)
        given = [torch.from_numpy(array) for array in inputs]
        given[0] = torch.from_numpy(rng.normal(0, scale, inputs[0].shape).astype(np.float32)).requires_grad_()
        given[1] = torch.ones_like(given[1])
        if name in VARIANTS:
            ones, zeros = torch.ones_like(given[2]), torch.zeros_like(given[3])
            given[2:] = [ones, zeros, given[4], zeros, given[0].detach().clone(), ones, zeros]
        else:
            given[3] = torch.ones_like(given[3])
        for _ in range(steps):
            first = network(*given)
            estimate: Tensor = first[0] if isinstance(first, tuple) else first
            (slope,) = torch.autograd.grad(estimate.amin(-1).sum(), given[0])
            with torch.no_grad():
                given[0] -= scale * torch.nan_to_num(slope).sign()
            bad, values = bad + broken((estimate.detach().numpy(),), bound), values + estimate.numel()
    return bad, values


def streamed(name: str, seconds: int, seed: int = 0) -> tuple[int, int]:
    """Any numbers in messages: an estimate is finite and at or above the bound, or there is none."""
    engine, _ = live_engine(name, exclude=["pm", "brc"])
    stream, rng, start = StreamingDenoiser(engine), np.random.default_rng(seed), datetime(2025, 10, 1, tzinfo=UTC)
    bound = np.array([channel.lower_bound for channel in engine.suite.channels])
    bad = values = 0
    columns = hostile(rng, (-(-seconds // 64), len(bound), 64)).transpose(0, 2, 1).reshape(-1, len(bound))[:seconds]
    given = []
    for n, column in enumerate(columns):
        known = np.where(np.abs(column) <= 1e30, column, np.nan).astype(object)  # larger ones are no message
        numbers = {k: None if x != x else float(x) for k, x in zip(engine.suite.names, known, strict=True)}
        given += stream.feed([Sample(flight="f", seq=n, time=start + timedelta(seconds=n), values=numbers)])
    given += stream.flush()
    for ready in given:
        value = np.asarray(ready.value, np.float64)
        bad += int((np.isinf(value) | (value < bound)).sum())
        values += value.size
    return bad, values


def disagreement(name: str, windows: int, seed: int = 0) -> tuple[float, float]:
    """Largest relative difference of torch and onnxruntime over scales of 1e-3 … 1e3, and absolute at scale 1."""
    ours, theirs = load_model(name).network, in_torch(name)  # type: ignore[attr-defined]
    relative = absolute = 0.0
    for n, batch in enumerate(_batches(windows)):
        rng = np.random.default_rng([seed, n])
        scale = (1e-3, 1.0, 1e3)[n % 3]
        values = np.abs(rng.normal(5, 1, (batch, 3, 256)) * scale).astype(np.float32)
        ones = np.ones_like(values)
        group = np.broadcast_to(np.arange(3, dtype=np.float32)[:, None], values.shape).copy()
        tau = np.broadcast_to(np.array([[0.0], [2.0], [8.0]], np.float32), values.shape)
        reading = np.float32(5 * scale) + (values - np.float32(5 * scale)) / (1 + tau)
        inputs = [values, ones, ones * np.float32(scale), 0 * ones, 0 * ones, group, reading, 1 + tau, tau.copy()]
        difference = np.abs(outputs_of(theirs, inputs)[0] - ours(*inputs)[0])
        relative = max(relative, float(difference.max() / values.max()))
        absolute = max(absolute, float(difference.max())) if scale == 1.0 else absolute
    return relative, absolute


def main() -> int:
    """Print every part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=1_000_000, help="of all networks together")
    parser.add_argument("--weights", type=int, default=1_000, help="sets of random weights of all networks together")
    parser.add_argument("--steps", type=int, default=200, help="of an attack")
    parser.add_argument("--seconds", type=int, default=2_000, help="of a stream")
    parser.add_argument("--agree", type=int, default=10_000, help="windows to compare torch and onnxruntime on")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    total = 0
    for name in SHIPPED:
        for what, (bad, values) in {
            f"{chosen.windows // 5:,} windows": through_onnxruntime(name, chosen.windows // 5),
            f"{chosen.weights // 5:,} sets of weights": with_any_weights(name, chosen.weights // 5),
            f"attack of {chosen.steps} steps": attacked(name, chosen.steps),
            f"stream of {chosen.seconds:,} s": streamed(name, chosen.seconds),
        }.items():
            print(f"{name:16} {what:24} {bad} of {values:,} values break the promise", flush=True)
            total += bad
        if name in VARIANTS:
            relative, absolute = disagreement(name, chosen.agree // 3)
            print(
                f"{name:16} torch − onnxruntime       {relative:.1e} relative, {absolute:.1e} at unit scale", flush=True
            )
    return int(total > 0)


if __name__ == "__main__":
    raise SystemExit(main())
