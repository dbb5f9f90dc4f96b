"""Which families are denoised: verdict from the data, and choice of the user."""

import numpy as np
import pytest

import pc2dae
from pc2dae.errors import SuiteError
from pc2dae.flight.schema import history_of, new_flight
from pc2dae.ingestion import change_lines
from suites import make_suite

SUITE = make_suite({"gas": {"co": "ppb"}, "pm": {"pm25": "ug m-3"}}, name="two")


@pytest.fixture
def flight():
    time = np.datetime64("2025-10-10T16:00:00") + np.arange(300).astype("timedelta64[s]")
    rng = np.random.default_rng(0)
    return new_flight(time, {name: 20 + rng.standard_normal(300) for name in SUITE.names}, SUITE)


def test_a_users_own_table_is_denoised_whole(flight) -> None:
    clean = pc2dae.denoise(flight, model="ma5")
    assert {"co_raw", "pm25_raw"} <= set(clean.data_vars)


def test_a_family_excluded_by_request_stays_raw(flight) -> None:
    clean = pc2dae.denoise(flight, model="ma5", exclude=["pm"])
    assert "pm25_raw" not in clean
    assert np.array_equal(clean["pm25"], flight["pm25"])
    assert clean.attrs["pc2dae_left_raw"] == "pm25 (excluded by request)"
    assert clean["pm25"].attrs["not_denoised"] == "excluded by request"
    assert "not_denoised" not in flight["pm25"].attrs
    again = pc2dae.denoise(flight.assign(pm25=clean["pm25"]), model="ma5")
    assert "not_denoised" not in again["pm25"].attrs


def test_lines_about_changed_values_are_known_by_their_kind(flight) -> None:
    flight["co"][100:110] = -9999.0
    clean = pc2dae.denoise(flight, model="ma5")
    assert change_lines(flight, clean) == ["co: 10 samples of -9999 taken as missing (sentinel)"]
    assert clean.attrs["history"].count("\n") > len(history_of(clean, "change"))
    assert history_of(clean, "warning") == []


def test_an_unknown_family_is_named(flight) -> None:
    with pytest.raises(SuiteError, match="no family 'pn'; did you mean 'pm'"):
        pc2dae.denoise(flight, model="ma5", keep=["pn"])
