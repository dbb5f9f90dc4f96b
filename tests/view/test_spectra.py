from __future__ import annotations

import numpy as np
import pytest

from pc2dae.view.spectra import spectrum


def test_the_power_of_white_noise_is_spread_evenly() -> None:
    found = spectrum(np.random.default_rng(0).normal(0, 3.0, 8192), 1.0)
    assert found is not None
    frequency, power = found
    assert frequency[-1] == 0.5
    assert np.median(power) == pytest.approx(2 * 9.0, rel=0.1)  # one-sided: σ² over 0.5 Hz


def test_a_gap_is_bridged_and_too_little_is_nothing() -> None:
    wave = np.sin(2 * np.pi * 0.1 * np.arange(1000))
    wave[300:310] = np.nan
    found = spectrum(wave, 1.0)
    assert found is not None
    assert found[0][np.argmax(found[1])] == pytest.approx(0.1, abs=0.01)
    assert spectrum(np.where(np.arange(1000) < 100, wave, np.nan), 1.0) is None
