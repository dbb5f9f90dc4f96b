"""Estimates on the grid."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.denoiser import Estimate
from pc2dae.windows.arrays import at_centres


@pytest.mark.parametrize(("offset_s", "moved"), [(0.25, [0.0, 7.5, 17.5, np.nan]), (-0.4, [4.0, 14.0, 20.0, np.nan])])
def test_readings_move_to_the_centres_of_their_cells(offset_s, moved):
    """Sampled 0.25 s after the centre of cell 1, between 0 and 10: 7.5 at the centre itself."""
    rows = np.array([[0.0, 10.0, 20.0, np.nan], [0.0, 10.0, 20.0, np.nan]])
    centred = at_centres(
        Estimate(rows, rows, rows, None, rows), np.full(2, offset_s), np.array([False, True]), rate_hz=1.0
    )
    for values in (centred.value, centred.unbounded, centred.sigma):
        np.testing.assert_allclose(values, [moved, rows[1]])  # of the second channel, the air was estimated
    np.testing.assert_allclose(centred.response, [moved, moved])
    assert centred.systematic is None
