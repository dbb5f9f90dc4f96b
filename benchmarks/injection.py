"""Which reading of the paper's noise injection gives its table of traditional methods? Nothing here ships.

    python benchmarks/injection.py -o DIR            the best reading of each reference
    python benchmarks/injection.py -o DIR --all      every reading

The paper adds noise of σ = 0.05 and states neither the reference of its errors, nor the unit of σ, nor how it averages
over channels. Each combination is scored on simulated campaigns: five filters, and the literal `lean-paper` (objective
`paper`, 900 steps, trained into DIR once) on the flights it was trained on and on a campaign of another seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np

from pc2dae.arrays import Array, Floats, Index
from pc2dae.benchmark.cases import FIRST_TRAINING, Case, simulated_cases, training_flights
from pc2dae.denoiser import Denoiser
from pc2dae.filters import FILTERS
from pc2dae.metrics import LEVELS, inject, scales
from pc2dae.metrics.blind import negatives
from pc2dae.paper.published import INJECTION, INJECTION_HIGH
from pc2dae.registry import load_model
from pc2dae.simulate.plan import PAPER_FLIGHTS
from pc2dae.training.run import TrainingPlan, settings_for, train
from pc2dae.windows.slicing import record_of

UNSEEN = 4242  # a campaign of another seed; nothing is trained or scored on it elsewhere
TOLERANCES = (5.0, 1.0, 5.0)  # MAE reduction [%], SNR gain [dB], negatives [%]
PUBLISHED = np.array(list(INJECTION.values()))
OWN = "method's own output"  # on the record without injected noise
# What the noise is added to, what errors are measured against: the noise-free response, or a filter of the record.
REFERENCES = [("response", "response"), ("raw", "raw"), ("clip", "clip"), ("raw", "clip"),
              ("raw", "ma5"), ("raw", "ma11"), ("ma5", "ma5"), ("raw", OWN)]  # fmt: skip
LABELS = {"response": "noise-free response", "raw": "record", "clip": "clipped record", "ma5": "5-sample mean",
          "ma11": "11-sample mean", OWN: OWN}  # fmt: skip
UNITS: dict[str, Callable[[Floats, Floats], Array]] = {
    "P99.5 − bound": scales,
    "max − min": lambda x, bound: np.nanmax(x, axis=1) - np.nanmin(x, axis=1),
    "standard deviation": lambda x, bound: np.nanstd(x, axis=1),
    "P98 − P2": lambda x, bound: np.subtract(*np.nanpercentile(x, (98, 2), axis=1)),
}
MEANS = ("families", "channels", "median channel", "pooled errors")


@dataclass(frozen=True)
class Reading:
    """One reading of the protocol and what it gives."""

    labels: tuple[str, ...]
    scores: Array  # (method, metric) at σ = 0.05
    high: float  # MAE reduction of lean at σ = 0.10 [%]

    @property
    def matches(self) -> Index:
        """How many methods come close to the published figure, by metric."""
        return np.asarray((np.abs(self.scores - PUBLISHED) <= TOLERANCES).sum(axis=0))


def main() -> None:
    """Train once, score every reading, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the trained network")
    parser.add_argument("--all", action="store_true", help="print every reading")
    options = parser.parse_args()
    first, unseen = ([simulated_cases(f"{seed}-{1 + i}")[0] for i in range(PAPER_FLIGHTS)]
                     for seed in (FIRST_TRAINING, UNSEEN))  # fmt: skip
    suite = first[0].suite
    plan = TrainingPlan(network="lean-paper", objective="paper", settings=settings_for("lean-paper"))
    records = [record_of(flight, suite) for flight in training_flights(1)]
    card = train(records, suite, plan, folder=options.out, with_onnx=False)
    held_out = {segment["record"] for segment in card["held_out"]}
    trained_on = [case for i, case in enumerate(first) if i not in held_out]
    methods = {name: load_model(options.out if name == "lean" else name) for name in INJECTION}
    found = [*readings("trained on", trained_on, methods), *readings("unseen", unseen, methods)]
    found.sort(key=lambda reading: -reading.matches.sum())
    each = np.max([reading.matches for reading in found], axis=0)
    print(f"{len(found)} readings. Within {TOLERANCES[0]:g} points or {TOLERANCES[1]:g} dB, one reading gives at most "
          f"{found[0].matches.sum()} of the {PUBLISHED.size} published figures;\nany gives at most {each[0]} of "
          f"the {len(INJECTION)} MAE reductions, {each[1]} SNR gains and {each[2]} shares of negatives.\n")  # fmt: skip
    names = "noise added to", "error against", "unit of σ", "mean over", "flights", *INJECTION, "lean, 0.10", "matches"
    published = "published", *[""] * 4, *map(cell, PUBLISHED), cell([INJECTION_HIGH["lean"]]), ""
    rows: list[Sequence[str]] = [names, ["---"] * len(names), published]
    seen = set()
    for reading in found:
        kind = reading.labels[0], reading.labels[1], reading.labels[-1]
        if options.all or kind not in seen:
            matches = f"{reading.matches.sum()} ({' + '.join(map(str, reading.matches))})"
            rows.append([*reading.labels, *map(cell, reading.scores), cell([reading.high]), matches])
        seen.add(kind)
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))


