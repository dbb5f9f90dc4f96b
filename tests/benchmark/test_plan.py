"""Which methods compete, and the error for a misspelt name."""

import pytest

from pc2dae.benchmark import FULL, QUICK, plan_of
from pc2dae.benchmark.plan import (
    YARDSTICKS,
    Contender,
    ablation,
    contenders,
    missing,
    scarcity,
    seen,
)
from pc2dae.errors import ModelError
from pc2dae.registry import SHIPPED
from pc2dae.training.networks import ABLATIONS, BASELINES


def test_the_yardsticks_come_first_whatever_was_asked_for():
    found = contenders(plan_of(QUICK, methods=["ma5"]))
    assert [c.method for c in found[:4]] == ["constant", "raw", "clip", "truth"] == list(YARDSTICKS)
    assert found[4:] == [Contender("ma5"), Contender("ma5", "clip")]


def test_a_group_is_its_members_and_no_one_competes_twice():
    found = contenders(plan_of(FULL, methods=["classical", "ma5", "oracle"]))
    assert len(found) == len(set(found))
    assert Contender("rts", "oracle") in found
    assert Contender("tv", "clip") in found


def test_networks_are_trained_once_per_seed():
    found = contenders(plan_of(FULL, methods=["unet+softplus"], seeds=3, steps=7))
    assert found[4:] == [Contender("unet", "softplus", seed, 1.0, 7) for seed in range(3)]
    assert found[4].network == "unet+softplus"
    assert found[4].key == "unet+softplus-seed0-x1-7"


def test_lean_and_wide_compete_as_shipped_and_their_literal_reading_is_trained():
    found = contenders(plan_of(FULL, methods=["lean", "lean-paper"], seeds=2))[4:]
    assert found == [Contender("lean"), *(Contender("lean-paper", "plain", seed, 1.0, FULL.steps) for seed in (0, 1))]


def test_a_shipped_model_without_weights_is_named_as_missing(monkeypatch):
    monkeypatch.setattr("pc2dae.benchmark.plan.is_shipped", lambda name: False)
    plan = plan_of(QUICK, methods=["shipped"])
    assert missing(plan) == list(SHIPPED)
    assert contenders(plan)[4:] == []


def test_scarcity_has_every_seed_and_amount_and_rivals_on_one_campaign():
    plan = plan_of(FULL, methods=["lean"], seeds=2)
    found = scarcity(plan)
    assert {c.campaigns for c in found if c.network == "lean-one-head"} == {0.125, 1.0, 3.0}
    assert {c.campaigns for c in found if c.network == "unet+skip"} == {1.0}
    assert {c.seed for c in found} == {0, 1}
    assert len(found) == len(set(found)) == 2 * (7 * 3 + 4)
    assert {c.method for c in ablation(plan)} == {"lean", "wide", *ABLATIONS}
    assert next(c.key for c in ablation(plan) if c.objective) == "lean-recorrupted-seed0-x1-900"


def test_only_what_the_main_tables_lack_is_scored_briefly():
    assert {c.campaigns for c in scarcity(plan_of(FULL, seeds=1)) if c.method == "lean" and c.is_aside} == {0.125, 3.0}
    assert not any(c.is_aside for c in (*contenders(FULL), *seen(FULL)))


@pytest.mark.parametrize(
    ("options", "hint"), [({"methods": ["bayeshrink"]}, "bayesshrink"), ({"parts": ["reel"]}, "real")]
)
def test_a_misspelt_name_is_refused_with_the_right_one(options, hint):
    with pytest.raises(ModelError, match=hint):
        plan_of(FULL, **options)


def test_names_are_those_the_trained_rooms_know():
    torch = pytest.importorskip("torch")
    assert torch
    from pc2dae.paper.ablation import VARIANTS
    from pc2dae.paper.baselines.output_head import CORES

    assert set(BASELINES) == set(CORES)
    assert set(ABLATIONS) == set(VARIANTS)
