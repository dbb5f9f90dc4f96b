"""Kill −9 a training at random moments, go on, and compare its files with those of a run that nobody touched.

    python benchmarks/training_faults.py --kills 200

Each process is killed between its start and a little after the time that a whole run takes. Exit code 1 if a run did
not end, or ended in other bytes.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch

from pc2dae.training.fit import TrainingSettings
from pc2dae.training.run import TrainingPlan, train

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "training"))
from test_run import contents

from conftest import SUITE, small_record

PLAN = TrainingPlan(settings=TrainingSettings(steps=40, every=5, batch=4, warmup=5))


def started(folder: Path) -> int:
    """A process that trains into a folder, or goes on with what is there."""
    child = os.fork()  # nothing to import anew; torch has one thread
    if child == 0:
        try:
            train([small_record(500, seed, truth=True) for seed in range(3)], SUITE, PLAN, folder=folder)
        finally:
            os._exit(int(not (folder / "card.json").exists()))
    return child


def ended(child: int) -> bool:
    """Whether a process has ended by itself and well."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main() -> int:
    """Print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chance, kills, runs, other, failed = random.Random(chosen.seed), 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as top:
        begun = time.monotonic()
        assert ended(started(Path(top) / "whole"))
        whole, took = contents(Path(top) / "whole"), time.monotonic() - begun
        while kills < chosen.kills:
            folder, is_done = Path(top) / str(runs), False
            while not is_done:
                child = started(folder)
                if kills < chosen.kills:
                    time.sleep(chance.uniform(0, 1.1 * took))
                    os.kill(child, signal.SIGKILL)
                    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    kills += status == -signal.SIGKILL
                    failed += status > 0
                    is_done = status >= 0
                else:
                    is_done = True
                    failed += not ended(child)
            runs += 1
            other += contents(folder) != whole
    print(f"{kills} kills in {runs} runs of {took:.1f} s: {failed} did not end, {other} ended in other bytes")
    return int(failed + other > 0)


if __name__ == "__main__":
    raise SystemExit(main())
