import numpy as np
import pytest

from pc2dae.plumes.choices import other_backgrounds

FLAT = np.zeros(1000)
OUTSIDE = np.ones(1000, bool)
OUTSIDE[480:520] = False


def test_clean_air_leaves_no_choice() -> None:
    for other in other_backgrounds(FLAT, (480, 520), OUTSIDE).values():
        assert other == pytest.approx(np.zeros(40))


def test_haze_around_an_encounter_is_in_its_flanks_and_not_in_the_cleanest_air() -> None:
    hazy = FLAT.copy()
    hazy[440:480], hazy[520:560] = 10.0, 20.0
    found = other_backgrounds(hazy, (480, 520), OUTSIDE)
    assert found["flanks"].mean() == pytest.approx(15.0)
    assert found["flanks"][-1] > found["flanks"][0]
    assert found["percentile"] == pytest.approx(np.zeros(40))


def test_one_flank_is_held_and_none_is_no_choice() -> None:
    rising = np.arange(1000.0)
    found = other_backgrounds(rising, (0, 40), np.arange(1000) >= 40)
    assert found["flanks"] == pytest.approx(np.full(40, 54.5))  # the mean of samples 40 to 69
    assert other_backgrounds(rising, (0, 1000), np.zeros(1000, bool)) == {}
