"""Kill −9 the broker, the gateway, the sender, or take the consumer off line, at random moments; count what is lost.

    python benchmarks/faults.py --kills 100 --outage 60

A flight is sent through a real mosquitto (persistence on, as Debian ships it) to `pc2dae stream --confirm` and on to a
consumer. What the consumer holds in the end is compared with an uninterrupted run.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from pc2dae.edge.broker import Broker
from pc2dae.edge.consumer import Consumer
from pc2dae.edge.gateway import Gateway
from pc2dae.edge.load import live_engine
from pc2dae.edge.outbox import Outbox
from pc2dae.edge.publisher import Publisher
from pc2dae.suite import load_suite

FLIGHT = "flight_001"


def flight_lines(length: int, seed: int) -> list[bytes]:
    """A flight of the preset suite as messages: plumes, noise, some seconds without a message."""
    rng = np.random.default_rng(seed)
    channels = [c for f in load_suite("black-kite").only(["bc", "gas", "co2"]).family for c in f.channel]
    start, found, second = datetime(2025, 10, 1, 12, tzinfo=UTC), [], 0
    for seq in range(length):
        second += 1 + int(rng.random() < 0.01)
        plume = max(0.0, np.sin(second / 40)) ** 8
        sigmas = [c.noise_sigma or 1.0 for c in channels]
        values = {c.name: round(c.lower_bound + s * (20 * plume + rng.normal()), 3)
                  for c, s in zip(channels, sigmas, strict=True)}  # fmt: skip
        stamp = (start + timedelta(seconds=second)).isoformat()
        found.append(
            json.dumps(
                {"flight": FLIGHT, "seq": seq, "time": stamp, "values": values, "end": seq == length - 1}
            ).encode()
        )
    return found


def uninterrupted(lines: list[bytes], model: str) -> list[dict[str, object]]:
    """What comes out when nothing goes wrong."""
    gateway = Gateway(
        live_engine(model, exclude=["pm", "brc"])[0], Outbox(None, identity=""), patience_s=0, limit=10**9
    )
    for at in range(0, len(lines), 50):
        gateway.take(lines[at : at + 50])
    return [json.loads(letter.payload) for letter in gateway.outbox.letters(0, 10**9)]


def free_port() -> int:
    """A port of the loopback interface that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Stage:
    """The processes of one run."""

    folder: Path
    model: str
    rate_hz: float
    port: int = field(default_factory=free_port)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    consumer: threading.Thread | None = None
    leave: threading.Event = field(default_factory=threading.Event)

    def command(self, role: str) -> list[str]:
        """How each process is started."""
        here = f"127.0.0.1:{self.port}"
        if role == "broker":
            config = self.folder / "mosquitto.conf"
            config.write_text(
                f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
                f"persistence_location {self.folder}/\nmax_queued_messages 100000\nset_tcp_nodelay true\nuser root\n"
            )
            return [
                shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin") or "mosquitto",
                "-c",
                str(config),
            ]
        if role == "gateway":
            topics = ["--in", "smoke/raw", "--out", "smoke/clean", "--exclude", "pm", "--exclude", "brc"]
            code = "from pc2dae.cli import main; main()"
            return [sys.executable, "-c", code, "stream", "--model", self.model, "--mqtt", here, *topics,
                    "--state", str(self.folder / "state.db"), "--confirm"]  # fmt: skip
        return [
            sys.executable,
            __file__,
            "--send",
            str(self.folder / "in.jsonl"),
            "--port",
            str(self.port),
            "--rate",
            str(self.rate_hz),
        ]

    def start(self, role: str) -> None:
        """Start a process, or put the consumer on line."""
        if role == "consumer":
            self.leave = threading.Event()
            listener = Consumer(Broker("127.0.0.1", self.port), "smoke/clean", self.folder / "out.jsonl")
            self.consumer = threading.Thread(target=listener.run, args=(self.leave,), daemon=True)
            self.consumer.start()
        else:
            with (self.folder / f"{role}.log").open("ab") as log:
                self.running[role] = subprocess.Popen(self.command(role), stdout=log, stderr=log)

    def kill(self, role: str) -> None:
        """Kill −9, or take the consumer off line."""
        if role == "consumer":
            self.leave.set()
            assert self.consumer is not None
            self.consumer.join()
        else:
            self.running[role].kill()
            self.running[role].wait()

    def count(self) -> int:
        """Bytes the consumer holds: any growth shows that data flow."""
        path = self.folder / "out.jsonl"
        return path.stat().st_size if path.exists() else 0

    def close(self) -> None:
        """Stop everything."""
        self.leave.set()
        for process in self.running.values():
            process.kill()
            process.wait()


