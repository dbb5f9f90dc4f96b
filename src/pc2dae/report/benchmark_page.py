"""The report of a benchmark: the paper's figures redrawn from our results, losses shown like wins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pc2dae.benchmark import ResultTable
from pc2dae.benchmark.compare import label, mean_of, per_flight
from pc2dae.benchmark.plan import YARDSTICKS
from pc2dae.errors import FlightError
from pc2dae.paper.tables import all_tables
from pc2dae.report import benchmark_figures as figures
from pc2dae.report.page import unescaped, write_page
from pc2dae.view.formatting import Row, Table, Tile, broken

COLUMNS = (
    *("part", "method", "dress", "family", "channel", "flight", "noise", "seed", "campaigns", "metric", "value"),
    *("parameters", "training_s", "inference_ms"),
)
SIGNALS = "signals.parquet"  # beside the results: one flight's channels by every method
_OURS = ("adaptive", "PC²DAE")  # prefixes of labels that are highlighted
_FOLDED = ("Table 2", "Table 3b", "Table 4b", "Table 4d")  # collapsed until opened


@dataclass(frozen=True)
class Section:
    """Tables under one heading; `drawn` are the figures above them."""

    id: str
    title: str
    lead: str
    numbers: tuple[str, ...]  # what the titles of its tables begin with
    drawn: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


SECTIONS = (
    Section(
        "truth",
        "Against the truth",
        "How much closer the estimate is to the noise-free reading than the raw record. Means over families; each "
        "family has its own columns below.",
        ("Table 4",),
        ("forest", "lean-wide"),
    ),
    Section(
        "paper",
        "The paper's own tables",
        "Published figures beside ours, in grey. These scores need no truth, and a constant line wins them: a score "
        "above that of the truth is over-smoothing.",
        ("Table 1", "Table 2"),
        ("radar",),
    ),
    Section(
        "injection",
        "Injected noise",
        "The paper's test: noise of known size is added to a record; the share removed is scored.",
        ("Table 3",),
    ),
    Section(
        "little-data",
        "With little data",
        "The paper's question: the same networks trained on few and on many campaigns.",
        ("Table 5",),
        ("scarcity",),
    ),
    Section(
        "ablation",
        "Ablation",
        "Lean with one part removed, and lean and wide with each other's loss weights, softplus and dropout.",
        ("Table 6",),
    ),
    Section(
        "real",
        "Real records",
        "Measurements by others. Networks that must be trained for a payload never saw the record they are scored on.",
        ("Table 7",),
    ),
    Section(
        "ambient",
        "The air behind the sensor",
        "How much closer the estimate is to the air, with the sensor's lag undone, than the raw record.",
        ("Table 9",),
    ),
)

CAPTIONS = {
    "forest": (
        "SNR gain over the raw record",
        "Mean over the flights with its 95 % bootstrap interval, flight paired with flight; right of 0 is better than "
        "the raw record.",
    ),
    "lean-wide": (
        "Lean against wide, flight by flight",
        "Each point is one held-out flight, the mean of its seeds.",
    ),
    "radar": (
        "The paper's radar chart, with MAE reduction added",
        "A constant would fill the smoothness, HF reduction and compliance axes, so these do not measure accuracy; MAE "
        "reduction does. Scores in per cent, negative ones at the centre; compliance is 100 minus the share of "
        "negative values; costs are logarithmic, the cheapest network at the rim.",
    ),
    "scarcity": (
        "SNR gain over the size of the training set",
        "Scored on the same held-out flights; bars are the 95 % bootstrap interval over flights. Below 0 the raw "
        "record is better.",
    ),
}


def write_benchmark_page(results: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Write the page of a benchmark's tidy table."""
    table = read_results(results)
    beside = Path(results).with_name(SIGNALS)
    signals = pd.read_parquet(beside) if beside.is_file() else None
    compared = [] if signals is None else [figures.signals(signals, c) for c in signals["channel"].unique()]
    flown = table[(table["part"] == "simulated") & (table["noise"] == "flight")]
    found = [
        figures.forest(flown),
        figures.radar(flown),
        figures.lean_against_wide(flown),
        figures.scarcity(table[table["part"] == "scarcity"]),
        *compared,
    ]
    drawn = {figure.id: unescaped(figure.svg) for figure in found if figure is not None}
    context = {
        "title": "Benchmark",
        "lead": _lead(table),
        "tiles": tiles(flown),
        "figures": drawn,
        "captions": CAPTIONS,
        "signals": [name for name in drawn if name.startswith("signals-")],
        "sections": sections(all_tables(table), list(drawn)),
    }
    write_page("benchmark.html.j2", path, context)


def read_results(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The tidy table of a benchmark, checked for its columns."""
    table = pd.read_parquet(path)
    absent = [column for column in COLUMNS if column not in table.columns]
    if absent:
        raise FlightError(
            f"{Path(path).name} lacks the column '{absent[0]}'", hint="was it written by `pc2dae benchmark`?"
        )
    return table


def sections(sheets: list[ResultTable], drawn: list[str]) -> list[Section]:
    """The sections that have tables."""
    chosen = []
    for section in SECTIONS:
        tables = tuple(table_of(sheet) for sheet in sheets if sheet.title.startswith(section.numbers))
        own = tuple(name for name in section.drawn if name in drawn)
        if tables:
            chosen.append(Section(section.id, section.title, section.lead, section.numbers, own, tables))
    return chosen


def table_of(sheet: ResultTable) -> Table:
    """A benchmark's table: significant leads bold, published figures grey, trivial references in italics."""
    rows = []
    for cells in sheet.rows:
        name = cells[0].text
        kind = "rule" if name in YARDSTICKS else "ours" if name.startswith(_OURS) else ""
        best, worse = (tuple(i for i, is_so in enumerate(flags) if is_so)
                       for flags in ([c.is_bold for c in cells], [c.is_loss for c in cells]))  # fmt: skip
        rows.append(Row([cell.text for cell in cells], kind=kind, best=best, worse=worse))
    soft = tuple(i for i, column in enumerate(sheet.columns) if column == "paper")
    text = tuple(i for i, column in enumerate(sheet.columns) if i == 0 or column == "metric")
    return Table([broken(column) for column in sheet.columns], rows, text=text, soft=soft, title=sheet.title,
                 note=sheet.note, folded=sheet.title.startswith(_FOLDED))  # fmt: skip


def tiles(flown: pd.DataFrame) -> list[Tile]:
    """MAE reduction of the adaptive network, the paper's two, the best filter and clipping."""
    error = per_flight(flown, "mae_improvement")
    filters = [k for k in error if k[1] == "clip"]
    best = max(filters, key=lambda k: mean_of(error, k), default=None)
    asked = [("adaptive", "plain"), best, ("clip", "plain"), ("lean", "plain"), ("wide", "plain")]
    known = [key for key in asked if key is not None and np.isfinite(mean_of(error, key))]
    return [Tile(f"{mean_of(error, k):+.0f} %".replace("-", "−"), f"MAE reduction: {label(k)}") for k in known]


def _lead(table: pd.DataFrame) -> str:
    simulated = table[table["part"] == "simulated"]
    ways = len(simulated[["method", "dress"]].drop_duplicates())
    real = table.loc[table["part"] == "real", "flight"].nunique()
    records = f" and {real} real records" if real else ""
    seeds = int(simulated["seed"].max()) + 1 if len(simulated) else 1
    return (
        f"{ways} methods, counting output heads, on {simulated['flight'].nunique()} held-out simulated flights"
        f"{records}; "
        f"{seeds} training seed{'s' if seeds > 1 else ''}; {len(table):,} scores."
    )
