"""Flights written or modified by other tools: converted to the suite's grid and units, or rejected."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.channel_schema import BESIDE
from pc2dae.errors import FlightError
from pc2dae.flags import MISSING, SPIKE
from pc2dae.flight import conform, read_flight, write_flight
from pc2dae.flight.schema import SPECIES, check_flight, new_flight, suite_of
from pc2dae.suite import Channel, Family, Suite

START = np.datetime64("2025-10-05T14:00:00", "ns")
MS = np.timedelta64(1, "ms")
SUITE = Suite(
    name="two",
    family=(
        Family(name="gas", channel=(Channel(name="co", units="ppb"),)),
        Family(name="bc", channel=(Channel(name="bc", units="ng m-3"),)),
    ),
)


def flight(rows: int = 40, step_ms: int = 1000) -> xr.Dataset:
    values = {"co": 200.0 + np.arange(rows), "bc": np.linspace(300.0, 900.0, rows)}
    values |= {"air_temperature": np.full(rows, 20.0), "air_pressure": np.full(rows, 950.0)}
    return new_flight(START + np.arange(rows) * step_ms * MS, values, SUITE)


def lines(flight: xr.Dataset) -> str:
    return str(flight.attrs["history"])


def test_a_flight_on_its_grid_stays_as_it_is() -> None:
    before = flight()
    xr.testing.assert_identical(conform(before), before)


def test_jitter_of_the_clock_is_no_reason_to_change_anything() -> None:
    jitter = np.random.default_rng(1).uniform(-200, 200, 40).astype(int) * MS
    before = flight().assign_coords(time=flight()["time"].values + jitter)
    xr.testing.assert_identical(conform(before), before)


def test_slower_rows_keep_their_values_and_set_the_rate() -> None:
    before = flight(step_ms=10_000)
    after = conform(before)
    assert suite_of(after).rate_hz == 0.1
    np.testing.assert_array_equal(after["co"].values, before["co"].values)
    np.testing.assert_array_equal(after["time"].values, before["time"].values)
    assert "rows 10 s apart: rate_hz of suite 'two' lowered from 1 to 0.1" in lines(after)


def test_faster_rows_are_averaged_and_rejected_ones_left_out_of_the_mean() -> None:
    before = flight(step_ms=100)
    before["qc_co"][3] = SPIKE
    before["co"][3] = 1e6
    before["qc_bc"][10:20] = SPIKE
    after = conform(before)
    assert suite_of(after).rate_hz == 1.0
    expected = before["co"].values.reshape(4, 10).mean(axis=1)
    expected[0] = np.delete(before["co"].values[:10], 3).mean()
    np.testing.assert_allclose(after["co"].values, expected)
    np.testing.assert_array_equal(after["qc_co"].values, 0)
    np.testing.assert_array_equal(after["qc_bc"].values, [0, SPIKE, 0, 0])  # nothing else there: kept, with its flag
    assert "40 rows averaged onto a grid of 1 Hz: 4 of 4 cells filled" in lines(after)


def test_sentinels_are_taken_out_before_rows_are_averaged() -> None:
    before = flight(step_ms=100)
    before.attrs["suite"] = SUITE.model_copy(update={"missing": (5.0,)}).model_dump_json(exclude_defaults=True)
    before["co"].values[3:5] = 5.0, -9999.0
    after = conform(before)
    np.testing.assert_allclose(after["co"].values[0], np.delete(before["co"].values[:10], [3, 4]).mean())
    assert lines(after).count("taken as missing") == 2


def test_holes_become_missing_cells() -> None:
    after = conform(xr.concat([flight().isel(time=slice(0, 10)), flight().isel(time=slice(25, 40))], "time"))
    np.testing.assert_array_equal(after["time"].values, flight()["time"].values)
    np.testing.assert_array_equal(np.isnan(after["co"].values), (np.arange(40) >= 10) & (np.arange(40) < 25))
    np.testing.assert_array_equal(after["qc_co"].values[10:25], MISSING)
    np.testing.assert_array_equal(after["co"].values[25:], flight()["co"].values[25:])


def test_denoise_takes_the_time_of_the_rows_and_not_their_number() -> None:
    rng = np.random.default_rng(0)
    noisy = [f.assign(co=f["co"] + rng.normal(0, 5, 300)) for f in (flight(300), flight(300, step_ms=10_000))]
    fast, slow = (pc2dae.denoise(f, model="savgol") for f in noisy)
    assert (suite_of(fast).rate_hz, suite_of(slow).rate_hz) == (1.0, 0.1)
    holes = pc2dae.denoise(noisy[0].isel(time=np.r_[0:100, 160:300]), model="savgol")
    assert holes.sizes["time"] == 300
    assert np.isnan(holes["co_raw"].values[100:160]).all()


def test_a_month_between_two_rows_is_refused_and_not_filled() -> None:
    stamps = flight()["time"].values.copy()
    stamps[20:] += np.timedelta64(30, "D")
    with pytest.raises(FlightError, match=r"nothing was recorded from 2025-10-05T14:00:19 to 2025-11-04.*split it"):
        conform(flight().assign_coords(time=stamps))


def test_stages_refuse_what_does_not_conform() -> None:
    with pytest.raises(FlightError, match=r"rows are 10 s apart.*rate_hz = 1; pass the flight through `pc2dae"):
        check_flight(flight(step_ms=10_000))
    ppm = flight()
    ppm["co"].attrs["units"] = "ppm"
    with pytest.raises(FlightError, match="'co' is in ppm, but the suite has ppb"):
        check_flight(ppm)


def test_units_are_converted_and_the_history_says_so() -> None:
    before = flight()
    before["co"] = before["co"].copy(data=before["co"].values / 1000)
    before["co"].attrs["units"] = "ppmv"
    before["air_temperature"].attrs["units"] = "K"
    before["air_temperature"][:] = 293.15
    before["air_pressure"].attrs["units"] = "Pa"
    before["bc"].attrs["units"] = "ug/m3"
    after = conform(before)
    np.testing.assert_allclose(after["co"].values, flight()["co"].values)
    np.testing.assert_allclose(after["air_temperature"].values, 20.0)
    np.testing.assert_allclose(after["air_pressure"].values, 9.5)
    np.testing.assert_allclose(after["bc"].values, 1000 * flight()["bc"].values)
    assert "co converted from ppmv to ppb" in lines(after)
    assert after["bc"].attrs["units"] == "ng m-3"
    assert before["co"].attrs["units"] == "ppmv"  # what was given is not changed


def calibrated(units: str, factor: float) -> xr.Dataset:
    """A denoised flight with every variable of `co`, and a species combined from it, in some units."""
    done = flight()
    for name in ("co", "co_twins", *(variable.of("co") for variable in BESIDE)):
        done[name] = ("time", np.full(40, 7.0 * factor), {"units": units})
    done["co_twins"].attrs[SPECIES] = "co 0.600, co_b 0.400"
    done["co"].attrs |= {"zero_uncertainty": 2.0 * factor, "gain_uncertainty": 0.1, "gain_anchor": 120.0 * factor}
    done["co"].attrs["cross_uncertainty"] = json.dumps({"co": 0.5, "bc": 3.0 * factor})
    return done


def test_all_variables_of_a_channel_are_converted() -> None:
    before, after = calibrated("ppm", 1e-3), conform(calibrated("ppm", 1e-3))
    wanted = calibrated("ppb", 1.0)
    for name in ("co", "co_twins", *(variable.of("co") for variable in BESIDE)):
        np.testing.assert_allclose(after[name].values, 7.0, err_msg=name)
        assert after[name].attrs["units"] == "ppb", name
        assert before[name].attrs["units"] == "ppm", name
    for key in ("zero_uncertainty", "gain_uncertainty", "gain_anchor"):
        assert after["co"].attrs[key] == pytest.approx(wanted["co"].attrs[key])
    assert json.loads(after["co"].attrs["cross_uncertainty"]) == pytest.approx({"co": 0.5, "bc": 3.0})


def test_a_reading_in_millivolts_stays_beside_its_channel() -> None:
    before = calibrated("ppm", 1e-3)
    before["co_uncalibrated"] = ("time", np.full(40, 31.0), {"units": "mV"})
    after = conform(before)
    assert after["co_uncalibrated"].attrs["units"] == "mV"
    np.testing.assert_array_equal(after["co_uncalibrated"].values, 31.0)


def test_a_unit_of_another_quantity_is_refused() -> None:
    before = flight()
    before["bc"].attrs["units"] = "ppb"  # black carbon has no molar mass
    with pytest.raises(FlightError, match="'bc' is in 'ppb', which cannot be converted to the suite's ng m-3"):
        conform(before)


def test_a_gas_in_mass_is_converted_with_the_air_of_the_flight() -> None:
    before = flight()
    before["co"].attrs["units"] = "ug m-3"
    before["air_temperature"] = before["air_temperature"].copy(data=np.full(40, 293.15))
    before["air_temperature"].attrs["units"] = "K"
    after = conform(before)
    # 1 ppb of CO = 28.010e-3·95000/(8.314462618·293.15) = 1.091723 ug m-3 at 20 degC and 950 hPa
    np.testing.assert_allclose(after["co"].values, before["co"].values / 1.091723, rtol=1e-5)
    assert "co converted from ug m-3 to ppb at the temperature and pressure of the air" in lines(after)


def test_a_gas_in_mass_without_pressure_is_refused_in_one_line() -> None:
    before = flight().drop_vars("air_pressure")
    before["co"].attrs["units"] = "ug m-3"
    with pytest.raises(FlightError, match=r"'co' is in 'ug m-3'.*needs the pressure of the air; add air_temp"):
        conform(before)


def test_without_air_for_more_than_a_minute_a_converted_gas_is_missing() -> None:
    before = flight(rows=200)
    before["co"].attrs["units"] = "mg m-3"
    before["air_pressure"][:100] = np.nan
    after = conform(before)
    missing = np.arange(200) < 40  # 60 s before the first pressure
    np.testing.assert_array_equal(np.isnan(after["co"].values), missing)
    np.testing.assert_array_equal(after["qc_co"].values & MISSING != 0, missing)


def test_flags_that_were_averaged_are_refused_and_whole_ones_taken() -> None:
    flagged = flight()
    flagged["qc_co"][0] = SPIKE
    with pytest.raises(FlightError, match=r"'qc_co' holds 0\.8, which is not a sum of flags"):
        conform(flagged.resample(time="10s").mean())
    after = conform(flight().resample(time="10s").mean())
    assert after["qc_co"].dtype == np.int32
    assert suite_of(after).rate_hz == 0.1


def test_rows_of_the_original_file_are_kept_while_they_are_those_of_the_cells(tmp_path: Path) -> None:
    made = flight(10)
    made["row_index"] = ("row", np.array([0, 2, 2, 9]))
    made["row_time"] = ("row", START + np.array([0, 2000, 2400, 9000]) * MS)
    xr.testing.assert_identical(conform(made), made)
    for cut in (slice(1, None), slice(None, 9), [0, 1, 2, 3, 4, 5, 6, 7, 9]):
        after = conform(made.isel(time=cut))
        assert "row_index" not in after
        assert "rows of the original file dropped" in lines(after)
        write_flight(made.isel(time=cut), tmp_path / "x.csv")
        assert len((tmp_path / "x.csv").read_text().splitlines()) == 1 + made.isel(time=cut).sizes["time"]


def test_flights_with_rows_can_be_joined() -> None:
    made = flight(10)
    made["row_index"] = ("row", np.arange(10))
    made["row_time"] = ("row", made["time"].values)
    joined = xr.concat([made.isel(time=slice(0, 4)), made.isel(time=slice(6, 10))], "time", data_vars="all")
    np.testing.assert_array_equal(np.isnan(conform(joined)["co"].values), [False] * 4 + [True] * 2 + [False] * 4)


def _without_units(raw: xr.Dataset) -> None:
    del raw["time"].attrs["units"]


def _year_1(raw: xr.Dataset) -> None:
    raw["time"].attrs["units"] = "seconds since 0001-01-01"


def _no_leap(raw: xr.Dataset) -> None:
    raw["time"].attrs["calendar"] = "noleap"


def _not_a_time(raw: xr.Dataset) -> None:
    raw["time"] = ("time", np.where(np.arange(40) == 3, np.nan, raw["time"].values), raw["time"].attrs)


def _twice(raw: xr.Dataset) -> None:
    raw["time"] = ("time", np.where(np.arange(40) == 3, raw["time"].values[2], raw["time"].values), raw["time"].attrs)


def _backwards(raw: xr.Dataset) -> None:
    raw["time"] = ("time", raw["time"].values[::-1], raw["time"].attrs)


def _over_another_dimension(raw: xr.Dataset) -> None:
    stamps = raw["time"].variable
    del raw["time"]
    raw["time"] = ("obs", stamps.values[:7], stamps.attrs)


def _text(raw: xr.Dataset) -> None:
    raw["time"] = ("time", np.array([f"2025-10-05T14:00:{n:02d}" for n in range(40)]))


@pytest.mark.parametrize("suite", [None, SUITE])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_without_units, r"'time' is not a date \(int64\)"),
        (_year_1, "are not dates between 1970 and 2200|is stamped"),
        (_no_leap, "calendar 'noleap'"),
        (_not_a_time, "row 4 has no time stamp"),
        (_twice, "time does not increase at row 4"),
        (_backwards, "time does not increase at row 2"),
        (_text, "'time' is not a date"),
        (_over_another_dimension, "'time' has dimensions obs"),
    ],
)
def test_time_that_cannot_be_used_is_refused(
    spoil: Callable[[xr.Dataset], None], message: str, suite: Suite | None, tmp_path: Path
) -> None:
    write_flight(flight(), tmp_path / "a.nc")
    raw = xr.load_dataset(tmp_path / "a.nc", decode_cf=False)
    if suite is not None:
        raw = raw.drop_attrs(deep=False)
    spoil(raw)
    raw.to_netcdf(tmp_path / "b.nc")
    with pytest.raises(FlightError, match=rf"b\.nc.*({message})") as caught:
        read_flight(tmp_path / "b.nc", suite)
    assert "\n" not in str(caught.value)


def test_a_netcdf_of_another_origin_is_brought_to_the_suite(tmp_path: Path) -> None:
    stamps = START + np.arange(20) * 500 * MS
    values = {"co": ("time", np.repeat(np.arange(10) / 1000, 2), {"units": "ppm"})}
    values |= {"air_temperature": ("time", np.full(20, 293.15))}
    xr.Dataset(values, coords={"time": stamps}).to_netcdf(tmp_path / "s.nc")
    read = read_flight(tmp_path / "s.nc", SUITE)
    np.testing.assert_allclose(read["co"].values, np.arange(10))
    np.testing.assert_allclose(read["air_temperature"].values, 20.0)
    for said in ("co converted from ppm to ppb", "20 rows averaged onto a grid", "interpreted as K, converted to degC"):
        assert said in lines(read)
