import numpy as np
import pytest

from pc2dae.paper.campaign_check import Check, compare
from pc2dae.simulate import fly_plan, plan_campaign, true_grid


def test_a_line_holds_within_its_limits() -> None:
    assert Check("speed", "1.78", 1.7, 1.6, 1.96).holds
    assert not Check("speed", "1.78", 2.1, 1.6, 1.96).holds
    assert not Check("speed", "1.78", float("nan"), 1.6, 1.96).holds


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_campaign_reproduces_the_paper(seed: int) -> None:
    flown = [fly_plan(plan) for plan in plan_campaign(seed)]
    lines = compare([true_grid(f.streams, f.truth) for f in flown], [f.truth for f in flown])
    assert len(lines) >= 25
    assert not [
        f"{line.what}: {line.simulated:g} not in {line.low:g}…{line.high:g}" for line in lines if not line.holds
    ]


def test_the_check_can_fail() -> None:
    flown = fly_plan(plan_campaign(1, flights=1, minutes=4)[0])
    flight = true_grid(flown.streams, flown.truth)
    holes = np.arange(flight.sizes["time"]) % 3 > 0
    spoilt = flight.assign(
        {name: flight[name].where(holes) for name in ("bc_ir_1", "co_a")} | {"ground_speed": flight["ground_speed"] * 3}
    )
    failed = {line.what for line in compare([spoilt], [flown.truth]) if not line.holds}
    assert {"samples at 1 Hz", "missing", "speed, mean", "speed, highest"} <= failed
