"""The tables as Markdown and JSON files, and a plot of error over the amount of training data."""

from __future__ import annotations

import json
import platform
import subprocess  # nosec B404  # git, with fixed arguments
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pc2dae.atomic import replacing, write_text
from pc2dae.benchmark.cases import FIRST_HELD_OUT, FIRST_TRAINING
from pc2dae.benchmark.compare import label, mean_of, per_flight, with_common_seeds
from pc2dae.benchmark.plan import BenchmarkPlan
from pc2dae.benchmark.result_table import ResultTable
from pc2dae.benchmark.task import processor_seconds
from pc2dae.flight.schema import timestamp
from pc2dae.metrics.metric_info import METRICS

if TYPE_CHECKING:
    import pandas as pd

MARKDOWN, JSON, PLOT = "tables.md", "tables.json", "scarcity.png"


def write_tables(
    tables: Sequence[ResultTable], out: Path, plan: BenchmarkPlan, results: pd.DataFrame, *, command: str = ""
) -> None:
    """Write DIR/tables.md and DIR/tables.json, and DIR/scarcity.png where that part was run."""
    facts = {
        "date": timestamp(),
        "command": command,
        "commit": _commit(),
        "versions": {name: version(name) for name in ("pc2dae", "numpy", "scipy", "PyWavelets", "onnxruntime")}
        | {"python": platform.python_version()},
        "processor_minutes": round(processor_seconds(out) / 60, 1),
        "held_out_campaigns_from_seed": FIRST_HELD_OUT,
        "training_campaigns_from_seed": FIRST_TRAINING,
        "plan": asdict(plan),
    }
    content = {"facts": facts, "tables": [table.as_json() for table in tables]}
    write_text(out / JSON, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    write_text(out / MARKDOWN, "\n".join([_head(facts, plan), *(table.markdown() for table in tables)]))
    scarce = results[(results["part"] == "scarcity") & (results["noise"] == "flight")]
    if len(scarce):
        plot_scarcity(with_common_seeds(scarce, "campaigns"), out / PLOT)


def _head(facts: dict[str, Any], plan: BenchmarkPlan) -> str:
    """Description of the run: command, versions, parts, flights and seeds."""
    trained = f"up to {plan.seeds} training seeds (column seeds)"
    steps = f"{plan.steps} steps for every network" if plan.steps else "each network's own number of steps"
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"# Benchmark\n\n```bash\n{facts['command']}\n```\n\n{facts['date']}, commit {facts['commit']}; {versions}. "
        f"Parts run: {', '.join(plan.parts)}. {plan.flights} held-out simulated flights (campaigns of seed "
        f"{FIRST_HELD_OUT} on); training campaign of seed {FIRST_TRAINING}, {trained}, {steps}. "
        f"{facts['processor_minutes']:.0f} minutes of processor time for training and scoring.\n"
    )


def _commit() -> str:
    """The commit of the checkout this runs from; "unknown" for an installed package."""
    try:
        asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
        done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)  # nosec B603  # fixed
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def plot_scarcity(rows: pd.DataFrame, path: Path) -> None:
    """Error against the truth over the amount of training data, one line per network, mean of flights and seeds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    FigureCanvasAgg(figure)
    markers = "osD^vPX"
    for axes, metric in zip(figure.subplots(1, 2), ("mae_improvement", "smoothness"), strict=True):
        for i, (_, own) in enumerate(rows.groupby(["method", "dress"], sort=False)):
            amounts = sorted(own["campaigns"].unique())
            if len(amounts) < 2:
                continue
            ((key, _),) = per_flight(own, metric).items()
            means = [mean_of(per_flight(own[own["campaigns"] == a], metric), key) for a in amounts]
            axes.plot(amounts, means, marker=markers[i % len(markers)], label=label(key))
        axes.set(xscale="log", xlabel="training data [campaigns of 7,894 samples]", ylabel=METRICS[metric].heading)
        axes.axhline(0.0, color="0.7", linewidth=0.8)
    figure.axes[0].legend(frameon=False, fontsize="small")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)
