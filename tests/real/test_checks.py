"""The checks themselves, on small arrays: they find injected violations and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from real_checks import (
    bad_uncertainties,
    below_bound,
    below_lower_limit,
    comparable_only,
    faults,
    has_incomparable,
    missing_mismatches,
    outside_raw_range,
    raised_without_flag,
    range_within_reach,
    unexplained_channels,
)
from real_data import datenum_csv, elt_csv, li7810_csv, qclas_csv, step_csv

from pc2dae.flags import SATURATED
from pc2dae.flight.schema import new_flight, suite_of
from pc2dae.suite import parse_suite

NAN = np.nan
SUITE = parse_suite(
    'name="x"\n[[family]]\nname="gas"\n[[family.channel]]\nname="co"\nunits="ppm"\n'
    '[[family.channel]]\nname="co_excess"\nunits="mg m-3"\n',
    where="test",
)


@pytest.fixture
def clean() -> xr.Dataset:
    """600 samples of one channel, alternating 1 and 2, with a gap of 400; the estimate is 1.5 where it may be."""
    raw = np.where(np.arange(600) % 2, 2.0, 1.0)
    raw[100:500] = NAN
    time = np.datetime64("2025-10-01T12:00:00", "ns") + np.arange(600) * np.timedelta64(1, "s")
    flight = new_flight(time, {"co": raw}, SUITE)
    estimate = np.where(np.arange(600) < 100 + 255, 1.5, NAN)
    estimate[499:] = 1.5
    new = {"co": estimate, "co_unbounded": estimate, "co_raw": raw, "co_uncertainty": estimate / 10}
    flight = flight.assign({name: ("time", values.copy()) for name, values in new.items()})
    return flight.assign_attrs(pc2dae_model="adaptive-short", pc2dae_left_raw="none")


def test_the_range_within_reach_on_literal_arrays() -> None:
    raw, seen = np.array([5.0, 1.0, 9.0, 2.0, 7.0]), np.array([True, True, False, False, True])
    low, high = range_within_reach(raw, seen, before=1, after=0)
    np.testing.assert_array_equal(low, [5, 1, 1, NAN, 7])
    np.testing.assert_array_equal(high, [5, 5, 1, NAN, 7])
    low, high = range_within_reach(raw, seen, before=1, after=2)
    np.testing.assert_array_equal(low, [1, 1, 1, 7, 7])
    np.testing.assert_array_equal(high, [5, 5, 7, 7, 7])


def test_nothing_is_wrong_with_a_good_estimate(clean: xr.Dataset) -> None:
    assert faults(clean) == []
    assert faults(clean, profile="live") == []


def test_what_is_planted_is_counted(clean: xr.Dataset) -> None:
    clean["co_unbounded"][[10, 20]] = [9.0, -9.0]
    assert outside_raw_range(clean, "co") == 2
    assert raised_without_flag(clean, "co") == 1  # at 20
    clean["co_unbounded"][400] = 1.5  # nothing within reach
    clean["co"][30] = NAN
    assert missing_mismatches(clean, "co") == 2
    clean["co_uncertainty"][[40, 41]] = [-1.0, NAN]
    clean["co"][[50, 51]] = -0.1
    assert (bad_uncertainties(clean, "co"), below_bound(clean, "co")) == (2, 2)
    clean["qc_co"][[60, 61]] = SATURATED
    clean["co_unbounded"][60:62] = [1.5, 0.5]
    clean["co_uncertainty"][60:62] = 0.4
    assert below_lower_limit(clean, "co") == 1  # 2.0 was read at 61, 1.0 at 60
    assert len(faults(clean)) == 6
    assert unexplained_channels(clean.drop_vars("co_unbounded")) == ["co"]


def test_a_mass_of_gas_is_not_compared_with_mole_fractions(clean: xr.Dataset) -> None:
    assert has_incomparable(clean)
    assert suite_of(comparable_only(clean)).names == ("co",)
    assert not has_incomparable(comparable_only(clean))


@pytest.mark.parametrize(
    ("prepare", "given", "row"),
    [
        (
            qclas_csv,
            "#x\nDate_UTC;Time_UTC;CH4\n2021-01-02;03:04:05;-7\n",
            "2021-01-02T03:04:05Z,2021-01-02,03:04:05,-7",
        ),
        (elt_csv, "\ufeff2021-01-02T03:04:05,1,2,3,4,5,6,7\n", "2021-01-02T03:04:05,1,2,3,4,5,6,7"),
        (elt_csv, "01/02/21 03:04:05 PM,1,2,3,4,5,6,7\n", "2021-01-02T15:04:05,1,2,3,4,5,6,7"),
        (
            li7810_csv,
            "Model:\tx\nDATAH\tSECONDS\tDIAG\tH2O\tCO2\tCH4\nDATA\t1\t256\t1\t2\t3\nDATA\t60\t0\t1\t2\t3\n",
            "1970-01-01T00:01:00+00:00,2,3,1",
        ),
        (datenum_csv, "t,x\n736259.5,7\n", "2015-10-22T12:00:00.000+00:00,736259.5,7"),  # datestr(736259.5) in MATLAB
        (step_csv, '"t\tx"\n"-0.5\t7"\n', "2016-01-01T00:00:00.000+00:00,-0.5,7"),
    ],
)
def test_preparations_on_literal_rows(prepare, given: str, row: str) -> None:
    assert prepare(given).splitlines()[1:] == [row]
