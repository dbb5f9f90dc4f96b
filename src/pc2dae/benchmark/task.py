"""A benchmark split into small units: each writes one file, so an interrupted run resumes."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pc2dae.atomic import replacing
from pc2dae.benchmark.plan import (
    ON_REAL,
    BenchmarkPlan,
    Contender,
    ablation,
    ambient,
    contenders,
    scarcity,
    seen,
    trained,
)
from pc2dae.errors import FlightError
from pc2dae.registry import SHIPPED

if TYPE_CHECKING:
    import pandas as pd

    from pc2dae.benchmark.cases import Case

ReportUnit = Callable[[str, int, int], None]  # last finished unit, units done, total units
RESULTS = "results.parquet"
TIMES = "times.csv"  # CPU time of each unit [s]
SIMULATED = "simulated"  # the set of simulated flights …
LAGGED = "ambient"  # … and the same scored against the air
LAGGED_REAL = "ambient-"  # real records seen through artificial sensors


@dataclass(frozen=True)
class Unit:
    """One contender on one flight, scored for one part of the benchmark."""

    part: str
    contender: Contender
    source: str  # a set of real data, or the held-out simulated flights
    flight: str

    def piece(self, out: Path) -> Path:
        """The file of its rows."""
        place = "".join(c if c.isalnum() or c in "-_." else "_" for c in f"{self.source}_{self.flight}")
        return out / "pieces" / place / f"{self.contender.key}{_edition(self.contender)}.parquet"

    def checkpoint(self, out: Path) -> Path | None:
        """Training folder of its network, if it is trained here."""
        if not self.contender.is_trained:
            return None
        place = "" if self.source == SIMULATED else f"-{self.source}-{Path(self.flight).stem}"
        return out / "models" / f"{self.contender.key}{place}"


def run(
    plan: BenchmarkPlan, out: Path, *, data: Path | None = None, workers: int = 2, report: ReportUnit | None = None
) -> pd.DataFrame:
    """Train and score all unfinished units; return the tidy table, which is also written to `out`.

    `data` is the folder of real measurements; with `workers` 0 everything runs in this process.
    """
    units = units_of(plan, data)
    models = {unit.checkpoint(out): unit for unit in units if unit.checkpoint(out) is not None}
    jobs = [(f"training {u.contender.key}", partial(_train, u, out, data))
            for folder, u in models.items() if folder is not None and not (folder / "cost.json").exists()]  # fmt: skip
    pieces = {unit.piece(out): unit for unit in units}
    scoring = [(f"{u.contender.network} on {u.flight}", partial(_score, u, out, data))
               for piece, u in pieces.items() if not piece.exists()]  # fmt: skip
    total = len(models) + len(pieces)
    done = total - len(jobs) - len(scoring)
    for stage in (jobs, scoring):  # networks are trained before they are scored
        for name, seconds in _each(stage, workers):
            _note(out, name, seconds)
            done += 1
            if report is not None:
                report(name, done, total)
    return _gather(units, out)


def so_far(plan: BenchmarkPlan, out: Path, *, data: Path | None = None) -> pd.DataFrame:
    """The tidy table of the finished units of a plan, also written to `out`; nothing is run.

    A contender scored on fewer held-out flights than others is omitted, since its means would not be comparable.
    """
    done = [unit for unit in units_of(plan, data) if unit.piece(out).exists()]
    if not done:
        raise FlightError(f"no finished part of this benchmark in {out}", hint="run it without --so-far")
    simulated = (SIMULATED, LAGGED)
    flown = Counter((unit.part, unit.contender) for unit in done if unit.source in simulated)
    most = {part: max(n for (p, _), n in flown.items() if p == part) for part, _ in flown}
    return _gather([u for u in done if u.source not in simulated or flown[(u.part, u.contender)] == most[u.part]], out)


def units_of(plan: BenchmarkPlan, data: Path | None) -> list[Unit]:
    """All units of a plan, ordered by flight, so that a process simulates a flight once for all contenders."""
    from pc2dae.benchmark.cases import held_out, known_flights, same_payload
    from pc2dae.benchmark.real import has_training, has_truth, present

    asked = {"simulated": contenders, "seen": seen, "scarcity": scarcity, "ablation": ablation}
    units = [
        Unit(part, contender, SIMULATED, flight)
        for flight in [*held_out(plan.flights), *known_flights(), *same_payload()]
        for part, who in asked.items()
        if part in plan.parts and (part == "seen" or flight in held_out(plan.flights))
        for contender in who(plan)
    ]
    if "real" in plan.parts:
        units += [
            Unit("real", contender, name, file)
            for name, file in present(data)
            for contender in _for_real(plan, seeds=plan.seeds if has_truth(name) else 1)
            if has_training(name) or not contender.is_trained
        ]
    if "ambient" in plan.parts:
        places = [(LAGGED, flight) for flight in held_out(plan.flights)]
        places += [(LAGGED_REAL + name, file) for name, file in present(data) if has_truth(name)]
        units += [Unit("ambient", contender, *place) for place in places for contender in ambient()]
    return units


def _for_real(plan: BenchmarkPlan, *, seeds: int) -> Iterator[Contender]:
    """Filters and suite-independent models as they are; lean and wide, shipped for another suite, trained here."""
    for name in dict.fromkeys(contender.method for contender in contenders(plan)):
        if name in ON_REAL:
            yield from trained(name, replace(plan, seeds=seeds))
    yield from (c for c in contenders(plan) if not c.is_trained and c.method not in ON_REAL)


def _train(unit: Unit, out: Path, data: Path | None) -> None:
    from pc2dae.benchmark.denoisers import train_contender, train_on
    from pc2dae.benchmark.real import training_of

    folder = unit.checkpoint(out)
    if folder is None:
        return
    if unit.source == SIMULATED or data is None:
        train_contender(unit.contender, folder)
    else:
        flights, suite = training_of(data, unit.source, unit.flight)
        train_on(flights, suite, unit.contender, folder)


def _score(unit: Unit, out: Path, data: Path | None) -> None:
    import pandas as pd

    from pc2dae.benchmark.scoring import score_contender

    cases = _cases_of(unit, data)
    asked = cases[:1] if unit.source == SIMULATED and unit.contender.is_aside else cases
    tables = [score_contender(unit.contender, c, part=unit.part, checkpoint=unit.checkpoint(out)) for c in asked]
    some = [table for table in tables if len(table)] or tables[:1]
    with replacing(unit.piece(out)) as temporary:
        pd.concat(some, ignore_index=True).to_parquet(temporary, index=False)


def _cases_of(unit: Unit, data: Path | None) -> tuple[Case, ...]:
    from pc2dae.benchmark.ambient import ambient_cases
    from pc2dae.benchmark.cases import simulated_cases
    from pc2dae.benchmark.real import lagged_cases, real_cases

    if unit.source == LAGGED:
        return ambient_cases(unit.flight)
    if unit.source == SIMULATED or data is None:
        return simulated_cases(unit.flight)
    if unit.source.startswith(LAGGED_REAL):
        return lagged_cases(data, unit.source.removeprefix(LAGGED_REAL), unit.flight)
    return real_cases(data, unit.source, unit.flight)


def _gather(units: Sequence[Unit], out: Path) -> pd.DataFrame:
    """All pieces as one table, each labelled with the part that requested it."""
    import pandas as pd

    tables = [pd.read_parquet(unit.piece(out)).assign(part=unit.part) for unit in units]
    table = pd.concat([t for t in tables if len(t)], ignore_index=True)
    with replacing(out / RESULTS) as temporary:
        table.to_parquet(temporary, index=False)
    return table


def _each(jobs: Sequence[tuple[str, Callable[[], None]]], workers: int) -> Iterator[tuple[str, float]]:
    """Run the jobs; yield the name and CPU time [s] of each when it finishes."""
    if workers < 1 or len(jobs) < 2:
        for name, job in jobs:
            yield name, _timed(job)
        return
    os.environ["OMP_NUM_THREADS"] = "1"  # inherited by workers, to avoid oversubscribing the cores
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        names = {pool.submit(_timed, job): name for name, job in jobs}
        try:
            while names:
                for future in wait(names, return_when=FIRST_COMPLETED).done:
                    yield names.pop(future), future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _timed(job: Callable[[], None]) -> float:
    started = time.process_time()
    job()
    return time.process_time() - started


def _note(out: Path, name: str, seconds: float) -> None:
    """Append the CPU time of a unit: a run may be interrupted, and wall time depends on the load."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / TIMES).open("a", encoding="utf-8") as file:
        file.write(f"{name},{seconds:.2f}\n")


def processor_seconds(out: Path) -> float:
    """Total CPU time of all units of a folder, each counted as often as it was run."""
    file = out / TIMES
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return sum(float(line.rpartition(",")[2]) for line in lines)


def _edition(contender: Contender) -> str:
    """Identifier of a shipped model's weights, so that new weights are scored again."""
    if contender.is_trained or contender.method not in SHIPPED:
        return ""
    return "-" + sha256((files("pc2dae.weights") / f"{contender.method}.onnx").read_bytes()).hexdigest()[:12]
