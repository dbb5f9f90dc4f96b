"""Tables 5 to 8 (scarcity, ablation, real data, flights seen and unseen), and tables 4 to 9 in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pc2dae.benchmark import tables
from pc2dae.benchmark.ambient_tables import ambient_tables
from pc2dae.benchmark.cases import known_flights, same_payload
from pc2dae.benchmark.compare import common_seeds, label, mean_of, per_flight, with_common_seeds
from pc2dae.benchmark.plan import AMOUNTS
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.benchmark.tables import BLIND, CONSTANT, ORACLE, flights_in, gap, rows_of
from pc2dae.metrics.metric_info import METRICS

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = "Lean and wide, where listed, were trained on the other records of the same kind."
PAIRED = "Paired over flights, mean [95 % bootstrap interval]; bold: better, and the interval excludes 0."
# kind of real data → title, how to read it
REAL = {
    "konza": ("Konza: drone flights through prescribed-burn smoke", f"No truth: blind metrics. {CONSTANT}"),
    "li840a": (
        "LI-840A: analyser A in, B as reference",
        "B is as noisy as A and never an input: with equal noises the best possible gain is 3.01 dB.",
    ),
    "ae51": ("AE51 black carbon in a car", f"No truth: blind metrics. {CONSTANT}"),
    "stap": ("STAP absorption below a balloon", f"No truth: blind metrics. {CONSTANT}"),
}


def comparison_tables(results: pd.DataFrame) -> list[ResultTable]:
    """Tables 4 to 9 of the parts that were run; the paper's own are in `paper.tables`."""
    simulated = results[results["part"] == "simulated"]
    flown = simulated[simulated["noise"] == "flight"]
    found: list[ResultTable] = []
    if len(flown):
        found += [tables.truth_table(flown), tables.truth_family_table(flown), *tables.difference_tables(flown)]
        found.append(tables.average_table(simulated))
    for part, make in (("scarcity", scarcity_tables), ("ablation", ablation_table)):
        rows = results[(results["part"] == part) & (results["noise"] == "flight")]
        if len(rows):
            found += make(rows)
    found += seen_tables(results[results["part"] == "seen"])
    real = results[results["part"] == "real"]
    found += real_tables(real) if len(real) else []
    return found + ambient_tables(results[results["part"] == "ambient"])


def scarcity_tables(rows: pd.DataFrame) -> list[ResultTable]:
    """Table 5: how much data each network needs, its gap to lean, and rivals with lean's input and output."""
    rows = with_common_seeds(rows, "campaigns")
    parts = {amount: rows[rows["campaigns"] == amount] for amount in AMOUNTS if (rows["campaigns"] == amount).any()}
    metrics = ("mae_improvement", "snr_improvement", "smoothness")
    figures = {(amount, m): per_flight(part, m) for amount, part in parts.items() for m in metrics}
    keys = dict.fromkeys(key for values in figures.values() for key in values)
    amounts = [f"{amount:g} campaign{'' if amount <= 1 else 's'}" for amount in parts]
    cells = [
        [Cell(label(key)), Cell(METRICS[m].heading)]
        + [Cell(mean_of(figures[(a, m)], key), digits=METRICS[m].digits) for a in parts]
        for key in keys
        for m in metrics
    ]
    lean = ("lean", "plain")
    gaps = [
        [Cell(label(key)), Cell(METRICS[m].heading), *(gap(figures[(a, m)], m, key, lean) for a in parts)]
        for key in keys
        if key != lean
        for m in metrics[:2]
    ]
    note = (
        f"One campaign is 7,894 samples; the same number of steps for all; {flights_in(rows)} held-out flights. "
        f"{_seeds_of(rows)} 0 is the raw record. All but adaptive learn the simulated truth from scratch; adaptive is "
        "the shipped model tuned by recorruption, without the truth."
    )
    columns = ["method", "metric", *amounts]
    return [
        ResultTable("Table 5a. Scarcity: what more data would bring", columns, cells, note),
        ResultTable("Table 5b. Better than PC²DAE-Lean trained on the same data by", columns, gaps, PAIRED),
    ]


