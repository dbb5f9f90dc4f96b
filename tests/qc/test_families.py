"""Families are kept or excluded according to the data."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from pc2dae.flight.schema import new_flight
from pc2dae.qc import Verdict, judge_families
from pc2dae.qc.families import signal_to_noise
from pc2dae.suite import load_suite

PLUMES = 1.0 * (np.sin(np.arange(1500) / 25.0) > 0.9)  # squares, present a seventh of the time


def flight(*, smoke: float = 1.0, pm: float = 1.0) -> xr.Dataset:
    suite, rng = load_suite("black-kite"), np.random.default_rng(0)
    size = {"bc": 20_000.0, "gas": 300.0, "co2": 60.0, "pm": 200.0, "brc": 500.0}
    clean = {"bc": 200.0, "gas": 20.0, "co2": 420.0, "pm": 3.0 * pm, "brc": 50.0}
    values = {}
    for family in suite.family:
        for c in family.channel:
            noise = rng.normal(0, c.noise_sigma or 1.0, 1500)
            values[c.name] = clean[family.name] + smoke * size[family.name] * PLUMES + noise
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(1500) * np.timedelta64(1, "s")
    return new_flight(time, values, suite)


def kept(verdicts: list[Verdict]) -> tuple[str, ...]:
    return tuple(verdict.family for verdict in verdicts if verdict.kept)


def test_the_papers_choice_from_data_like_the_papers() -> None:
    verdicts = judge_families(flight())
    assert kept(verdicts) == ("bc", "gas", "co2")
    reasons = {v.family: v.reason for v in verdicts}
    assert "below detection" in reasons["pm"]
    assert "times its noise" in reasons["brc"]
    pm = next(v for v in verdicts if v.family == "pm").figures
    # PM is 3 ug m-3, below the limit of 7.5, outside the plumes.
    assert pm["below_detection"] == pytest.approx(1 - PLUMES.mean(), abs=0.02)


def test_particles_that_are_there_stay() -> None:
    assert "pm" in kept(judge_families(flight(pm=8.0)))


def test_noise_about_zero_is_not_lost_below_detection() -> None:
    """A cell that reads negative half of the time can be averaged; a counter that is cut at zero cannot."""
    verdicts = {v.family: v for v in judge_families(flight())}
    assert verdicts["bc"].figures["below_detection"] > 0.3
    assert verdicts["bc"].figures["lost_below_detection"] == 0.0


def test_clean_air_condemns_nobody_for_seeing_nothing() -> None:
    verdicts = {v.family: v for v in judge_families(flight(smoke=0.0))}
    assert verdicts["bc"].kept
    assert "no plume" in verdicts["bc"].reason


def test_a_weak_but_measured_family_stays() -> None:
    weak = flight()
    for name in ("bc_uv_1", "bc_uv_2", "bc_ir_1", "bc_ir_2"):
        weak[name] = weak[name] - 20_000.0 * PLUMES
    assert "bc" in kept(judge_families(weak))


def test_the_user_overrules() -> None:
    verdicts = judge_families(flight(), keep=["pm"], exclude=["co2"])
    assert kept(verdicts) == ("bc", "gas", "pm")
    assert "by request" in next(v.reason for v in verdicts if v.family == "pm")


def test_a_family_without_data_goes() -> None:
    silent = flight()
    for name in ("co2_scd30", "co2_li830"):
        silent[name] = silent[name] * np.nan
    verdict = next(v for v in judge_families(silent) if v.family == "co2")
    assert (verdict.kept, verdict.reason) == (False, "nothing was measured")


def test_signal_to_noise_of_a_known_mixture() -> None:
    rng = np.random.default_rng(1)
    wave = 3.0 * np.sqrt(2) * np.sin(2 * np.pi * np.arange(6000) / 60)  # standard deviation 3
    valid = np.ones(6000, bool)
    assert signal_to_noise(wave + rng.normal(0, 1, 6000), valid, sigma=1.0) == pytest.approx(3.0, rel=0.1)
    assert signal_to_noise(rng.normal(0, 1, 6000), valid, sigma=1.0) < 0.2
