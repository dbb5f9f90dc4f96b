"""ICARTT both ways: by hand, through the public reader, and NASA's own file."""

from __future__ import annotations

import re
from pathlib import Path

import icartt
import numpy as np
import pytest

from pc2dae.errors import FlightError
from pc2dae.flags import BELOW_DETECTION, MISSING, SATURATED
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.icartt import IcarttTable, parse_icartt
from pc2dae.flight.schema import check_flight, new_flight, suite_of
from pc2dae.ingestion import ingest, open_flight
from pc2dae.suite import Channel, Family, Suite, load_suite

REAL = Path(__file__).parents[3] / "shared/data/act_america_icartt/ACTAMERICA-mrg05-c130_merge_20160805_R3.ict"

SMALL = """\
25, 1001
Someone
Somewhere
Something
Mission
1, 1
2016, 08, 05, 2018, 08, 24
1
UTC,s
2
1, 0.1
-9999, -9999
LATITUDE, degs
CO, ppb, Gas_CO, carbon monoxide
0
8
PI_CONTACT_INFO: n/a
ULOD_FLAG: -7777
LLOD_FLAG: -8888
REVISION: R0
R0: first
A: b
C: d
UTC, LATITUDE, CO
86398, 10, 1234
86399, -9999, -9999
86400.5, 10.5, -7777
86401, 10.25, -8888
"""


def read_table(path: Path) -> IcarttTable:
    return parse_icartt(path.read_text(), path.name)


def _small(tmp_path: Path) -> Path:
    text = SMALL.replace("25, 1001", f"{len(SMALL.splitlines()) - 4}, 1001")
    (tmp_path / "small_uav_20160805_R0.ict").write_text(text)
    return tmp_path / "small_uav_20160805_R0.ict"


