"""Estimates of the air behind real slow sensors, scored against a fast instrument beside them.

    python benchmarks/ambient_real.py [--model adaptive] [--docs docs]

Six public records (`ambient_records.py`), none of them used in training. Kernel, response time, clock difference, gain
and offset come from a development part; the other part is scored, for every method with the same ones. R² is the
squared correlation with the fast instrument, slope that of the estimate on the truth; means are running means of both.
`--docs` writes the tables, the summary of ambient.md and its pictures. The records are in ../shared/data or
PC2DAE_REAL_DATA.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from ambient_figures import draw
from ambient_records import Case, all_cases
from scipy.linalg import eigh

from pc2dae import denoise
from pc2dae.arrays import Array
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.flight.schema import new_flight
from pc2dae.qc import screen
from pc2dae.registry import load_model
from pc2dae.response.kernels import LN10, NORMAL90, Kernel, respond
from pc2dae.suite import Channel, Family, Suite

RESULTS = "results/2026-11-18-ambient-real.md"
METHODS = {
    "reading": "raw reading",
    "response": "response",
    "slope": "y + τ·dy/dt",
    "tikhonov": "Tikhonov, GCV",
    "ambient": "**ambient**",
}
T90_UNCERTAINTY = 0.15  # of t90, as a suite assumes that states none
PRICES = np.logspace(-6, 8, 57)  # λ tried by generalised cross-validation


@dataclass(frozen=True)
class Score:
    """Agreement of an estimate with the fast instrument, in its units."""

    r_squared: Array  # for each averaging time
    rmse: Array
    bias: float
    slope: float
    inside: float  # share of samples in the 90 % interval, NaN without one
    mae: float
    snr_db: float  # of the truth's variance to the squared error


def estimates(case: Case, model: AdaptiveDenoiser) -> tuple[dict[str, Array], str]:
    """Every method's estimate of a case, (time,) in the units of its truth, `sigma` of the ambient one, and why not.

    `ambient` is what a user gets who states the response: the reading, if the record does not accept it.
    """
    kernel, reading = case.fit.kernel, case.reading
    channel = Channel(name="x", units=case.units, lower_bound=case.lower_bound, t90_s=kernel.t90_s, kernel=kernel.kind,
                      t90_uncertainty_s=T90_UNCERTAINTY * kernel.t90_s, delay_uncertainty_s=0.0)  # fmt: skip
    suite = Suite(name="x", rate_hz=case.rate_hz, family=(Family(name="x", channel=(channel,)),))
    time = np.datetime64("2020-01-01", "ns") + np.round(np.arange(len(reading)) * 1e9 / case.rate_hz).astype("m8[ns]")
    flight = screen(new_flight(time, {"x": reading}, suite))
    clean = denoise(flight, model=model, keep=("x",))
    response = denoise(flight, model=model, keep=("x",), target="response")["x_unbounded"].values
    return {
        "reading": reading,
        "response": np.asarray(response),
        "slope": with_slope(response, kernel, case.rate_hz),
        "tikhonov": tikhonov(reading, kernel, case.rate_hz),
        "ambient": np.asarray(clean["x_unbounded"].values),
        "sigma": np.asarray(clean["x_uncertainty"].values),
    }, str(clean["x"].attrs.get("lag_not_corrected", ""))


def with_slope(response: Array, kernel: Kernel, rate_hz: float) -> Array:
    """y + τ·dy/dt; for a Gaussian of standard deviation s the term of the same order, y − s²/2 · d²y/dt²."""
    if kernel.kind == "gaussian":
        width = kernel.t90_s / NORMAL90 * rate_hz
        return np.asarray(response - width**2 / 2 * np.gradient(np.gradient(response)))
    return np.asarray(response + kernel.t90_s / LN10 * rate_hz * np.gradient(response))


def tikhonov(reading: Array, kernel: Kernel, rate_hz: float) -> Array:
    """min |x − Au|² + λ|Δ²u|² over observed samples, λ by generalised cross-validation, for any kernel A."""
    seen = np.isfinite(reading)
    sensor = np.stack([respond(unit, kernel, rate_hz) for unit in np.eye(len(reading))], axis=1)[seen]
    rough = np.diff(np.eye(len(reading)), 2, axis=0)
    data = sensor.T @ sensor
    share, basis = eigh(data, data + rough.T @ rough)
    level = float(reading[seen].mean())
    projected = basis.T @ (sensor.T @ (reading[seen] - level))

    def score(price: float) -> float:
        weights = 1 / (share + price * (1 - share))
        residual = reading[seen] - level - sensor @ (basis @ (weights * projected))
        return float(residual @ residual / (seen.sum() - (weights * share).sum()) ** 2)

    best = min(PRICES, key=score)
    return np.asarray(basis @ (projected / (share + best * (1 - share))) + level)


def scored(case: Case, estimate: Array, sigma: Array | None = None) -> Score:
    """The scores of an estimate where it is scored and the sensor measured."""
    part = slice(*(np.flatnonzero(case.scored)[[0, -1]] + [0, 1]))
    found, truth = np.where(np.isfinite(case.reading), estimate, np.nan)[part], case.truth[part]
    both = np.isfinite(found) & np.isfinite(truth)
    r_squared, rmse = [], []
    for seconds in case.averages_s:
        window = np.full(max(round(seconds * case.rate_hz), 1), 1.0) / max(round(seconds * case.rate_hz), 1)
        x, y = np.convolve(found, window, "valid"), np.convolve(truth, window, "valid")
        known = np.isfinite(x) & np.isfinite(y)
        r_squared.append(np.corrcoef(x[known], y[known])[0, 1] ** 2)
        rmse.append(np.sqrt(np.mean((x[known] - y[known]) ** 2)))
    error = (found - truth)[both]
    inside = np.nan if sigma is None else float(np.mean(np.abs(error) <= 1.645 * sigma[part][both]))
    slope = float(np.polyfit(truth[both], found[both], 1)[0])
    snr = 10 * np.log10(np.var(truth[both]) / np.mean(error**2))
    mae = float(np.abs(error).mean())
    return Score(np.array(r_squared), np.array(rmse), float(error.mean()), slope, inside, mae, float(snr))


def case_lines(case: Case, scores: dict[str, Score]) -> Iterable[str]:
    """The table of a case."""
    fit = case.fit
    share = "" if np.isnan(fit.explained) else f"; {100 * fit.explained:.0f} % of the variance explained there"
    yield from (f"### {case.record}: {case.sensor}", "")
    yield (
        f"One sample per {case.pair.step_s:g} s. From the {case.known_from}: {fit.kernel.kind} response, "
        f"t90 {fit.kernel.t90_s:g} s, clock {fit.delay_s:g} s, gain {fit.gain:.3g}, "
        f"offset {fit.offset:.4g} {case.units}{share}."
    )
    yield ""
    times = " | ".join(f"{seconds:g} s" for seconds in case.averages_s)
    yield f"| R² / RMSE [{case.units}] of means over | {times} | bias [{case.units}] | slope |"
    yield "|---" * (len(case.averages_s) + 3) + "|"
    for method, score in scores.items():
        cells = " | ".join(_cell(r, e) for r, e in zip(score.r_squared, score.rmse, strict=True))
        yield f"| {METHODS[method]} | {cells} | {score.bias:.2g} | {score.slope:.2f} |"
    yield from (
        "",
        f"In the 90 % interval of the ambient estimate: {100 * scores['ambient'].inside:.0f} % of samples.",
        "",
    )


def summary_lines(runs: Sequence[tuple[Case, dict[str, Score]]]) -> Iterable[str]:
    """One row per group of cases and averaging time, mean over the group's sensors."""
    yield "| record, R² / RMSE | means over | " + " | ".join(METHODS.values()) + " |"
    yield "|---" * (len(METHODS) + 2) + "|"
    for group in dict.fromkeys(case.group for case, _ in runs):
        members = [(case, scores) for case, scores in runs if case.group == group]
        first = members[0][0]
        means = {m: np.mean([(s[m].r_squared, s[m].rmse) for _, s in members], axis=0) for m in METHODS}
        for k in (0, len(first.averages_s) - 1):
            label = f"{group} [{first.units}]" if k == 0 else ""
            yield (
                f"| {label} | {first.averages_s[k]:g} s | " + " | ".join(_cell(*means[m][:, k]) for m in METHODS) + " |"
            )