def seen_tables(rows: pd.DataFrame) -> list[ResultTable]:
    """Table 8: flights that a network was trained on, other flights of the same payload, and other payloads."""
    where = {
        "flights trained on": known_flights(),
        "same payload, unseen flight": same_payload(),
        "unseen payload": [f for f in dict.fromkeys(rows["flight"]) if f not in {*known_flights(), *same_payload()}],
    }
    metrics = ("mae_improvement", "snr_improvement")
    found = []
    for number, noise in zip("abc", ("flight", "inject 0.05", "inject 0.10"), strict=True):
        own = rows[rows["noise"] == noise]
        if not len(own):
            continue
        shown = [(m, per_flight(own[own["flight"].isin(ids)], m)) for ids in where.values() for m in metrics]
        cells = [
            [Cell(label(key)), *(Cell(mean_of(values, key), digits=METRICS[m].digits) for m, values in shown)]
            for key in shown[0][1]
        ]
        columns = ["method", *(f"{METRICS[m].heading} ({name})" for name in where for m in metrics)]
        what = "as flown" if noise == "flight" else f"noise of σ {noise.split()[1]} added to the noise-free reading"
        note = f"Networks trained on one campaign; filters and adaptive are not. {_seeds_of(own)}"
        found.append(ResultTable(f"Table 8{number}. Flights seen and unseen, {what}", columns, cells, note))
    return found


def ablation_table(rows: pd.DataFrame) -> list[ResultTable]:
    """Table 6: the contribution of each component of lean, and possible explanations of its lead over wide."""
    shown = (*BLIND, "mae_improvement", "snr_improvement", "background_bias")
    figures = {metric: per_flight(rows, metric) for metric in shown}
    cells = []
    for key in figures["smoothness"]:
        base = ("wide" if key[0].startswith("wide") else "lean", "plain")
        name = key[0] if key[1] == "plain" else f"{key[0]}, {key[1]}"
        row = [Cell(name), *(Cell(mean_of(figures[m], key), digits=METRICS[m].digits) for m in shown)]
        pair = rows[rows["method"].isin([key[0], base[0]])]
        # Only common seeds: otherwise the difference would be one of seeds.
        alike = pair[pair["seed"].isin(common_seeds(pair, ["method", "dress"]))]
        gaps = [gap(per_flight(alike, m), m, key, base) if key != base else Cell()
                for m in ("mae_improvement", "smoothness")]  # fmt: skip
        cells.append([*row, *gaps])
    columns = ["network", *(METRICS[m].heading for m in shown), "MAE better than its base by", "smoother by"]
    note = (
        "lean-as-wide: lean's size with wide's loss weights and softplus; wide-as-lean the reverse. "
        f"Last columns: {PAIRED} {_seeds_of(rows)}"
    )
    return [ResultTable("Table 6. Ablation", columns, cells, note)]


def _seeds_of(rows: pd.DataFrame) -> str:
    """The number of training seeds of each network, as text: "Training seeds: lean 3, cbdae 1." """
    counts = rows.groupby("method", sort=False)["seed"].nunique()
    if counts.nunique() == 1:
        return f"Training seeds of each: {counts.iloc[0]}."
    return f"Training seeds: {', '.join(f'{method} {count}' for method, count in counts.items())}."


def real_tables(real: pd.DataFrame) -> list[ResultTable]:
    """Table 7: public measurements, one table per kind."""
    kinds = real["flight"].str.split(" ").str[0]
    found = []
    for kind in dict.fromkeys(kinds):
        rows = real[kinds == kind]
        if kind == "goamazon":
            found += [_aircraft_table(rows, channel) for channel in ("co", "nox")]
            continue
        against = ("mae_improvement", "snr_improvement")
        shown = [m for m in (*against, *BLIND, "mean_10s_change") if (rows["metric"] == m).any()]
        cells = rows_of([(m, per_flight(rows, m)) for m in shown])
        title, note = REAL[kind]
        columns = ["method", *(METRICS[m].heading for m in shown)]
        note = f"{note} {LEFT_OUT} Records scored: {flights_in(rows)}."
        found.append(ResultTable(f"Table 7. {title}", columns, cells, note))
    return found


def _aircraft_table(rows: pd.DataFrame, channel: str) -> ResultTable:
    """One species of the aircraft with injected noise: MAE and SNR per flight and σ."""
    columns, shown = ["method"], []
    for flight in dict.fromkeys(rows["flight"]):
        for noise in dict.fromkeys(rows["noise"]):
            part = rows[(rows["flight"] == flight) & (rows["noise"] == noise)]
            where = f"(flight\u00a0{flight.split('_')[-1]}, σ\u00a0{noise.split()[1]})"
            for metric in ("mae_improvement", "snr_improvement"):
                columns.append(f"{METRICS[metric].heading} {where}")
                shown.append((metric, per_flight(part, metric, family="gas", channel=channel)))
    note = f"Reference-grade record plus noise; σ in units of P98 − P2. {LEFT_OUT} {ORACLE}"
    return ResultTable(f"Table 7. GoAmazon {channel.upper()} with injected noise", columns, rows_of(shown), note)
