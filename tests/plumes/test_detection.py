import numpy as np
import pytest

from pc2dae.plumes import background
from pc2dae.plumes.detection import THRESHOLD, SurroundingAir, find_air
from pc2dae.plumes.encounters import runs

T = np.arange(2400.0)
SPECIES = {"co": [0], "co2": [1], "pm": [2]}
NOISE = np.ones(3)


def plume(height: float, centre: float, width: float = 10.0) -> np.ndarray:
    return height * np.exp(-0.5 * ((T - centre) / width) ** 2)


def air(*rise: np.ndarray, threshold: float = THRESHOLD, seed: int = 0, species=SPECIES) -> SurroundingAir:
    x = np.stack(rise) + np.random.default_rng(seed).normal(0, 1, (len(rise), len(T)))
    return find_air(x, NOISE[: len(x)], species, rate_hz=1.0, margins=[3] * len(x), threshold=threshold)


def centres(found: SurroundingAir) -> list[int]:
    return [int((a + b) / 2) for a, b in runs(found.smoke)]


def near(found: list[int], wanted: list[int]) -> bool:
    return len(found) == len(wanted) and all(abs(a - b) < 10 for a, b in zip(found, wanted, strict=True))


def test_a_bright_plume_hides_no_faint_one() -> None:
    smoke = plume(10_000, 600) + plume(20, 1200) + plume(15, 1800)
    assert near(centres(air(smoke, smoke, smoke)), [600, 1200, 1800])


def test_what_several_species_share_may_be_faint_and_what_one_shows_may_not() -> None:
    faint, none = plume(6, 1200), 0 * T
    bright = plume(300, 600)
    assert near(centres(air(bright + faint, bright + faint, bright + faint)), [600, 1200])
    assert near(centres(air(bright + faint, bright, bright)), [600])
    assert near(centres(air(plume(20, 1200), none, none)), [1200])


def test_carbon_dioxide_alone_is_not_smoke_unless_nothing_else_is_measured() -> None:
    breath = plume(100, 1200)
    assert centres(air(0 * T, breath, 0 * T)) == []
    assert near(centres(air(breath, species={"co2": [0]})), [1200])


def test_a_rise_that_others_contradict_is_not_smoke() -> None:
    bright, lone = plume(300, 600), plume(40, 1200)
    assert near(centres(air(bright + lone, bright, bright)), [600])


def test_drift_is_background_and_long_smoke_that_others_share_is_not() -> None:
    drift = np.interp(T, [400, 1000, 1800, 2300], [0, 80, 90, 10])
    found = air(drift, 0 * T, 0 * T)
    assert not found.smoke.any()
    assert np.abs(found.level[0] - drift).mean() < 2
    puffs = np.where((T > 900) & (T < 1500), 100.0 + 90 * np.sin(T / 10), 0.0)
    found = air(puffs, puffs, puffs)
    assert found.smoke[920:1480].mean() > 0.9
    assert np.abs(found.level).max() < 5


def test_clean_air_of_a_noisy_channel_ends_where_others_see_smoke() -> None:
    smoke = plume(100, 1200, 60)
    found = air(smoke, smoke, 0.01 * smoke)
    assert not found.clean[2, 1130:1270].any()


def test_noise_alone_is_clean() -> None:
    found = [air(0 * T, 0 * T, 0 * T, seed=seed) for seed in range(5)]
    assert sum(len(runs(f.smoke)) for f in found) == 0
    assert np.mean([f.clean.mean() for f in found]) > 0.99


def test_the_threshold_is_a_number_of_standard_deviations() -> None:
    smoke = plume(60, 1200)
    counts = [len(centres(air(smoke, smoke, smoke, threshold=k))) for k in (4.0, 100.0)]
    assert counts == [1, 0]


def test_windows_of_a_long_record_are_sorted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rises = [plume(height, 600) for height in (100, 30, 0)]
    together = air(*rises)
    monkeypatch.setattr(background, "_AT_ONCE", 100)
    in_parts = air(*rises)
    np.testing.assert_array_equal(in_parts.level, together.level)
    np.testing.assert_array_equal(in_parts.smoke, together.smoke)