def readings(flights: str, cases: Sequence[Case], methods: dict[str, Denoiser]) -> Iterator[Reading]:
    """Every reading on the flights of a campaign."""
    bound = np.array([channel.lower_bound for channel in cases[0].suite.channels])
    families = [cases[0].suite.family_of(name) for name in cases[0].suite.names]
    smoothed = ("raw", "clip", "ma5", "ma11")
    series = {name: [run(FILTERS[name], case.values, case) for case in cases] for name in smoothed}
    series["response"] = [np.maximum(case.truth, bound[:, None]) for case in cases if case.truth is not None]
    own = {name: [run(method, case.values, case) for case in cases] for name, method in methods.items()}
    for base, (label, unit_of) in product(dict(REFERENCES), UNITS.items()):
        clean = series[base]
        observed = [np.where(case.valid, x, np.nan) for case, x in zip(cases, clean, strict=True)]
        unit = unit_of(np.concatenate(observed, axis=1), bound)
        pairs: dict[tuple[str, float], list[tuple[Floats, Floats]]] = {}  # input and output of each flight
        for sigma in LEVELS:
            seeds = [crc32(f"{case.flight_id} {sigma}".encode()) for case in cases]
            noisy = [inject(x, unit, sigma=sigma, seed=seed) for x, seed in zip(clean, seeds, strict=True)]
            for name in INJECTION if sigma == LEVELS[0] else INJECTION_HIGH:
                pairs[name, sigma] = [(x, run(methods[name], x, case)) for case, x in zip(cases, noisy, strict=True)]
        for reference in (to for of, to in REFERENCES if of == base):
            truths = own if reference == OWN else dict.fromkeys(INJECTION, series[reference])
            errors = {key: np.stack([errors_of(x, output, truth, case, unit) for (x, output), truth, case
                                     in zip(flown, truths[key[0]], cases, strict=True)], axis=1)
                      for key, flown in pairs.items()}  # fmt: skip
            for mean in MEANS:
                scores = np.stack([average(errors[name, LEVELS[0]], mean, families) for name in INJECTION])
                high = average(errors["lean", LEVELS[1]], mean, families)[0]
                yield Reading((LABELS[base], LABELS[reference], label, mean, flights), scores, high)


def run(method: Denoiser, values: Floats, case: Case) -> Floats:
    """The estimate of a method for values of a case."""
    return method.prepare(case.flight, case.suite)(values, case.environment, case.valid).value


def errors_of(noisy: Floats, output: Floats, truth: Floats, case: Case, unit: Array) -> Array:
    """MAE of input and output, their MSE, all in the unit of σ, and negatives [%] of the output: (5, channel)."""
    scale = np.where(unit > 0, unit, np.nan)  # a channel without a unit gets no noise, and only its negatives count
    found = [np.mean(np.abs(x - truth) ** power, axis=1, where=case.valid) / scale**power
             for power, x in product((1, 2), (noisy, output))]  # fmt: skip
    return np.stack([*found, negatives(output, case.valid)])


def average(errors: Array, mean: str, families: Sequence[str]) -> Array:
    """MAE reduction [%], SNR gain [dB] and negatives [%] from errors (5, flight, channel)."""
    if mean == "pooled errors":
        errors = np.nanmean(errors, axis=(1, 2), keepdims=True)
    mae_in, mae_out, mse_in, mse_out, below = errors
    each = np.stack([100 * (1 - mae_out / mae_in), 10 * np.log10(mse_in / mse_out), below]).mean(axis=1)
    if mean == "families":
        parts = [each[:, [family == name for family in families]] for name in dict.fromkeys(families)]
        each = np.stack([np.nanmean(part, axis=1) for part in parts], axis=1)
    return np.asarray((np.nanmedian if mean == "median channel" else np.nanmean)(each, axis=1))


def cell(figures: Iterable[float]) -> str:
    """MAE reduction / SNR gain / negatives."""
    return " / ".join(f"{x:.1f}".replace("-", "−") for x in figures)


if __name__ == "__main__":
    main()