def gain_lines(runs: Sequence[tuple[Case, dict[str, Score]]]) -> Iterable[str]:
    """One row per case: MAE relative to the raw reading and SNR of each method, and why a lag was left."""
    yield "| case | " + " | ".join(METHODS.values()) + " | lag left because |"
    yield "|---" * (len(METHODS) + 2) + "|"
    for case, scores in runs:
        cells = [f"{s.mae / scores['reading'].mae:.2f} / {s.snr_db:.1f}" for s in scores.values()]
        yield f"| {case.sensor} | " + " | ".join(cells) + f" | {case.left} |"


def _cell(r_squared: float, rmse: float) -> str:
    return f"{r_squared:.2f} / " + (f"{rmse:,.0f}" if rmse >= 100 else f"{rmse:.3g}")


def main() -> None:
    """Print the tables; with `--docs` write them and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="adaptive")
    parser.add_argument("--docs", type=Path, help="folder of the documentation to be refreshed")
    options = parser.parse_args()
    model = load_model(options.model)
    assert isinstance(model, AdaptiveDenoiser)
    runs: list[tuple[Case, dict[str, Score]]] = []
    drawn: dict[str, list[tuple[Case, dict[str, Array]]]] = {}
    for case in all_cases():
        found, why = estimates(case, model)
        scores = {name: scored(case, found[name], found["sigma"] if name == "ambient" else None) for name in METHODS}
        runs.append((replace(case, left=why), scores))
        if case.is_drawn:
            drawn.setdefault(case.record, []).append((case, found))
    summary = "\n".join(summary_lines(runs))
    details = "\n".join(line for run in runs for line in case_lines(*run))
    gains = "\n".join(gain_lines(runs))
    print(summary, gains, details, sep="\n\n")
    if options.docs is None:
        return
    command = f"```bash\npython benchmarks/ambient_real.py --model {options.model} --docs docs\n```"
    title, link = "# Lag correction on real records (18 November 2026)", "Explained in [ambient](../ambient.md)."
    parts = (title, command, link, summary, "## MAE relative to the raw reading / SNR [dB], single samples", gains,
             "## All cases", details)  # fmt: skip
    (options.docs / RESULTS).write_text("\n\n".join(parts), encoding="utf-8")
    page = options.docs / "ambient.md"
    old = page.read_text(encoding="utf-8")
    new = re.sub(r"(<!-- summary -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{summary}\n{m[2]}", old, flags=re.DOTALL)
    page.write_text(new, encoding="utf-8")
    for record, panels in drawn.items():
        draw(panels, options.docs / "images" / f"ambient_{record}.png")


if __name__ == "__main__":
    main()
