"""Table 9: estimates of the air against the reading without noise and lag, and real air through artificial sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pc2dae.benchmark.cases import AMBIENT, FAMILIES
from pc2dae.benchmark.compare import Figures, MethodKey, label, leaders, mean_of, order, per_flight
from pc2dae.benchmark.plan import T90_ERRORS
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.benchmark.tables import BOLD, flights_in
from pc2dae.metrics import ALL
from pc2dae.metrics.metric_info import METRICS

if TYPE_CHECKING:
    import pandas as pd

ERRORS = ("mae_improvement", "snr_improvement")
COVERAGE = ("coverage_90", "coverage_90_plume", "coverage_90_background")
PEAKS = {"CO": ("gas", ("co_a", "co_b")), "LI-830": ("co2", ("co2_li830",))}  # heading → family, channels
TUNED = "† λ chosen per channel with the truth for the smallest MAE, or for the largest SNR: upper lines, not methods."


def ambient_tables(rows: pd.DataFrame) -> list[ResultTable]:
    """Table 9 of the rows of part `ambient`; nothing without any."""
    flown, real = rows[rows["noise"] == AMBIENT], rows[rows["noise"] != AMBIENT]
    found = [_error_table(flown), _peak_table(flown)] if len(flown) else []
    return found + [_sensor_table(real, metric, n) for n, metric in zip("cd", ERRORS, strict=True) if len(real)]


def _error_table(flown: pd.DataFrame) -> ResultTable:
    shown = [(metric, family) for metric in ERRORS for family in (ALL, *FAMILIES)]
    figures = {(m, f): per_flight(flown, m, family=f) for m, f in shown}
    lead = {which: leaders(_with_right_t90(values), which[0]) for which, values in figures.items()}
    cells = [
        [Cell(label(key))]
        + [Cell(mean_of(figures[w], key), is_bold=key in lead[w], digits=METRICS[w[0]].digits) for w in shown]
        for key in order(figures[shown[0]])
    ]
    columns = ["method", *(f"{METRICS[m].heading} ({'mean' if f == ALL else f})" for m, f in shown)]
    note = (
        f"Against max(instant, bound), the reading without noise and lag, over raw; {flights_in(flown)} flights, t90 "
        f"found from each flight. {BOLD} Rows with a wrong t90 do not compete. {TUNED}"
    )
    return ResultTable("Table 9a. The air behind the sensor, per family", columns, cells, note)


def _peak_table(flown: pd.DataFrame) -> ResultTable:
    cover = [per_flight(flown, metric) for metric in COVERAGE]
    noise = [per_flight(flown, "clean_noise", family=family) for family in FAMILIES]
    peaks = [_peaks(flown, family, channels) for family, channels in PEAKS.values()]
    cells = [
        [Cell(label(key))]
        + [Cell(peak.get(key), digits=2) for peak in peaks]
        + [Cell(mean_of(values, key), digits=2) for values in noise]
        + [Cell(mean_of(values, key)) for values in cover]
        for key in order(noise[0])
    ]
    columns = ["method", *(f"peak {name}" for name in PEAKS), *(f"clean air ({f})" for f in FAMILIES),
               *(METRICS[m].heading for m in COVERAGE)]  # fmt: skip
    note = (
        "Peak: the estimate's height over the true one, median over encounters, then over flights. Clean air: standard "
        "deviation of the error 20 s or more from plumes over the raw noise, channels of t90 ≤ 10 s. Coverage of the "
        "90 % interval: best at 90."
    )
    return ResultTable("Table 9b. Peaks, clean air and intervals", columns, cells, note)


def _peaks(flown: pd.DataFrame, family: str, channels: tuple[str, ...]) -> dict[MethodKey, float]:
    """Median over flights and channels of each method's peak ratio."""
    found = [per_flight(flown, "peak_ratio", family=family, channel=channel) for channel in channels]
    every = {key: np.concatenate([own[key] for own in found]) for key in found[0]}
    return {key: float(np.nanmedian(v)) for key, v in every.items() if np.isfinite(v).any()}


def _sensor_table(real: pd.DataFrame, metric: str, number: str) -> ResultTable:
    """One error of every species, flight and artificial sensor, their mean first."""
    cases = real.loc[real["channel"] != ALL, ["channel", "flight", "noise"]].drop_duplicates()
    figures: list[Figures] = []
    columns = []
    for channel, flight, noise in cases.itertuples(index=False):
        part = real[(real["flight"] == flight) & (real["noise"] == noise)]
        figures.append(per_flight(part, metric, family="gas", channel=channel))
        columns.append(f"{channel.upper()} (flight\u00a0{flight.split('_')[-1]}, {noise})")
    digits = METRICS[metric].digits
    cells = [
        [Cell(label(key)), Cell(float(np.mean([mean_of(f, key) for f in figures])), digits=digits)]
        + [Cell(mean_of(f, key), digits=digits) for f in figures]
        for key in order(figures[0])
    ]
    note = f"Reference-grade aircraft record through a first-order sensor, noise 0.02 of P98 − P2; over raw. {TUNED}"
    title = f"Table 9{number}. GoAmazon through artificial sensors: {METRICS[metric].heading}"
    return ResultTable(title, ["method", "mean", *columns], cells, note)


def _with_right_t90(figures: Figures) -> Figures:
    return {key: values for key, values in figures.items() if key[1] not in T90_ERRORS}
