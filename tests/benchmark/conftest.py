"""A tiny benchmark: one three-minute flight and a few filters, run once per session."""

import pytest

from pc2dae.benchmark import QUICK, plan_of, run
from pc2dae.benchmark import cases as room
from pc2dae.simulate import plan_campaign


@pytest.fixture(scope="session")
def plan():
    """Reference rows and two filters, one of them also tuned."""
    return plan_of(QUICK, methods=["ma5", "bayesshrink", "ma5+oracle"], parts=["simulated"], flights=1)


@pytest.fixture(scope="session")
def results(tmp_path_factory, plan):
    """The folder of a finished run and its table; the flight stays short while the session lasts."""
    out = tmp_path_factory.mktemp("benchmark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_plan", lambda flight_id: plan_campaign(5001, flights=1, minutes=6)[0])
        room.simulated_cases.cache_clear()
        table = run(plan, out, workers=0)
        yield out, table
    room.simulated_cases.cache_clear()
