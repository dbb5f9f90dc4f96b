"""The plan of a benchmark, and each contender by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from pc2dae.errors import ModelError, nearest
from pc2dae.filters import FILTERS
from pc2dae.registry import SHIPPED
from pc2dae.training.networks import ABLATIONS, BASELINE_NETWORKS, BASELINES

PARTS = ("simulated", "seen", "scarcity", "ablation", "real", "ambient")
YARDSTICKS = ("constant", "raw", "clip", "truth")  # in every table
TUNABLE = ("ma5", "savgol", "wavelet", "kalman", "rts", "whittaker", "bayesshrink", "matern", "tv", "ona")
STEPS = 900  # of training, for every network
LITERAL = ("lean-paper", "wide-paper")
ON_REAL = ("lean", "wide", "lean-paper")  # trained on real records, each leaving out the one it is scored on
AMOUNTS = (0.125, 1.0, 3.0)  # campaigns of training data
# Which parts of lean need how much data: trained with the simulated truth, adaptive tuned without it.
STUDIED = (
    "lean", "wide", "lean-no-softplus", "lean-one-head", "lean-no-environment", "lstm-ae+skip", "adaptive",
)  # fmt: skip
RIVALS = tuple(f"{name}+skip" for name in BASELINES)  # as lean and wide: a correction in noise units
READING = "noise-free reading"  # what a sensor without noise would read: the limit of any estimate of the reading
ORACLES = {"oracle": 1.0, "oracle for SNR": 2.0}  # power of the error that a λ chosen with the truth minimises
T90_ERRORS = {"t90 +15 %": 0.15, "t90 -15 %": -0.15}  # relative errors of the t90 that a network is given
CLASSICAL = tuple(name for name in FILTERS if name not in YARDSTICKS)


@dataclass(frozen=True)
class Contender:
    """One method as it is run: with which output head, trained with which seed on how much data."""

    method: str
    output_head: str = "plain"
    seed: int = 0
    campaigns: float = 0.0  # of training data; 0 where nothing is learned here
    steps: int = 0  # of training; 0: the network's own
    objective: str = ""  # of training, where it is not the usual one of the network

    @property
    def network(self) -> str:
        """What `pc2dae train --variant` calls it."""
        return self.method if self.output_head == "plain" else f"{self.method}+{self.output_head}"

    @property
    def is_trained(self) -> bool:
        """Whether it learns from the training campaign, rather than being a filter or shipped."""
        return self.campaigns > 0

    @property
    def is_aside(self) -> bool:
        """Whether it is only in the tables of scarcity or ablation, which need the flight as flown and nothing else."""
        is_studied = bool(self.objective) or self.method in (*ABLATIONS, "adaptive")
        return self.campaigns not in (0.0, 1.0) or (self.is_trained and is_studied)

    @property
    def key(self) -> str:
        """A file name of its own."""
        how = f"-{self.objective}" if self.objective else ""
        learned = f"{how}-seed{self.seed}-x{self.campaigns:g}-{self.steps or 'own'}" if self.is_trained else ""
        return f"{self.network}{learned}"


@dataclass(frozen=True)
class BenchmarkPlan:
    """How large a benchmark is."""

    methods: tuple[str, ...]
    parts: tuple[str, ...] = PARTS
    flights: int = 20  # simulated, held out
    seeds: int = 3
    steps: int = 0  # of training, the same for every network; 0: each network's own


GROUPS: dict[str, tuple[str, ...]] = {
    "classical": CLASSICAL,
    "oracle": tuple(f"{name}+oracle" for name in TUNABLE),
    "neural": (*LITERAL, *BASELINE_NETWORKS),
    "shipped": SHIPPED,
}
FULL = BenchmarkPlan(methods=("classical", "oracle", "shipped", "neural"), steps=STEPS)
QUICK = BenchmarkPlan(
    methods=("classical", "ma5+oracle", "rts+oracle", "bayesshrink+oracle", "shipped"),
    parts=("simulated",),
    flights=5,
    seeds=1,
    steps=150,
)


def plan_of(
    base: BenchmarkPlan, *, methods: Iterable[str] = (), parts: Iterable[str] = (), **sizes: Any
) -> BenchmarkPlan:
    """`base` with what was asked for in its place; every name is checked before anything runs."""
    for part in (parts := tuple(parts)):
        if part not in PARTS:
            raise ModelError(f"the benchmark has no part '{part}'", hint=nearest(part, PARTS))
    chosen = replace(base, parts=parts or base.parts, methods=tuple(methods) or base.methods,
                     **{key: value for key, value in sizes.items() if value is not None})  # fmt: skip
    known = {*GROUPS, *CLASSICAL, *YARDSTICKS, *SHIPPED, *GROUPS["neural"], *GROUPS["oracle"], *_CLIPPED}
    for name in chosen.methods:
        if name not in known:
            raise ModelError(f"the benchmark has no method '{name}'", hint=nearest(name, known))
    return chosen


_CLIPPED = tuple(f"{name}+clip" for name in CLASSICAL)


def missing(plan: BenchmarkPlan) -> list[str]:
    """Shipped models that were asked for and have no weights yet."""
    return [name for name in _names(plan) if name in SHIPPED and not is_shipped(name)]


def is_shipped(name: str) -> bool:
    """Whether the package holds weights of that name."""
    return (files("pc2dae.weights") / f"{name}.onnx").is_file()


def contenders(plan: BenchmarkPlan) -> list[Contender]:
    """All contenders on the held-out flights, reference estimates first; each filter plain and clipped."""
    found = [Contender(name) for name in YARDSTICKS]
    for name in _names(plan):
        method, _, head = name.partition("+")
        if name in CLASSICAL:
            found += [Contender(name), Contender(name, "clip")]
        elif method in FILTERS:
            found.append(Contender(method, head))
        elif name in GROUPS["neural"]:
            found += trained(name, plan)
        elif is_shipped(name):
            found.append(Contender(name))
    return list(dict.fromkeys(found))


def trained(name: str, plan: BenchmarkPlan, campaigns: float = 1.0) -> list[Contender]:
    """A network trained with every seed on this many campaigns."""
    method, _, head = name.partition("+")
    return [Contender(method, head or "plain", seed, campaigns, plan.steps) for seed in range(plan.seeds)]


def seen(plan: BenchmarkPlan) -> list[Contender]:
    """Networks trained on one campaign, and two methods that were not, to compare flights known to them and unknown."""
    networks = (*LITERAL, "lean", "wide", "lstm-ae", "lstm-ae+skip")
    return [Contender("bayesshrink", "clip"), Contender("adaptive"), *(c for n in networks for c in trained(n, plan))]


def scarcity(plan: BenchmarkPlan) -> list[Contender]:
    """Lean, wide, lean without a part, and their rivals, on an eighth of a campaign up to three."""
    studied = [c for name in STUDIED for amount in AMOUNTS for c in trained(name, plan, amount)]
    return list(dict.fromkeys([*studied, *(c for name in RIVALS for c in trained(name, plan))]))


def ablation(plan: BenchmarkPlan) -> list[Contender]:
    """Lean without one part or trained without the truth; lean and wide with each other's loss weights and softplus."""
    whole = [contender for name in ("lean", "wide", *ABLATIONS) for contender in trained(name, plan)]
    return [*whole, *(replace(contender, objective="recorrupted") for contender in trained("lean", plan))]


def ambient() -> list[Contender]:
    """Estimates of the air: by the network, also with a wrong t90, from its estimate of the reading, and classical."""
    yardsticks = [Contender(name) for name in ("raw", "clip", READING)]
    ours = [Contender("adaptive", head) for head in ("plain", "response", "with slope", *T90_ERRORS)]
    live = [Contender(name) for name in ("adaptive-short", "adaptive-causal")]
    rivals = [Contender(name) for name in ("tikhonov", "wiener", "joint-rts", "richardson-lucy")]
    return [*yardsticks, *ours, *live, *rivals, *(Contender("tikhonov", head) for head in ORACLES)]


def _names(plan: BenchmarkPlan) -> Iterator[str]:
    for name in dict.fromkeys(n for asked in plan.methods for n in GROUPS.get(asked, (asked,))):
        if name not in YARDSTICKS:
            yield name
