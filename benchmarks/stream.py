"""How fast a live stream is: time per tick, start, memory, and many flights on one core.

    python benchmarks/stream.py                      # a few minutes; every shipped model
    python benchmarks/stream.py --soak-days 7        # a week at full speed: does memory grow?
    python benchmarks/stream.py --flights 100 --model lean

A tick is one 1 Hz sample through a gateway with its state on disk (one SQLite transaction, synchronous=FULL).
`stream_cpu_ms` is the processor time of the stream in it, `look_back_cpu_ms` if its network starts from the look-back.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from pc2dae.edge.engine import Engine, Runs, Stretch
from pc2dae.edge.gateway import Gateway
from pc2dae.edge.levels import of_flight
from pc2dae.edge.load import live_engine
from pc2dae.edge.messages import parse_sample
from pc2dae.edge.outbox import Outbox
from pc2dae.edge.stream import StreamingDenoiser

START = datetime(2025, 10, 1, 12, tzinfo=UTC)
BUDGET_S = 1.0
HOUR_S = 3600


def payload(engine: Engine, flight: str, seq: int, rng: np.random.Generator) -> bytes:
    """A message with noise in every channel of the engine."""
    noise = rng.normal(size=len(engine.suite.names)).tolist()
    values = {c.name: round(c.lower_bound + (c.noise_sigma or 1.0) * x, 3)
              for c, x in zip(engine.suite.channels, noise, strict=True)}  # fmt: skip
    time_ = (START + timedelta(seconds=seq)).isoformat()
    return json.dumps({"flight": flight, "seq": seq, "time": time_, "values": values}).encode()


def ticks(model: str, count: int, flights: int = 1) -> dict[str, float]:
    """Percentiles of the time from a sample's arrival until its tick is on disk, with `flights` samples a second."""
    engine, _ = live_engine(model, exclude=["pm", "brc"])
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(engine, Outbox(Path(folder) / "state.db", identity=""), limit=10**9)
        warm = engine.look_back + engine.look_ahead + 20
        names = [f"f{n}" for n in range(flights)]
        offset = {name: n % max(engine.hop, 1) for n, name in enumerate(names)}  # flights do not begin together
        for name in names:
            gateway.take([payload(engine, name, seq, rng) for seq in range(warm + offset[name])])
        taken: list[float] = []
        busy: list[float] = []
        for step in range(count):
            second = [payload(engine, name, warm + offset[name] + step, rng) for name in names]
            arrived, before = time.perf_counter(), time.process_time()
            gateway.take(second)  # as the service does: whatever has arrived goes into one transaction
            taken.append(time.perf_counter() - arrived)
            busy.append(time.process_time() - before)
        order = [letter.seq for letter in gateway.outbox.letters(0, 10**9) if letter.flight == names[-1]]
        assert order == list(range(len(order)))
        gateway.outbox.close()
    p50, p99 = np.percentile(taken, [50, 99])
    return {"p50_ms": 1e3 * p50, "p99_ms": 1e3 * p99, "cpu_ms": 1e3 * np.mean(busy),
            "cpu_p10_ms": 1e3 * np.percentile(busy, 10),  # with the least disturbance by other processes
            "p99_of_budget": p99 / BUDGET_S, "latency_s": engine.latency_s,
            "rss_mb": psutil.Process().memory_info().rss / 1e6}  # fmt: skip


def beside_look_back(model: str, count: int) -> dict[str, float]:
    """Mean processor time of a stream's step, beside one whose network starts from its look-back; alternately."""
    engine, _ = live_engine(model, exclude=["pm", "brc"])
    plain = copy.copy(engine)
    plain.runs = lambda: Runs(plain)  # type: ignore[method-assign]
    rng, spent = np.random.default_rng(0), [0.0, 0.0]
    streams, warm = [StreamingDenoiser(each) for each in (engine, plain)], engine.look_back + engine.look_ahead + 20
    samples = [parse_sample(payload(engine, "f", seq, rng)) for seq in range(warm + count)]
    for stream in streams:
        stream.feed(samples[:warm])
    for sample in samples[warm:]:
        for n, stream in enumerate(streams):
            before = time.process_time()
            stream.feed([sample])
            spent[n] += time.process_time() - before
    here, there = (1e3 * each / count for each in spent)
    return {"stream_cpu_ms": here, "look_back_cpu_ms": there, "times_faster": there / here}


