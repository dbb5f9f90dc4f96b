import numpy as np
import xarray as xr

from pc2dae.filters.ona import Ona, ona, ona_groups
from pc2dae.suite import load_suite


def test_groups_end_when_attenuation_has_risen() -> None:
    attenuation = np.array([1.00, 1.02, 1.04, 1.06, 1.07, 1.12, np.nan, 1.13])
    assert ona_groups(attenuation, rise=0.05).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


def test_a_tape_advance_starts_a_new_group() -> None:
    attenuation = np.array([60.00, 60.01, 0.10, 0.11])
    assert ona_groups(attenuation, rise=0.05).tolist() == [0, 0, 1, 1]


def test_noise_downwards_does_not() -> None:
    assert ona_groups(np.array([5.0, 4.9, 5.0, 4.95]), rise=0.05).tolist() == [0, 0, 0, 0]


def test_averages_of_literals_within_groups_only() -> None:
    bc = np.array([[100.0, 300.0, -50.0, 150.0], [1.0, 2.0, 3.0, 4.0]])
    attenuation = np.array([[60.0, 60.01, 0.1, 0.11], [np.nan] * 4])
    assert ona(bc, np.ones((2, 4), bool), attenuation).tolist() == [[200, 200, 50, 50], [1, 2, 3, 4]]


def test_the_job_finds_each_channels_own_attenuation() -> None:
    suite = load_suite("black-kite").only(["bc"])
    dark = np.array([60.0, 60.01, 0.1, 0.11])
    flight = xr.Dataset({"ma200_ir_atn2": ("time", dark)}, coords={"time": np.arange(4)})
    values = np.tile([100.0, 300.0, -50.0, 150.0], (4, 1))
    estimate = Ona().prepare(flight, suite)(values, np.zeros((3, 4)), np.ones((4, 4), bool))
    assert estimate.value[3].tolist() == [200, 200, 50, 50]
    assert estimate.value[0].tolist() == [100, 300, -50, 150]
