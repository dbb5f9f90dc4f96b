"""Input and target of each objective."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pc2dae.errors import ModelError
from pc2dae.training.objectives import objective_of
from pc2dae.training.run import material_of
from pc2dae.windows.slicing import Record, Segment, crops_at


@pytest.fixture
def material(records, suite):
    return material_of(records, suite, seed=0)


@pytest.fixture
def crops(records):
    return crops_at(records, [(Segment(0, 0, 500), 100), (Segment(1, 0, 500), 450)], 128)


def test_paper_adds_noise_to_the_input_and_asks_for_what_was_observed(material, records, crops):
    batch = objective_of("paper", material.scaler, records)(crops, np.random.default_rng(0))
    added = (batch.values - torch.from_numpy(crops.values))[0] / torch.tensor(material.scaler.scale)[:, None]
    assert 0.001 < added.std() < 0.11
    assert torch.equal(batch.weight, torch.from_numpy(crops.valid.astype(np.float32)))
    assert np.array_equal(batch.target.numpy()[0], records[0].values[:, 100:228])  # not the truth, though it is known


def test_truth_shows_the_record_as_it_is(material, records, crops):
    batch = objective_of("truth", material.scaler, records)(crops, np.random.default_rng(0))
    assert np.array_equal(batch.values.numpy(), crops.values, equal_nan=True)
    assert np.array_equal(batch.target.numpy()[0], records[0].target[:, 100:228])


def test_truth_without_truth_is_refused(material, records):
    bare = [Record(r.values, r.valid, r.environment) for r in records]
    with pytest.raises(ModelError, match="needs the truth"):
        objective_of("truth", material.scaler, bare)


def test_blindspot_never_shows_what_it_asks_for(material, records, crops):
    batch = objective_of("blindspot", material.scaler, records)(crops, np.random.default_rng(0))
    assert batch.weight.sum() > 0
    assert (batch.weight * batch.valid).sum() == 0
    assert np.array_equal(batch.target.numpy(), crops.values, equal_nan=True)  # the record, even where a truth is known


def test_blindspot_hides_as_far_as_the_noise_is_correlated(material):
    rng = np.random.default_rng(0)
    white = rng.standard_normal(2003)
    slow = sum(white[i : 2000 + i] for i in range(3))  # correlated over two samples
    record = Record(
        np.stack([white[:2000], slow, slow]).astype(np.float32),
        np.ones((3, 2000), bool),
        np.zeros((3, 2000), np.float32),
    )
    crops = crops_at([record], [(Segment(0, 0, 2000), 0)], 2000)
    batch = objective_of("blindspot", material.scaler, [record])(crops, np.random.default_rng(0))
    for row, reach in ((0, 1), (1, 2)):
        for t in np.flatnonzero(batch.weight[0, row].numpy()):
            assert batch.valid[0, row, max(0, t - reach) : t + reach + 1].sum() == 0


def test_a_misspelt_objective_is_named():
    with pytest.raises(ModelError, match="did you mean 'blindspot'"):
        objective_of("blind-spot", None, [])