def against_torch(model: str) -> dict[str, float]:
    """One run of the network as a tick needs it: onnxruntime beside eager torch, where torch and weights are there."""
    engine, card = live_engine(model, exclude=["pm", "brc"])
    length, rows = engine.look_back + engine.hop + engine.look_ahead, len(engine.suite.names)
    rng = np.random.default_rng(0)
    values, seen = rng.normal(400, 30, (rows, length)), np.ones((rows, length), bool)
    levels, new = of_flight(values, seen, np.zeros(rows))
    stretch = Stretch(
        values, seen, new, levels, np.ones((3, length)), slice(engine.look_back, length - engine.look_ahead)
    )
    found = {"onnxruntime_ms": _best(lambda: engine.run(stretch))}
    weights = files("pc2dae.weights") / f"{model}.safetensors"
    try:
        import torch
        from safetensors.torch import load

        from pc2dae.model.adaptive import VARIANTS, Adaptive
        from pc2dae.model.pc2dae import PC2DAE
        from pc2dae.model.pc2dae import VARIANTS as PAPER
        from pc2dae.windows.scaling import Scaler
    except ImportError:
        return found
    torch.set_num_threads(1)
    if model in VARIANTS and weights.is_file():
        network: Any = Adaptive(VARIANTS[model]).eval()
        network.load_state_dict(load(weights.read_bytes()))
        inputs = [torch.ones(1, rows, length)] * 9
    elif model in PAPER:
        network = PC2DAE(PAPER[model], engine.suite, Scaler.from_dict(card["scaler"])).eval()
        inputs = [torch.ones(1, rows, 128), torch.ones(1, rows, 128), torch.ones(1, 3, 128), torch.ones(1, rows)]
    else:
        return found
    with torch.no_grad():
        found["torch_ms"] = _best(lambda: network(*inputs))
    return found | {"torch_over_onnxruntime": found["torch_ms"] / found["onnxruntime_ms"]}


def _best(run: Any) -> float:
    run()
    times = []
    for _ in range(7):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def cold_start(model: str) -> float:
    """Seconds from nothing until the first sample is taken."""
    code = (
        "import sys; from pc2dae.edge.load import live_engine; from pc2dae.edge.gateway import Gateway; "
        "from pc2dae.edge.outbox import Outbox; "
        f"g = Gateway(live_engine({model!r})[0], Outbox(None, identity='')); "
        'g.take([b\'{"flight": "f", "seq": 0, "time": "2025-10-01T12:00:00Z", "values": {}}\'])'
    )
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - begun)
    return min(times)


def soak(model: str, days: float, per_feed: int = 100) -> dict[str, float]:
    """Memory [MB] and open files after an hour of stream and at the end; the outbox is emptied as a consumer would."""
    engine, _ = live_engine(model, exclude=["pm", "brc"])
    rng, process = np.random.default_rng(0), psutil.Process()
    lines = [payload(engine, "f", 0, rng).partition(b'"values"')[2] for _ in range(600)]
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(engine, Outbox(Path(folder) / "state.db", identity=""))
        total, begun, early, files_early = int(days * 86400), time.perf_counter(), 0.0, process.num_fds()
        for first in range(0, total, per_feed):
            batch = [
                b'{"flight": "f", "seq": %d, "time": "%s", "values"%s'
                % (n, (START + timedelta(seconds=n)).isoformat().encode(), lines[n % len(lines)])
                for n in range(first, min(first + per_feed, total))
            ]
            gateway.take(batch)
            gateway.delivered(letter.n for letter in gateway.outbox.letters(0, 10 * per_feed))
            if first <= HOUR_S < first + per_feed:
                early, files_early = process.memory_info().rss / 1e6, process.num_fds()
        seconds = time.perf_counter() - begun
        size, opened = (Path(folder) / "state.db").stat().st_size / 1e6, process.num_fds() - files_early
        gateway.outbox.close()
    late = process.memory_info().rss / 1e6
    return {"samples": total, "days": days, "times_real_time": total / seconds, "rss_after_1_h_mb": early,
            "rss_end_mb": late, "grown_mb": late - early, "state_mb": size,
            "more_files_open": opened}  # fmt: skip


def main() -> None:
    """Print one line of JSON per measurement."""
    shipped = sorted(
        p.name.removesuffix(".onnx") for p in files("pc2dae.weights").iterdir() if p.name.endswith(".onnx")
    )
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=shipped, help="default: each of them")
    parser.add_argument("--ticks", type=int, default=200)
    parser.add_argument("--flights", type=int, default=1)
    parser.add_argument("--soak-days", type=float, default=0.0)
    chosen = parser.parse_args()
    if chosen.model is None:  # each in a process of its own, so that memory is its own
        for model in shipped:
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--model", model], check=True)
        return
    model = chosen.model
    if chosen.soak_days:
        found: dict[str, float] = soak(model, chosen.soak_days)
    elif chosen.flights > 1:
        found = {"flights": chosen.flights} | ticks(model, chosen.ticks, chosen.flights)
    else:
        found = ticks(model, chosen.ticks) | beside_look_back(model, chosen.ticks)
        found |= against_torch(model) | {"cold_start_s": cold_start(model)}
    print(json.dumps({"model": model} | {key: round(value, 3) for key, value in found.items()}), flush=True)


if __name__ == "__main__":
    main()
