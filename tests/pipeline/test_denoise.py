"""Variables of a denoised flight: raw kept, bound respected, excluded families unchanged."""

from __future__ import annotations

import numpy as np
import pytest

import pc2dae
from pc2dae.denoiser import Estimate
from pc2dae.edge.runtime import WindowedDenoiser
from pc2dae.errors import FlightError, ModelError
from pc2dae.flags import MISSING
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Suite, parse_suite
from suites import make_suite

SUITE = make_suite(
    {
        "gas": {"co": {"units": "ppb", "detection_limit": 1000.0}, "no": "ppb"},
        "co2": {"co2": {"units": "ppm", "lower_bound": 300.0}},
    },
    name="own",
)


@pytest.fixture
def flight():
    rng = np.random.default_rng(0)
    t = np.arange(400)
    plume = 50 * np.exp(-0.5 * ((t - 200) / 10) ** 2)
    noisy = {"co": plume + rng.normal(0, 5, 400), "no": rng.normal(0, 5, 400), "co2": 420 + rng.normal(0, 2, 400)}
    noisy["co"][50:60] = np.nan
    time = np.datetime64("2026-08-01T00:00:00") + t * np.timedelta64(1, "s")
    return new_flight(time, noisy, SUITE)


class Half:
    """Half of every value, with an uncertainty."""

    name, latency_s = "half", 0.0

    def prepare(self, flight, suite):
        def job(values, environment, valid):
            filled = np.where(valid, values, 8.0) / 2
            return Estimate(filled, filled, np.full(values.shape, 1.5))

        return job


def test_the_variables_of_the_contract(flight):
    clean = pc2dae.denoise(flight, model=Half())
    assert clean.attrs["level"] == "denoised"
    assert clean.attrs["pc2dae_model"] == "half"
    assert "denoised gas, co2 with half, strength 1" in clean.attrs["history"].splitlines()[-1]
    for name, bound in (("co", 0.0), ("no", 0.0), ("co2", 300.0)):
        raw = flight[name].values
        assert np.array_equal(clean[f"{name}_raw"].values, raw, equal_nan=True)
        half = np.where(np.isfinite(raw), raw, 8.0) / 2
        assert np.allclose(clean[f"{name}_unbounded"].values, half)
        assert np.allclose(clean[name].values, np.maximum(half, bound))
        assert np.allclose(clean[f"{name}_uncertainty"].values, 1.5)
        assert clean[name].attrs["ancillary_variables"] == f"qc_{name} {name}_uncertainty"
        assert clean[name].attrs["units"] == flight[name].attrs["units"]
    assert (clean["qc_co"].values[50:60] & MISSING).all()


def test_the_flight_that_came_in_is_not_changed(flight):
    before = flight.copy(deep=True)
    pc2dae.denoise(flight, model=Half())
    assert before.identical(flight)


def test_strength_blends_raw_and_clean_and_keeps_the_bound(flight):
    clean = pc2dae.denoise(flight, model=Half(), strength=0.5)
    raw = flight["no"].values
    assert np.allclose(clean["no_unbounded"].values, 0.75 * raw)
    assert np.allclose(clean["no"].values, np.maximum(0.75 * raw, 0))
    assert np.allclose(clean["co_unbounded"].values[50:60], 4.0)  # nothing observed: the model alone
    assert clean["no_uncertainty"].values.mean() == pytest.approx(0.5 * 1.5 + 0.5 * 5, rel=0.2)
    none = pc2dae.denoise(flight, model=Half(), strength=0)
    assert np.allclose(none["no_unbounded"].values, raw)


@pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan")])
def test_a_strength_outside_its_range_is_refused(flight, strength):
    with pytest.raises(ModelError, match="is not between 0 and 1"):
        pc2dae.denoise(flight, model=Half(), strength=strength)


def test_errors_hold_together_as_long_as_was_averaged(flight):
    clean = pc2dae.denoise(flight, model=Half())
    assert clean["no_uncertainty"].attrs["error_correlation_s"] == pytest.approx((5 / 1.5) ** 2, rel=0.3)


def test_differenced_noise_hardly_adds_to_a_sum_and_a_slow_sensor_adds_more(flight):
    rng = np.random.default_rng(0)
    white = rng.normal(0, 5, flight.sizes["time"] + 1)
    differenced = pc2dae.denoise(flight.assign(no=flight["no"].copy(data=40 + np.diff(white))), model=Half())
    assert differenced["no_uncertainty"].attrs["error_correlation_s"] < 0.3 * (7.1 / 1.5) ** 2
    slow = flight.assign(qc_no=flight["qc_no"] | np.where(np.arange(len(white) - 1) % 2, MISSING, 0).astype("int32"))
    assert pc2dae.denoise(slow, model=Half())["no_uncertainty"].attrs["error_correlation_s"] == pytest.approx(
        2 * (5 / 1.5) ** 2, rel=0.4
    )


def test_an_owners_table_loses_no_family_but_one_that_is_empty(flight):
    flight = flight.assign(co2=flight["co2"] * np.nan)
    flight["qc_co2"] = flight["qc_co2"] | MISSING
    clean = pc2dae.denoise(flight, model=Half())  # all of co lies below its detection limit, yet gas stays
    assert "co_raw" in clean
    assert "co2_raw" not in clean
    assert clean.attrs["pc2dae_left_raw"] == "co2 (nothing was measured)"


TABLE = SUITE.model_dump()
TABLE["family"][0]["channel"][1]["valid_min"] = -100.0
TABLE["family"][1]["channel"][0]["valid_min"] = 0.0
LIMITED = Suite.model_validate(TABLE)


