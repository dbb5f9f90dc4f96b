"""The tables as Markdown and JSON files."""

from __future__ import annotations

import json
import platform
import subprocess  # nosec B404  # git, with fixed arguments
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pc2dae.atomic import write_text
from pc2dae.benchmark.cases import FIRST_HELD_OUT, FIRST_TRAINING
from pc2dae.benchmark.plan import BenchmarkPlan
from pc2dae.benchmark.result_table import ResultTable
from pc2dae.benchmark.task import processor_seconds
from pc2dae.flight.schema import timestamp

MARKDOWN, JSON = "tables.md", "tables.json"


def write_tables(tables: Sequence[ResultTable], out: Path, plan: BenchmarkPlan, *, command: str = "") -> None:
    """Write DIR/tables.md and DIR/tables.json."""
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
