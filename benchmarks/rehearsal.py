"""A rehearsal: a flight replayed live through a real broker and server, with a silence, and both of them killed.

    python benchmarks/rehearsal.py [FLIGHT --suite SUITE] [--speed 10]

Without FLIGHT: a Konza flight of the shared data folder, or a simulated one where that is absent. Prints what was lost
and duplicated, alarms expected and raised, and how far the recorded flight is from `denoise --profile live`; exit code
1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import xarray as xr
from numpy.typing import NDArray

import pc2dae
from pc2dae.flight.schema import suite_of
from pc2dae.flight.store import read_flight, write_flight
from pc2dae.ingestion import prepare
from pc2dae.simulate import plan_campaign, write_campaign
from pc2dae.web.suites import as_toml

ROOT = Path(__file__).parents[1]
KONZA = ROOT.parent / "shared" / "data" / "konza_uav_burn" / "kolibri" / "K20A.csv"
MODEL, SUITE, NAME = "adaptive-short", "rehearsed", "rehearsal"
PAUSE_S = 13.0  # the drone is silent; 10 s raise the alarm
OUTAGE_S = 3.0  # of the broker
JOIN_S = 10  # crossings of raw values and estimates this close are one alarm
AGREEMENT = 1e-5  # of the channel's scale
PATIENCE_S = 240.0
Intervals = list[tuple[float, float]]  # s since 1970


@dataclass
class Rehearsal:
    """What happened."""

    samples: int
    lost: int = 0
    duplicated: int = 0
    expected: dict[str, Intervals] = field(default_factory=dict)
    raised: dict[str, Intervals] = field(default_factory=dict)
    is_silence_noticed: bool = False
    reconnect_s: float = 0.0  # after the broker's return
    restart_s: float = 0.0  # after the server's return
    differences: dict[str, float] = field(default_factory=dict)  # relative to the channel's scale

    @property
    def missed(self) -> int:
        """Expected alarms without a raised one."""
        return sum(not any(_meet(e, r) for r in self.raised[c]) for c, all_ in self.expected.items() for e in all_)

    @property
    def unexpected(self) -> int:
        """Raised alarms without an expected one."""
        return sum(not any(_meet(r, e) for e in self.expected[c]) for c, all_ in self.raised.items() for r in all_)

    @property
    def is_good(self) -> bool:
        """Whether nothing went wrong."""
        counts = (self.lost, self.duplicated, self.missed, self.unexpected)
        return not any(counts) and self.is_silence_noticed and max(self.differences.values()) < AGREEMENT

    def __str__(self) -> str:
        expected, raised = (sum(map(len, each.values())) for each in (self.expected, self.raised))
        worst = max(self.differences, key=lambda name: self.differences[name])
        return "\n".join([
            f"samples            {self.samples}",
            f"lost               {self.lost}",
            f"duplicated         {self.duplicated}",
            f"alarms             {expected} crossings expected ({', '.join(self.expected)}), {raised} alarms raised, "
            f"{self.missed} missed, {self.unexpected} unexpected",
            f"silence            {'raised the no-data alarm' if self.is_silence_noticed else 'not noticed'}",
            f"broker killed      received again {self.reconnect_s:.1f} s after its return",
            f"server killed      received again {self.restart_s:.1f} s after its return",
            f"recorded flight    differs from denoise --profile live by at most {self.differences[worst]:.1e} of the "
            f"channel's scale ({worst}; limit {AGREEMENT:g})",
        ])  # fmt: skip


def rehearse(flight: xr.Dataset, folder: Path, *, speed: float) -> Rehearsal:
    """Replay a prepared flight live while things fail, and compare what was recorded with what should have been."""
    write_flight(flight, folder / "flight.nc")
    offline = pc2dae.denoise(flight, model=MODEL, profile="live")
    suite = suite_of(flight)
    limits, expected = _limits(flight, offline)
    seen = Rehearsal(samples=flight.sizes["time"], expected=expected)
    broker, port = _free_port(), _free_port()
    (folder / "data" / "suites").mkdir(parents=True)
    (folder / "data" / "suites" / f"{SUITE}.toml").write_text(as_toml(suite.model_copy(update={"name": SUITE})))
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
    with _Parts(folder, broker, port) as parts:
        parts.start_broker()
        parts.start_server()
        _until(lambda: client.get("/health").status_code == 200, "the server answers")
        wanted = {"broker": f"127.0.0.1:{broker}", "suite": SUITE, "model": MODEL}
        client.post("/api/live", json=wanted).raise_for_status()
        client.put("/api/live/limits", json=limits).raise_for_status()
        parts.start_replay(speed)

        def live() -> dict[str, Any]:
            return dict(client.get("/api/live").raise_for_status().json())

        def received() -> int:
            return int((live()["recording"] or {"samples": 0})["samples"])

        def past(share: float) -> None:
            _until(lambda: received() > share * seen.samples, f"{share:.0%} of the flight is received")

        past(0.15)
        parts.replay.send_signal(signal.SIGSTOP)
        time.sleep(PAUSE_S)
        seen.is_silence_noticed = any(a["kind"] == "no_data" for a in client.get("/api/live/alarms").json())
        parts.replay.send_signal(signal.SIGCONT)
        past(0.35)
        parts.broker.kill()
        parts.broker.wait()
        time.sleep(OUTAGE_S)
        before, returned = received(), time.monotonic()
        parts.start_broker()
        _until(lambda: received() > before, "samples arrive after the broker's return")
        seen.reconnect_s = time.monotonic() - returned
        past(0.6)
        _count(seen, live())
        before = received()
        parts.server.kill()
        parts.server.wait()
        returned = time.monotonic()
        parts.start_server()
        _until(lambda: received() > before, "samples arrive after the server's return")
        seen.restart_s = time.monotonic() - returned
        parts.replay.wait(PATIENCE_S)
        _until(lambda: _recorded(client) is not None, "the recorded flight is in the list")
        _count(seen, live())
        _compare(seen, client, folder, flight, offline)
        for alarm in client.get("/api/live/alarms").json():
            if alarm["kind"] == "above":
                ends = (alarm["since"] / 1000, (alarm["until"] or alarm["last_time"]) / 1000)
                seen.raised.setdefault(alarm["channel"], []).append(ends)
    seen.raised = {name: seen.raised.get(name, []) for name in {**seen.expected, **seen.raised}}
    seen.expected = {name: seen.expected.get(name, []) for name in seen.raised}
    return seen


def _count(seen: Rehearsal, live: dict[str, Any]) -> None:
    """Add the counters of a server process."""
    seen.lost += live["counters"].get("lost", 0)
    seen.duplicated += live["counters"].get("duplicated", 0)


def _recorded(client: httpx.Client) -> dict[str, Any] | None:
    """The recorded flight once its live run is ready."""
    for flight in client.get("/api/flights").json():
        if flight.get("recorded") and flight["state"] == "failed":
            raise SystemExit(f"the recorded flight could not be read: {flight['error']}")
        if flight.get("recorded") and flight["state"] == "ready":
            found = dict(client.get(f"/api/flights/{flight['id']}").json())
            if any(run["method"] == "live" and run["state"] == "ready" for run in found["runs"]):
                return found
    return None


def _compare(seen: Rehearsal, client: httpx.Client, folder: Path, flight: xr.Dataset, offline: xr.Dataset) -> None:
    found = _recorded(client)
    run = next(run["id"] for run in (found or {})["runs"] if run["method"] == "live")
    path = folder / "recorded.nc"
    answer = client.get(f"/api/flights/{(found or {})['id']}/download", params={"run": run, "format": "nc"})
    path.write_bytes(answer.raise_for_status().content)
    recorded = read_flight(path)
    times, inside = np.unique(recorded["time"].values, return_counts=True)
    seen.duplicated += int((inside - 1).sum())
    same = np.isin(flight["time"].values, times)
    seen.lost += int((~same).sum())
    at = recorded.sel(time=flight["time"].values[same])
    for name in suite_of(flight).names:
        if f"{name}_raw" not in offline or f"{name}_raw" not in recorded:
            continue
        mine, theirs = at[name].values, offline[name].values[same]
        scale = float(np.nanmax(np.abs(theirs)))
        is_both = np.isfinite(mine) & np.isfinite(theirs)
        seen.lost += int((np.isfinite(theirs) & ~np.isfinite(mine)).sum())
        seen.differences[name] = float(np.max(np.abs(mine[is_both] - theirs[is_both]))) / scale


def _limits(flight: xr.Dataset, offline: xr.Dataset) -> tuple[dict[str, Any], dict[str, Intervals]]:
    """A limit for each denoised channel with plumes, and when raw 3-s medians or estimates are beyond it."""
    time_s = flight["time"].values.astype("datetime64[ms]").astype(np.int64) / 1000
    limits: dict[str, Any] = {}
    expected: dict[str, Intervals] = {}
    for name in suite_of(flight).names:
        if f"{name}_raw" not in offline:
            continue
        value, raw = offline[name].values.astype(float), flight[name].values.astype(float)
        middle, peak = float(np.nanmedian(value)), float(np.nanmax(value))
        if not peak > 3 * max(middle, float(np.nanquantile(value, 0.8))):
            continue  # no clear plume
        level, margin = middle + 0.4 * (peak - middle), 0.2 * (peak - middle)
        limits[name] = {"above": level, "hysteresis": margin}
        medians = xr.DataArray(raw).rolling(dim_0=3, min_periods=2).median().values
        found = [*_beyond(time_s, medians, level, margin), *_beyond(time_s, value, level, margin)]
        expected[name] = _joined(sorted(found))
    return limits, expected


def _beyond(time_s: NDArray[np.float64], values: NDArray[np.float64], level: float, margin: float) -> Intervals:
    """When values are above a level, until they are below it by the margin."""
    found: Intervals = []
    since = None
    for at, value in zip(time_s.tolist(), values.tolist(), strict=True):
        if since is None and value > level:
            since = at
        elif since is not None and value <= level - margin:
            found.append((since, at))
            since = None
    return found if since is None else [*found, (since, float(time_s[-1]))]


def _joined(intervals: Intervals) -> Intervals:
    found: Intervals = []
    for start, stop in intervals:
        if found and start <= found[-1][1] + JOIN_S:
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((start, stop))
    return found


def _meet(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] + JOIN_S and other[0] <= one[1] + JOIN_S


class _Parts:
    """Broker, server and drone as processes of their own, ended on exit."""

    broker: subprocess.Popen[bytes]
    server: subprocess.Popen[bytes]
    replay: subprocess.Popen[bytes]

    def __init__(self, folder: Path, broker_port: int, port: int) -> None:
        self.folder, self.broker_port, self.port = folder, broker_port, port
        self.all: list[subprocess.Popen[bytes]] = []

    def start_broker(self) -> None:
        program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")
        if program is None:
            raise SystemExit("mosquitto is not installed: make system")
        config = self.folder / "mosquitto.conf"
        config.write_text(
            f"listener {self.broker_port} 127.0.0.1\nallow_anonymous true\npersistence false\nuser root\n"
        )
        self.broker = self._started(program, "-c", str(config))

    def start_server(self) -> None:
        self.server = self._pc2dae("serve", "--port", self.port, "--data", self.folder / "data", "--broker",
                                   f"127.0.0.1:{self.broker_port}")  # fmt: skip

    def start_replay(self, speed: float) -> None:
        where = f"127.0.0.1:{self.broker_port}"
        self.replay = self._pc2dae("replay", self.folder / "flight.nc", "--mqtt", where, "--topic", "smoke/raw",
                                   "--speed", speed, "--name", NAME)  # fmt: skip

    def _pc2dae(self, *arguments: object) -> subprocess.Popen[bytes]:
        return self._started(sys.executable, "-c", "from pc2dae.cli import main; main()", *map(str, arguments))

    def _started(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log.txt").open("ab") as log:
            self.all.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"OMP_NUM_THREADS": "1"})
            )
        return self.all[-1]

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.all:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.all:
            process.wait(30)


def _until(fact: Callable[[], bool], words: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        with suppress(httpx.TransportError, httpx.HTTPStatusError):
            if fact():
                return
        if time.monotonic() > end:
            raise SystemExit(f"not within {PATIENCE_S:g} s: {words}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _given(arguments: argparse.Namespace) -> Iterator[tuple[xr.Dataset, str]]:
    """The flight to rehearse, and what it is."""
    path, suite = arguments.flight, arguments.suite
    if path is None and KONZA.is_file():
        path, suite = KONZA, ROOT / "examples" / "kolibri.toml"
    if path is not None:
        yield prepare(pc2dae.open_flight(path, suite=suite)), path.name
        return
    with tempfile.TemporaryDirectory() as folder:
        logs = next(iter(write_campaign(plan_campaign(3, flights=1, minutes=15), Path(folder))))
        yield prepare(pc2dae.open_flight(logs)), "a simulated flight"


def main() -> int:
    """Rehearse and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flight", type=Path, nargs="?")
    parser.add_argument("--suite")
    parser.add_argument("--speed", type=float, default=10.0)
    arguments = parser.parse_args()
    with _given(arguments) as (flight, words), tempfile.TemporaryDirectory() as folder:
        print(f"{words}, {flight.sizes['time']} s at {arguments.speed:g} ×")
        seen = rehearse(flight, Path(folder), speed=arguments.speed)
    print(seen)
    return int(not seen.is_good)


if __name__ == "__main__":
    sys.exit(main())
