import numpy as np
import pytest
from scipy import signal

from pc2dae.metrics.welch import welch


@pytest.mark.parametrize("size", [33, 200, 255, 256, 257, 1000])
def test_spectra_equal_those_of_scipy(size: int) -> None:
    series = np.random.default_rng(size).normal(size=(2, 3, size)).cumsum(axis=-1)
    frequency, power = welch(series, rate_hz=4.0)
    wanted = signal.welch(series, fs=4.0, window="hann", nperseg=min(size, 256), detrend="constant")
    np.testing.assert_allclose(frequency, wanted[0])
    np.testing.assert_allclose(power, wanted[1], rtol=1e-9, atol=1e-12 * power.max())