@pytest.mark.parametrize("model", [Half(), "ma5", "rts"])
def test_a_channel_without_a_usable_sample_has_no_estimate(flight, model):
    values = {name: flight[name].values for name in SUITE.names} | {"no": np.full(400, -1e6)}
    clean = pc2dae.denoise(new_flight(flight["time"].values, values, LIMITED), model=model)
    assert np.isnan(clean["no"].values).all()
    assert np.isnan(clean["no_unbounded"].values).all()
    assert (clean["no_raw"].values == -1e6).all()
    if "co_uncertainty" in clean:
        assert np.isnan(clean["no_uncertainty"].values).all()
    assert np.isfinite(clean["co"].values).all()
    assert clean.attrs["pc2dae_left_raw"] == "no (no usable sample: 100 % out_of_range)"
    assert "left raw: no (no usable sample: 100 % out_of_range)" in clean.attrs["history"].splitlines()[-1]
    scores = pc2dae.evaluate(clean)
    assert scores[scores.channel == "no"].value.isna().all()
    assert np.isfinite(scores[(scores.channel == "co") & (scores.metric == "negatives")].value).all()


def test_so_does_a_family_without_one(flight):
    values = {name: flight[name].values for name in SUITE.names} | {"co2": np.full(400, -1e6)}
    values["co2"][200:] = 1e38
    clean = pc2dae.denoise(new_flight(flight["time"].values, values, LIMITED), model=Half())
    assert np.isnan(clean["co2"].values).all()
    assert (clean["co2_raw"].values[:200] == -1e6).all()
    assert clean.attrs["pc2dae_left_raw"] == "co2 (no usable sample: 50 % missing, 50 % out_of_range)"
    asked = pc2dae.denoise(new_flight(flight["time"].values, values, LIMITED), model=Half(), exclude=["co2"])
    assert (asked["co2"].values[:200] == -1e6).all()  # left raw by request
    assert asked.attrs["pc2dae_left_raw"] == "co2 (nothing was measured)"


def test_a_family_left_raw_is_named_channel_by_channel(flight):
    clean = pc2dae.denoise(flight, model=Half(), exclude=["gas"])
    assert clean.attrs["pc2dae_left_raw"] == "co, no (excluded by request)"


def test_sentinels_and_a_stuck_channel_do_not_become_concentrations(flight):
    flight["co"][100:120] = -9999.0
    flight["co"][::50] = 1e38
    flight["no"][:] = 150.0
    clean = pc2dae.denoise(flight, model="adaptive")
    assert np.nanmax(clean["co"].values) < 100
    assert clean["qc_co"].values[100:120].all()
    assert np.isnan(clean["no"].values).all()
    assert clean.attrs["pc2dae_left_raw"] == "no (no usable sample: 100 % flat_line)"
    assert "co: 27 samples of -9999, 1e+38 taken as missing (sentinel)" in clean.attrs["history"]


def test_a_clean_flight_is_not_cleaned_again(flight):
    with pytest.raises(FlightError, match="denoised already"):
        pc2dae.denoise(pc2dae.denoise(flight, model=Half()), model=Half())


def network_for(suite):
    return WindowedDenoiser("net", suite, lambda v, m, e, s: (np.nan_to_num(v),))


def test_a_model_of_another_suite_names_the_difference(flight):
    other = parse_suite(SUITE.model_dump_json().replace('"units":"ppm"', '"units":"ppb"'), where="other")
    with pytest.raises(ModelError, match="trained for 'co2' with units ppb, not ppm"):
        pc2dae.denoise(flight, model=network_for(other))
    other = parse_suite(SUITE.model_dump_json().replace('"name":"no"', '"name":"no2"'), where="other")
    with pytest.raises(ModelError, match="trained for family 'gas' without its 'no'"):
        pc2dae.denoise(flight, model=network_for(other))


def test_a_family_the_model_does_not_know_is_left_raw(flight):
    clean = pc2dae.denoise(flight, model=network_for(SUITE.only(["gas"])))
    assert "co2_raw" not in clean
    assert np.array_equal(clean["co2"].values, flight["co2"].values)
    assert clean.attrs["pc2dae_left_raw"] == "co2 ('net' was not trained for it)"


def test_a_model_that_needs_more_than_the_flight_has_says_so(flight):
    gas = flight.drop_vars(["co2", "qc_co2"]).assign_attrs(
        suite=SUITE.only(["gas"]).model_dump_json(exclude_defaults=True)
    )
    with pytest.raises(ModelError, match="needs channel 'co2', which the flight lacks"):
        pc2dae.denoise(gas, model=network_for(SUITE))


def test_where_a_window_has_no_sample_there_is_no_estimate(flight):
    flight["co"][60:300] = np.nan
    flight["qc_co"][60:300] = flight["qc_co"][60:300] | MISSING
    clean = pc2dae.denoise(flight, model=network_for(SUITE))
    assert np.isnan(clean["co"].values[150]).all()
    assert np.isfinite(clean["no"].values).all()


def test_a_filter_is_a_model_too(flight):
    clean = pc2dae.denoise(flight, model="ma5")
    assert (clean["no"].values >= 0).all()
    assert np.nanstd(clean["no_unbounded"].values) < 0.6 * np.nanstd(flight["no"].values)


def test_a_misspelt_model_is_named(flight):
    with pytest.raises(ModelError, match="unknown model 'leam'; did you mean 'lean'"):
        pc2dae.denoise(flight, model="leam")
