"""What the adaptive network costs per channel-sample: beside lean, beside a matrix product, by operator, by channels.

    python benchmarks/network_cost.py                # a few minutes, one thread
    python benchmarks/network_cost.py --error        # error of clusters of channels on simulated flights, beside others

All times are processor time, interleaved, best of several. "limit" is the time in which the core does as many floating
point operations in a matrix product of 512 × 512 float32; operations are counted from the shapes of all outputs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnxruntime as ort

from pc2dae.edge import adaptive, clusters
from pc2dae.edge.adaptive import INPUTS, AdaptiveEngine
from pc2dae.edge.engine import Stretch
from pc2dae.edge.levels import of_flight
from pc2dae.edge.load import open_network
from pc2dae.noise import noise_level
from pc2dae.simulate.random_scenes import random_scene
from pc2dae.suite import load_suite, parse_suite

SAMPLES = 1024
CHANNELS = (2, 15, 50, 200)
KILO = 1e3
_MOVES = {"Slice", "Concat", "Unsqueeze", "Squeeze", "Reshape", "Expand", "Pad", "Shape", "Gather", "Cast",
          "ReorderInput", "ReorderOutput"}  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--error", action="store_true", help="error on simulated flights instead of time")
    parser.add_argument("--flights", type=int, default=4, help="simulated flights per row of the table")
    chosen = parser.parse_args()
    if chosen.error:
        errors(chosen.flights)
        return
    operations = by_operator()
    costs(operations)


def costs(operations: float) -> None:
    """Time per channel-sample, by number of channels, with and without clusters, and of lean."""
    jobs: dict[str, tuple[Callable[[], object], int]] = {}
    for count in CHANNELS:
        jobs[f"adaptive, {count} channels"] = (_job(count, SAMPLES), count * SAMPLES)
        if count > clusters.ALL:
            few = SAMPLES // 4 if count > 100 else SAMPLES  # all pairs of 200 channels take much memory
            jobs[f"adaptive, {count} channels, all pairs"] = (_job(count, few, everything=True), count * few)
    jobs["lean, 15 channels"] = (_lean(), 15 * SAMPLES)
    square = np.random.default_rng(0).random((512, 512), dtype=np.float32)
    jobs["limit"] = (lambda: square @ square, 2 * 512**3)
    best = dict.fromkeys(jobs, np.inf)
    for turn in range(4):
        for name, (run, size) in jobs.items():
            if turn < 2 or not name.endswith("all pairs"):
                best[name] = min(best[name], _seconds(run) / size)
    limit = best.pop("limit")
    print(f"\nmatrix product: {1e-9 / limit:.0f} GFLOP/s; adaptive, 15 channels: {operations / KILO:.0f} kFLOP per "
          f"channel-sample, limit {1e6 * operations * limit:.2f} µs")  # fmt: skip
    print(f"\n{'network':36}µs per channel-sample   × lean   × limit")
    for name, seconds in best.items():
        ratio = seconds / best["lean, 15 channels"]
        beside = f"{seconds / (operations * limit):8.1f}" if name == "adaptive, 15 channels" else ""
        print(f"{name:36}{1e6 * seconds:21.2f}{ratio:9.2f}{beside:>10}")


def _job(count: int, samples: int, *, everything: bool = False) -> Callable[[], object]:
    """A run of the shipped network on noise with plumes."""
    engine, rng = _engine(count), np.random.default_rng(0)
    plumes = np.repeat(rng.gamma(0.3, 20.0, (3, samples // 16 + 1)), 16, axis=1)[:, :samples]
    values = 5 + plumes[np.arange(count) % 3] + rng.standard_normal((count, samples))
    seen = np.ones(values.shape, bool)
    levels, new = of_flight(values, seen, np.zeros(count))
    chosen = (tuple(range(count)),) if everything else clusters.clusters_of(values, new, levels.group[:, 0])
    stretch = Stretch(values, seen, new, levels, np.empty((3, samples)), slice(0, samples), clusters=chosen)
    return lambda: engine.run(stretch)


def _lean() -> Callable[[], object]:
    suite = load_suite("black-kite").only(["bc", "gas", "co2"])
    found = open_network("lean")
    assert found is not None
    engine, rng = found[0].engine(suite), np.random.default_rng(0)
    values = 400 + rng.standard_normal((len(suite.names), SAMPLES))
    seen = np.ones(values.shape, bool)
    levels, new = of_flight(values, seen, np.zeros(len(values)))
    wanted = slice(0, SAMPLES)
    return lambda: engine.run(Stretch(values, seen, new, levels, np.ones((3, SAMPLES)), wanted))


def _engine(count: int, model: str = "adaptive") -> AdaptiveEngine:
    rows = "".join(f'[[family.channel]]\nname = "c{n}"\nunits = "ppb"\n' for n in range(count))
    found = open_network(model)
    assert found is not None
    engine = found[0].engine(parse_suite(f'name = "wide"\n[[family]]\nname = "f"\n{rows}', where="benchmark"))
    assert isinstance(engine, AdaptiveEngine)
    return engine


def _seconds(run: Callable[[], object]) -> float:
    before = time.process_time()
    run()
    return time.process_time() - before


def by_operator(count: int = 15, repeats: int = 10) -> float:
    """Print the shares of time by operator; return the floating point operations per channel-sample."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_reuse, options.enable_profiling = False, True
    inputs: list[Any] = []

    def kept(*arrays: Any) -> tuple[Any, ...]:
        inputs.extend(arrays)
        return arrays[:3]

    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "profile")
        weights = Path(adaptive.__file__).parents[1] / "weights" / "adaptive.onnx"
        session = ort.InferenceSession(weights.read_bytes(), options, providers=["CPUExecutionProvider"])
        run = _job(count, SAMPLES)
        engine = run.__closure__[0].cell_contents  # type: ignore[index]
        with patch.object(engine.denoiser, "network", kept):
            run()
        for _ in range(repeats):
            session.run(None, dict(zip(INPUTS, inputs, strict=True)))
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    spent: Counter[str] = Counter()
    pairs, total, work = 0, 0, 0.0
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            about, kind = event["args"], event["args"]["op_name"]
            shape = _shape(about["output_type_shape"])
            spent[kind] += event["dur"]
            total += event["dur"]
            pairs += event["dur"] if _is_pair(shape, count) else 0
            work += _operations(kind, shape, about) / repeats
    print(f"adaptive, {count} channels × {SAMPLES} samples, by operator (onnxruntime's profiler)")
    for kind, duration in spent.most_common(10):
        print(f"  {kind:12}{duration / total:7.1%}")
    print(f"  {'others':12}{1 - sum(n for _, n in spent.most_common(10)) / total:7.1%}")
    print(f"  all operators on pairs of channels: {pairs / total:.1%}")
    return work / (count * SAMPLES)