def test_scale_missing_and_detection_flags_by_hand(tmp_path: Path) -> None:
    table = read_table(_small(tmp_path))
    np.testing.assert_allclose(table.columns["CO"], [123.4, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(table.columns["LATITUDE"], [10, np.nan, 10.5, 10.25])
    np.testing.assert_array_equal(table.flags["CO"], [0, 0, SATURATED, BELOW_DETECTION])
    # 86400.5 s after midnight of August 5 is half a second into August 6.
    assert table.time[2] == np.datetime64("2016-08-06T00:00:00.5")


def test_a_strangers_concentrations_become_channels(tmp_path: Path) -> None:
    flight = read_flight(_small(tmp_path))
    suite = check_flight(flight)
    assert suite.names == ("CO",)
    assert suite["CO"].units == "ppb"
    np.testing.assert_array_equal(flight["qc_CO"], [0, MISSING, MISSING | SATURATED, MISSING | BELOW_DETECTION])
    assert flight["latitude"].values[0] == 10


def test_written_file_reads_back_here_and_in_the_public_reader(tmp_path: Path) -> None:
    suite, rng = load_suite("black-kite"), np.random.default_rng(1)
    values = {name: rng.normal(-7777, 1 / 3, 40) for name in suite.names}
    values["bc_ir_1"][:] = np.round(values["bc_ir_1"])  # whole numbers around the usual flag of "above detection"
    values["co_a"][5:8] = np.nan
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(40) * np.timedelta64(1, "s")
    before = new_flight(time, values | {"afe_a_co_we": rng.normal(300, 1, 40)}, suite)
    before["afe_a_co_we"].attrs["units"] = "mV"
    before.attrs["calibration"] = '{"afe/a": {"type": "810-0023-00"}}'
    path = tmp_path / "pc2dae_UAV_20251005_R0.ict"
    write_flight(before, path)
    after = read_flight(path)
    assert after.attrs == before.attrs
    assert set(after.variables) == set(before.variables)
    for name in before.variables:
        np.testing.assert_array_equal(after[name].values, before[name].values, err_msg=str(name))
        assert after[name].attrs.get("units") == before[name].attrs.get("units")
    public = icartt.Dataset(path)
    assert public.dateOfCollection == (2025, 10, 5)
    np.testing.assert_allclose(public.data["co_a"], before["co_a"].values)
    np.testing.assert_allclose(public.data["Time_Start"][:2], [50400, 50401])


def test_the_comments_say_what_is_estimated(tmp_path: Path) -> None:
    suite = load_suite("black-kite").only(["co2"])
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(3) * np.timedelta64(1, "s")
    flight = new_flight(time, {name: np.full(3, 400.0) for name in suite.names}, suite, level="denoised")
    flight["co2_li830"].attrs["target"], flight["co2_scd30"].attrs["target"] = "ambient", "response"
    write_flight(flight, tmp_path / "a.ict")
    (line,) = [x for x in (tmp_path / "a.ict").read_text().splitlines() if x.startswith("OTHER_COMMENTS")]
    said = "co2_li830 estimate the air (lag of the sensor corrected); co2_scd30 estimate the noise-free reading"
    assert line == f"OTHER_COMMENTS: {said}"


def test_long_names_and_attributes_come_back(tmp_path: Path) -> None:
    """The format allows 31 characters; plumes depends on the attributes of a denoised channel."""
    suite = load_suite("black-kite").only(["co2"])
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(3) * np.timedelta64(1, "s")
    values = {name: np.full(3, 400.0) for name in suite.names} | {"co2": np.full(3, 401.0)}
    for name in ("co2_scd30", "co2_li830"):
        values |= {f"{name}_{part}uncertainty": np.full(3, 1.5) for part in ("", "random_", "systematic_")}
    before = new_flight(time, values | {"qc_co2": np.zeros(3, np.int32)}, suite, level="denoised")
    for name in values:
        before[name].attrs.setdefault("units", "ppm")
    before["co2_scd30"].attrs |= {"target": "ambient", "effective_resolution_s": np.float64(14.5)}
    before["co2_scd30_uncertainty"].attrs |= {"comment": "noise only", "error_correlation_s": 3.0}
    before["co2"].attrs |= {"combined_from": "co2_scd30 0.2, co2_li830 0.8", "units": "ppm", "long_name": "a, b"}
    path = tmp_path / "pc2dae_UAV_20251005_R0.ict"
    write_flight(before, path)
    public = icartt.Dataset(path)  # warns of names that are not valid
    assert {"co2_scd30_random_uncertainty", "co2_scd30_syst_unc", "co2", "qc_co2"} <= set(public.variables)
    (limits, said) = ("; ".join(public.normalComments.keywords[k].data) for k in ("LLOD_VALUE", "OTHER_COMMENTS"))
    assert limits == "N/A"
    assert "effective resolution: co2_scd30 14.5 s; co2 is combined from co2_scd30 0.2; co2_li830 0.8" in said
    assert "of co2_scd30 (noise only)" in public.normalComments.keywords["UNCERTAINTY"].data[0]
    after = read_flight(path)
    for name in values:
        np.testing.assert_array_equal(after[name].values, before[name].values)
        assert before[name].attrs.items() <= after[name].attrs.items()
    assert after["qc_co2"].attrs["flag_meanings"].startswith("missing stale")


def test_values_beyond_a_limit_stay_values(tmp_path: Path) -> None:
    gas = Family(name="gas", channel=(Channel(name="co", units="ppm", detection_limit=0.1),))
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(2) * np.timedelta64(1, "s")
    bits = {"co": np.array([BELOW_DETECTION, SATURATED])}
    flight = new_flight(time, {"co": np.array([0.05, 5000.0])}, Suite(name="s", family=(gas,)), flags=bits)
    write_flight(flight, tmp_path / "a.ict")
    text = (tmp_path / "a.ict").read_text()
    assert "LLOD_VALUE: co 0.1 ppm" in text
    assert "saturated: lower limits" in text
    after = read_flight(tmp_path / "a.ict")
    np.testing.assert_array_equal(after["co"], [0.05, 5000.0])
    np.testing.assert_array_equal(after["qc_co"], [BELOW_DETECTION, SATURATED])


@pytest.mark.parametrize("damage", ['"pc2dae_variables": {"co": 3}', '"pc2dae_names": {"co": 3}', '"suite": 3'])
def test_damaged_attributes_are_one_line(damage: str, tmp_path: Path) -> None:
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(2) * np.timedelta64(1, "s")
    gas = Family(name="gas", channel=(Channel(name="co", units="ppm"),))
    write_flight(new_flight(time, {"co": np.ones(2)}, Suite(name="s", family=(gas,))), tmp_path / "a.ict")
    text = re.sub("pc2dae_attributes: .*", f"pc2dae_attributes: {{{damage}}}", (tmp_path / "a.ict").read_text())
    (tmp_path / "a.ict").write_text(text)
    with pytest.raises(FlightError, match="the comment 'pc2dae_attributes' is damaged"):
        read_flight(tmp_path / "a.ict")


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = _small(tmp_path)
    path.write_text(path.read_text()[:200])
    with pytest.raises(Exception, match="not a complete ICARTT file"):
        read_flight(path)


def test_a_file_cut_in_its_last_line_has_no_other_number(tmp_path: Path) -> None:
    """-8888 (below detection) cut to -888 would be -88.8 ppb."""
    path = _small(tmp_path)
    whole = path.read_text()
    expected = read_table(path)
    for size in range(len(whole) - 15, len(whole)):
        path.write_text(whole[:size])
        table = read_table(path)
        rows = 3
        for name, values in table.columns.items():
            np.testing.assert_array_equal(values, expected.columns[name][:rows])
        assert bool(table.repairs) == (whole[size - 1] != "\n")
    assert "incomplete last line left out (line 28)" in read_flight(path).attrs["history"]


def test_a_short_row_is_refused_with_its_line(tmp_path: Path) -> None:
    path = _small(tmp_path)
    path.write_text(path.read_text().replace("86399, -9999, -9999", "86399, -9999"))
    with pytest.raises(FlightError, match="line 26 has 2 numbers, expected 3"):
        read_table(path)


def test_a_strangers_uncertainty_is_no_channel(tmp_path: Path) -> None:
    path = _small(tmp_path)
    path.write_text(path.read_text().replace("LATITUDE, degs", "CO_uncertainty, ppb"))
    assert read_flight(path).attrs["suite"].count('"name":"CO') == 1


@pytest.mark.parametrize("row", ["86399, -9999, -9999, 5", "86399, x, 5"])
def test_a_row_with_other_cells_is_refused_in_one_line(row: str, tmp_path: Path) -> None:
    path = _small(tmp_path)
    path.write_text(path.read_text().replace("86399, -9999, -9999", row))
    with pytest.raises(FlightError, match="not a complete ICARTT file") as caught:
        read_flight(path)
    assert "\n" not in str(caught.value)


def test_columns_are_converted_to_the_units_of_a_given_suite(tmp_path: Path) -> None:
    gas = Family(name="gas", channel=(Channel(name="co", units="ppm", column="CO"),))
    flight = read_flight(_small(tmp_path), Suite(name="given", family=(gas,)))
    np.testing.assert_allclose(flight["co"].values[0], 0.1234)
    assert "co converted from ppb to ppm" in flight.attrs["history"]


@pytest.mark.skipif(not REAL.exists(), reason="the real ICARTT file is not here (../shared/data)")
def test_nasas_own_file() -> None:
    flight = read_flight(REAL)
    suite = check_flight(flight)
    assert "CO_DryMoleFrac_PICARRO" in suite.names
    assert flight.sizes["time"] == len(REAL.read_text().splitlines()) - 141
    assert suite.rate_hz == 0.2
    co = flight["CO_DryMoleFrac_PICARRO"].values
    assert 0.05 < np.nanmedian(co) < 0.3  # ppm over the Midwest
    assert -130 < np.nanmin(flight["longitude"]) < np.nanmax(flight["longitude"]) < -60
    assert np.nanmax(flight["altitude"]) > 1000  # metres, from kilometres
    assert -40 < np.nanmean(flight["air_temperature"]) < 40  # degC, from kelvin


def test_a_row_without_a_time_is_refused_with_its_line(tmp_path: Path) -> None:
    *head, row = SMALL.splitlines()
    (tmp_path / "x.ict").write_text("\n".join([*head, "nan," + row.split(",", 1)[1], ""]))
    with pytest.raises(FlightError, match=f"the time in line {len(head) + 1} is not a valid time"):
        read_table(tmp_path / "x.ict")


def test_a_year_that_no_flight_has_is_refused(tmp_path):
    """A clock in nanoseconds holds 1678 to 2262 and wraps around beyond: 9024 was read as 2009."""
    (tmp_path / "far.ict").write_text(SMALL.replace("2016, 08", "9024, 08"))
    with pytest.raises(FlightError, match="the year 9024 in line 7"):
        read_table(tmp_path / "far.ict")


def test_ingest_and_open_flight_give_the_same_names_and_values(tmp_path: Path) -> None:
    """A log and a flight are read through different doors: the channels of an archive's file must not depend on it."""
    path = _small(tmp_path)
    path.write_text(path.read_text().replace("LATITUDE, degs", "Latitude, degs").replace("CO, ppb", "CO-dry, ppb"))
    opened, ingested = open_flight(path), ingest([path])[0]
    assert suite_of(opened).names == suite_of(ingested).names == ("CO_dry",)
    assert [f.name for f in suite_of(opened).family] == [f.name for f in suite_of(ingested).family]
    for name in ("CO_dry", "latitude"):
        assert opened[name].attrs["units"] == ingested[name].attrs["units"]
        assert opened[name].values[0] == ingested[name].values[0]
    if REAL.exists():
        assert suite_of(open_flight(REAL)).names == suite_of(ingest([REAL])[0]).names


def test_a_cut_last_line_is_left_out_by_ingest_too(tmp_path: Path) -> None:
    path = _small(tmp_path)
    path.write_text(path.read_text()[:-2])
    flight, intake = ingest([path])
    assert intake.sources[0].repairs == ("incomplete last line left out (line 28)",)
    assert flight.sizes["time"] == 3