def run(kills: int, *, seed: int = 0, length: int = 4000, rate_hz: float = 20.0, outage_s: float = 0.0,
        model: str = "lean", roles: list[str] | None = None, limit_s: float = 3600.0) -> dict[str, float]:  # fmt: skip
    """Faults at random moments, then time to finish; how many estimates were lost or doubled, and recovery times."""
    chance, recovery, counts = random.Random(seed), [], dict.fromkeys(("broker", "gateway", "sender", "consumer"), 0)
    lines = flight_lines(length, seed)
    expected = uninterrupted(lines, model)
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), model, rate_hz)
        (stage.folder / "in.jsonl").write_bytes(b"\n".join(lines))
        begun = time.monotonic()
        try:
            for role in ("broker", "gateway", "sender", "consumer"):
                stage.start(role)
            _wait_for_growth(stage, limit_s)
            for n in range(kills):
                time.sleep(chance.uniform(0.0, 1.5))
                role = roles[n] if roles is not None else chance.choice(list(counts))
                stage.kill(role)
                counts[role] += 1
                time.sleep(chance.uniform(0.0, 1.0))
                stage.start(role)
                if stage.running["sender"].poll() is None and chance.random() < 0.5:  # else the next fault comes on top
                    recovery.append(_wait_for_growth(stage, 60.0))
            if outage_s:
                stage.kill("broker")
                time.sleep(outage_s)
                stage.start("broker")
                recovery.append(_wait_for_growth(stage, 60.0))
            stage.kill("sender")
            stage.rate_hz = 1e6
            stage.start("sender")
            while _lines(stage) < len(expected) and time.monotonic() - begun < limit_s:
                time.sleep(0.5)
            time.sleep(1.0)
        finally:
            stage.close()
        got = [json.loads(line) for line in (stage.folder / "out.jsonl").read_bytes().splitlines()]
        if len(got) < len(expected):
            for role in ("gateway", "sender"):
                print((stage.folder / f"{role}.log").read_text()[-2000:], file=sys.stderr)
    seqs = [row["seq"] for row in got]
    return {
        "kills": sum(counts.values()), **{f"kills_{role}": n for role, n in counts.items()}, "estimates": len(expected),
        "lost": len(set(range(len(expected))) - set(seqs)), "duplicated": len(seqs) - len(set(seqs)),
        "out_of_order": sum(b <= a for a, b in pairwise(seqs)),
        "worst_difference": _difference(got, expected), "recovery_median_s": float(np.median(recovery or [0.0])),
        "recovery_max_s": max(recovery, default=0.0), "duration_s": time.monotonic() - begun,
    }  # fmt: skip


def _wait_for_growth(stage: Stage, limit_s: float) -> float:
    begun, before = time.monotonic(), stage.count()
    while stage.count() <= before and time.monotonic() - begun < limit_s and stage.running["sender"].poll() is None:
        time.sleep(0.05)
    return time.monotonic() - begun


def _lines(stage: Stage) -> int:
    path = stage.folder / "out.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _difference(got: list[dict[str, object]], expected: list[dict[str, object]]) -> float:
    """Largest difference of an estimate, in units of the channel's range."""
    tables = [np.array([list(row["estimate"].values()) for row in rows], float) for rows in (got, expected[: len(got)])]  # type: ignore[attr-defined]
    scale = np.nanmax(tables[1], 0) - np.nanmin(tables[1], 0)
    same = [{k: row[k] for k in ("seq", "time", "qc")} for row in got] == [
        {k: row[k] for k in ("seq", "time", "qc")} for row in expected[: len(got)]
    ]
    return float(np.nanmax(np.abs(tables[0] - tables[1]) / scale)) if same else float("inf")


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--length", type=int, default=8000, help="messages of the flight")
    parser.add_argument("--outage", type=float, default=0.0, help="seconds without a broker")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="lean")
    parser.add_argument("--rate", type=float, default=20.0, help="messages per second")
    parser.add_argument("--send", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.send is not None:
        lines = chosen.send.read_bytes().splitlines()
        broker = Broker("127.0.0.1", chosen.port)
        Publisher(broker, topic="smoke/raw", flight=FLIGHT, count=len(lines), message=lines.__getitem__).run(
            rate_hz=chosen.rate
        )
        return
    found = run(
        chosen.kills,
        seed=chosen.seed,
        length=chosen.length,
        rate_hz=chosen.rate,
        outage_s=chosen.outage,
        model=chosen.model,
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
