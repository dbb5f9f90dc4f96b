"""One flight's channels by several methods: the paper's signal comparison, plotted in the report."""

from __future__ import annotations

from pathlib import Path

from pc2dae.atomic import replacing
from pc2dae.benchmark.plan import BenchmarkPlan, Contender, contenders
from pc2dae.benchmark.task import SIMULATED, Unit

SIGNALS = "signals.parquet"
CHANNELS = ("bc_uv_1", "co_a")  # those shown in the paper
DRAWN = ("raw", "truth", "adaptive", "lean", "wide", "lstm-ae", "bayesshrink")


def write_signals(plan: BenchmarkPlan, out: Path) -> None:
    """Write DIR/signals.parquet: method, channel, second, value of the first held-out flight; first seed of each."""
    import pandas as pd

    from pc2dae.benchmark.cases import held_out, simulated_cases
    from pc2dae.benchmark.denoisers import COST, denoiser_of

    (flight,) = held_out(1)
    case = simulated_cases(flight)[0]
    rows = []
    for contender in _drawn(plan):
        checkpoint = Unit("simulated", contender, SIMULATED, flight).checkpoint(out)
        if checkpoint is not None and not (checkpoint / COST).exists():
            continue  # not trained yet
        denoiser = denoiser_of(contender, case, checkpoint)
        if denoiser is None:
            continue
        value = denoiser.prepare(case.flight, case.suite)(case.values, case.environment, case.valid).value
        for channel in CHANNELS:
            series = value[case.suite.names.index(channel)]
            rows.append(
                pd.DataFrame(
                    {"method": contender.method, "channel": channel, "second": range(len(series)), "value": series}
                )
            )
    with replacing(out / SIGNALS) as temporary:
        pd.concat(rows, ignore_index=True).to_parquet(temporary, index=False)


def _drawn(plan: BenchmarkPlan) -> list[Contender]:
    return [c for c in contenders(plan) if c.method in DRAWN and c.output_head == "plain" and c.seed == 0]
