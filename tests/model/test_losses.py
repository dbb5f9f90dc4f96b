"""Each term of the loss by hand."""

from __future__ import annotations

import math

import pytest
import torch

from pc2dae.model.losses import (
    channel_mean,
    family_mean,
    mass,
    positivity,
    reconstruction,
    spectral,
    variation,
    window_sum,
)

ONES = torch.ones(1, 3, 4)
FAMILIES = (1, 2)


def test_a_family_counts_once_however_many_channels_it_has():
    x = torch.tensor([[[6.0] * 4, [1.0] * 4, [3.0] * 4]])
    assert family_mean(x, ONES, FAMILIES).item() == 6 + 2


def test_a_family_without_weight_adds_nothing():
    weight = ONES.clone()
    weight[:, 0] = 0
    assert family_mean(torch.full((1, 3, 4), 2.0), weight, FAMILIES).item() == 2


def test_masked_samples_do_not_enter_the_reconstruction_even_as_nan():
    target, weight = torch.zeros(1, 3, 4), ONES.clone()
    target[0, 1, 2] = float("nan")
    weight[0, 1, 2] = 0
    estimate = torch.full((1, 3, 4), 0.5, requires_grad=True)
    loss = reconstruction(estimate, target, weight, FAMILIES)
    loss.backward()
    assert loss.item() == 1.0
    assert torch.isfinite(estimate.grad).all()
    assert estimate.grad[0, 1, 2] == 0


def test_positivity_is_the_mean_depth_below_zero():
    estimate = torch.tensor([[[-2.0, 2, 2, 2], [1.0] * 4, [-1.0] * 4]])
    assert positivity(estimate, ONES, FAMILIES).item() == 0.5 + 0.5


def test_variation_weighs_a_step_by_its_ends():
    estimate = torch.tensor([[[0.0, 1, 1, 5]] * 3])
    assert variation(estimate, ONES, FAMILIES).item() == pytest.approx(2 * 5 / 3)
    weight = ONES.clone()
    weight[..., 3] = 0  # the step of 4 now counts half: (1·1 + 0 + 4/2) / 2.5
    assert variation(estimate, weight, FAMILIES).item() == pytest.approx(2 * 3 / 2.5)


def test_the_papers_terms_as_printed_are_sums_of_a_window():
    estimate = torch.tensor([[[0.0, 1, 1, 5]] * 3, [[-1.0] * 4] * 3])  # two windows, families of 1 and 2 channels
    ones = torch.ones(2, 3, 4)
    # |ŷ| sums to 7 per channel, then 4: (7 + 14/2 + 4 + 8/2) / 2 windows
    assert reconstruction(estimate, torch.zeros(2, 3, 4), ones, FAMILIES, reduce=channel_mean).item() == 11
    assert variation(estimate, ones, FAMILIES, reduce=window_sum).item() == 3 * 5 / 2  # each of three channels counts
    assert positivity(estimate, ones, FAMILIES, reduce=window_sum).item() == 3 * 4 / 2


def test_mass_sees_the_mean_and_nothing_else():
    target = torch.tensor([[[0.0, 4, 0, 4]] * 3])
    assert mass(torch.full((1, 3, 4), 2.0), target, ONES, FAMILIES).item() == 0
    assert mass(torch.full((1, 3, 4), 3.0), target, ONES, FAMILIES).item() == 2


def test_spectral_is_zero_for_the_target_and_grows_when_the_slow_part_is_lost():
    t = torch.arange(128.0)
    slow = torch.sin(2 * math.pi * t / 64).expand(1, 3, 128)
    ones = torch.ones(1, 3, 128)
    assert spectral(slow, slow, ones, FAMILIES).item() == 0
    assert spectral(0.1 * slow, slow, ones, FAMILIES).item() > spectral(0.5 * slow, slow, ones, FAMILIES).item() > 0.5
    fast = slow + 0.5 * torch.sin(2 * math.pi * t / 4)  # above the corner: noise, which may go
    assert spectral(slow, fast, ones, FAMILIES).item() < 0.01
