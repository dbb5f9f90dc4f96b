"""Which methods compete, and the error for a misspelt name."""

import pytest

from pc2dae.benchmark import FULL, QUICK, plan_of
from pc2dae.benchmark.plan import (
    YARDSTICKS,
    Contender,
    ablation,
    contenders,
    is_shipped,
    missing,
    scarcity,
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


def test_shipped_weights_take_the_place_of_training_only_where_asked():
    if not is_shipped("lean"):
        pytest.skip("no weights of lean in this tree")
    quick, full = (contenders(plan_of(base, methods=["lean"])) for base in (QUICK, FULL))
    assert [c.is_trained for c in quick[4:]] == [False]
    assert [c.is_trained for c in full[4:]] == [True, True, True]


def test_adaptive_without_weights_is_named_as_missing(monkeypatch):
    monkeypatch.setattr("pc2dae.benchmark.plan.is_shipped", lambda name: False)
    plan = plan_of(QUICK, methods=["shipped"])
    assert missing(plan) == [name for name in SHIPPED if name.startswith("adaptive")]
    assert "adaptive" in missing(plan)
    assert {c.method for c in contenders(plan)[4:]} == {"lean", "wide"}


def test_scarcity_spans_five_amounts_and_ablation_has_both_bases():
    plan = plan_of(FULL, methods=["lean", "despawn"], seeds=2)
    assert len(scarcity(plan)) == 5 * 2 + 5  # the rival with one seed
    assert {c.method for c in ablation(plan)} == {"lean", "wide", *ABLATIONS}


def test_only_what_the_main_tables_lack_is_scored_briefly():
    assert [c.campaigns for c in scarcity(plan_of(FULL, methods=["lean"], seeds=1)) if c.is_aside] == [
        0.125,
        0.25,
        0.5,
        10,
    ]
    assert not any(c.is_aside for c in contenders(FULL))


@pytest.mark.parametrize(
    ("options", "hint"), [({"methods": ["bayeshrink"]}, "bayesshrink"), ({"parts": ["reel"]}, "real")]
)
def test_a_misspelt_name_is_refused_with_the_right_one(options, hint):
    with pytest.raises(ModelError, match=hint):
        plan_of(FULL, **options)


def test_names_are_those_the_trained_rooms_know():
    torch = pytest.importorskip("torch")
    assert torch
    from pc2dae.baselines.output_head import CORES
    from pc2dae.model.ablation import VARIANTS

    assert set(BASELINES) == set(CORES)
    assert set(ABLATIONS) == set(VARIANTS)
