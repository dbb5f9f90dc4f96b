import numpy as np
import pytest

from pc2dae.errors import Pc2daeError
from pc2dae.simulate import plan_campaign


@pytest.mark.parametrize("seed", [1, 2, 99])
def test_without_options_it_is_the_papers_campaign(seed: int) -> None:
    plans = plan_campaign(seed)
    assert len(plans) == 5
    assert sum(plan.samples for plan in plans) == 7_894
    assert all(1_200 <= plan.samples <= 2_000 for plan in plans)  # 20 to 33 minutes
    assert np.mean([plan.smoke_share for plan in plans]) == pytest.approx(0.332)
    assert max(p.temperature_c for p in plans) - min(p.temperature_c for p in plans) > 15


def test_length_and_number_can_be_chosen() -> None:
    plans = plan_campaign(1, flights=2, minutes=4)
    assert [plan.samples for plan in plans] == [240, 240]
    assert [plan.number for plan in plans] == [1, 2]


def test_flights_of_a_campaign_differ() -> None:
    first, second = plan_campaign(1, flights=2, minutes=4)
    assert first.rng(1).random() != second.rng(1).random()
    assert first.rng(1).random() == plan_campaign(1, flights=2, minutes=4)[0].rng(1).random()


@pytest.mark.parametrize(("options", "word"), [
    ({"flights": 0}, "--flights"), ({"minutes": 1}, "--minutes"), ({"minutes": float("nan")}, "--minutes"),
])  # fmt: skip
def test_impossible_campaigns_are_refused(options: dict[str, float], word: str) -> None:
    with pytest.raises(Pc2daeError, match=word):
        plan_campaign(1, **options)  # type: ignore[arg-type]
    with pytest.raises(Pc2daeError, match="--seed"):
        plan_campaign(-1)