def _shape(outputs: list[dict[str, list[int]]]) -> list[int]:
    return next(iter(outputs[0].values())) if outputs else []


def _is_pair(shape: list[int], count: int) -> bool:
    """Outputs (batch, i, j, …) or (batch, i, j · view, time)."""
    return len(shape) >= 4 and shape[1] == count and shape[2] in (count, 2 * count)


def _operations(kind: str, shape: list[int], about: dict[str, Any]) -> float:
    """Floating point operations of a node: one per output, two per weight and output of a convolution."""
    if kind in _MOVES:
        return 0.0
    if kind == "Conv":
        weight = next(iter(about["input_type_shape"][1].values()))
        return 2.0 * float(np.prod(weight[1:])) * float(np.prod(shape))
    if kind.startswith("Reduce"):
        return float(np.prod(next(iter(about["input_type_shape"][0].values()))))
    return float(np.prod(shape))


def errors(flights: int, length: int = 1200) -> None:
    """Root mean square error [σ] on flights with known truth: all pairs, clusters, random ones of their sizes, none."""
    print(f"{flights} simulated flights of {length} samples per row; rms error of the estimate in units of the noise")
    print(f"{'channels':10}{'payloads':>9}{'all pairs':>12}{'clusters':>10}{'random':>9}{'each alone':>12}")
    for count, payloads in ((24, 1), (24, 3), (48, 1), (48, 3)):
        engine, rows = _engine(count), []
        for seed in range(flights):
            rng = np.random.default_rng([seed, count, payloads])
            scenes = [random_scene(rng, count // payloads, length) for _ in range(payloads)]
            order = rng.permutation(count)
            noisy, clean = (np.concatenate([x - s.bound[:, None] for s in scenes for x in [getattr(s, key)]])[order]
                            for key in ("noisy", "clean"))  # fmt: skip
            valid = np.concatenate([scene.valid for scene in scenes])[order]
            sigma = noise_level(noisy, valid).sigma[:, None]
            choices = (_all_pairs, clusters.clusters_of, _same_sizes, _each_alone)
            rows.append([_rms(engine, noisy, valid, clean, sigma, choice) for choice in choices])
        mean = np.sqrt(np.mean(np.square(rows), axis=0))
        print(f"{count:<10}{payloads:>9}{mean[0]:12.4f}{mean[1]:10.4f}{mean[2]:9.4f}{mean[3]:12.4f}", flush=True)


def _all_pairs(values: Any, *_: Any) -> clusters.Clusters:
    return (tuple(range(len(values))),)


def _each_alone(values: Any, *_: Any) -> clusters.Clusters:
    return tuple((row,) for row in range(len(values)))


def _same_sizes(*record: Any) -> clusters.Clusters:
    """Clusters of the same sizes as those chosen, of rows in their random order."""
    ends = np.cumsum([len(rows) for rows in clusters.clusters_of(*record)])
    return tuple(tuple(range(a, b)) for a, b in pairwise([0, *ends.tolist()]))


def _rms(engine: AdaptiveEngine, noisy: Any, valid: Any, clean: Any, sigma: Any, choice: Any) -> float:
    with patch.object(adaptive, "clusters_of", choice):
        found = engine(noisy, np.full((3, noisy.shape[1]), np.nan), valid)
    error = ((found.unbounded - clean) / sigma)[valid & np.isfinite(found.unbounded) & (sigma > 0)]
    return float(np.sqrt(np.mean(np.minimum(error**2, 100.0))))  # a dropped plume counts as 10 σ at most


if __name__ == "__main__":
    main()
