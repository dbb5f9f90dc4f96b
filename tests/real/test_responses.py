"""The responses of real payloads: six Konza flights together, and steps of instruments with a known t90."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from real_data import ABSENT, DATA, RECORDS, ROOT, RealRecord

import pc2dae
from pc2dae.response.payload import PayloadResponse
from pc2dae.response.steps import Exposure, SensorStep, exposure_steps, steps_of

KONZA = {r.source.stem: r for r in RECORDS if r.file.startswith("kolibri/")}
SUITE = ROOT / "examples" / "kolibri.toml"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=ABSENT)


@pytest.fixture(scope="module")
def flights() -> Mapping[str, xr.Dataset]:
    return {name: pc2dae.open_flight(record.source, suite=SUITE) for name, record in KONZA.items()}


@pytest.fixture(scope="module")
def konza(flights: Mapping[str, xr.Dataset]) -> PayloadResponse:
    return pc2dae.find_response(list(flights.values()))


def test_six_flights_know_the_co_cell_that_none_of_them_knows(konza: PayloadResponse) -> None:
    co = konza.channels["co"]
    assert co.t90_s is not None
    assert co.is_usable
    assert abs(co.t90_s - 12.4) < 2 * np.hypot(co.t90_uncertainty_s, 1.0)  # SCIENCE 12: 12.4 ± 1 s
    assert co.t90_uncertainty_s < 0.1 * co.t90_s
    assert co.limit_s is not None
    assert co.t90_s <= co.limit_s


def test_co2_has_a_limit_and_no_t90(konza: PayloadResponse) -> None:
    co2 = konza.channels["co2"]
    assert co2.t90_s is None
    assert co2.limit_s is not None
    assert 9.0 < co2.limit_s < 20.0  # its fastest falls are of 10 to 12 s
    assert "pm25 saw other air" in co2.reason


@pytest.mark.parametrize("name", sorted(KONZA))
def test_co_is_corrected_by_what_the_other_flights_know(name: str, flights: Mapping[str, xr.Dataset]) -> None:
    others = pc2dae.find_response([flight for other, flight in flights.items() if other != name])
    clean = pc2dae.denoise(flights[name], response=others)
    assert clean.co.attrs.get("target") == "ambient", clean.co.attrs.get("lag_not_corrected")
    assert clean.co2.attrs["target"] == "response"
    raw, air, response = (clean[f"co{ending}"].values for ending in ("_raw", "_unbounded", "_response"))
    known = np.isfinite(raw) & np.isfinite(air)
    clear = float(np.quantile(raw[known], 0.05))
    assert (air - clear)[known].sum() == pytest.approx((raw - clear)[known].sum(), rel=0.005)
    deep = air < np.minimum(response, clear) - 4 * clean.co_uncertainty.values
    assert deep[known].mean() < 0.005
    assert 1.0 < np.nanmax(air) / np.nanmax(raw) < 2.5


def opened(file: str, folder: Path) -> xr.Dataset:
    record = next(r for r in RECORDS if r.file == file)
    return pc2dae.open_flight(record.write(folder, whole=True), suite=record.suite_path, zone=record.zone)


def step_of(flight: xr.Dataset, channel: str, start: str, end: str) -> list[SensorStep]:
    return steps_of(flight, [Exposure(channel, np.datetime64(start, "ns"), np.datetime64(end, "ns"))])


def test_optodes_moved_into_another_tank_have_time_constants_of_15_to_60_s(tmp_path: Path) -> None:
    flight = opened("test_dunk.csv.gz", tmp_path)
    for name in ("rbr210619", "rbr210624", "aa3412", "aa3827", "aa3413", "aa3312"):
        (step,) = step_of(flight, name, "2023-02-09T18:33:45", "2023-02-09T18:44:40")
        assert 15 < step.t90_s / np.log(10) < 60, step
        assert step.is_rise


def test_infrared_co2_in_span_gas_rises_and_falls_and_a_filling_chamber_is_no_step(tmp_path: Path) -> None:
    flight = opened("ambient10082023.txt.gz", tmp_path)
    rise, fall = step_of(flight, "co2", "2023-10-08T19:38:20", "2023-10-08T19:44:30")
    assert (rise.is_rise, fall.is_rise) == (True, False)
    assert 10 < fall.t90_s < rise.t90_s < 25
    assert all("not a step" in s.reason for s in step_of(flight, "co", "2023-10-08T19:20:55", "2023-10-08T19:28:00"))


def test_a_membrane_sensor_has_half_an_hour_and_an_early_end_is_refused_with_its_slope() -> None:
    record: RealRecord = next(r for r in RECORDS if r.file == "Rtdetermination.csv")
    rows = [line.strip().strip('"').split("\t") for line in record.source.read_text().splitlines()]
    time = np.array([86400 * float(row[0]) for row in rows[1:]])
    corrected = np.array([float(row[rows[0].index("CH4 ppm (Contros)-evap")]) for row in rows[1:]])
    (step,) = exposure_steps("ch4", time, corrected, 5600.0)
    assert step.t90_s / np.log(10) / 60 == pytest.approx(28.0, abs=3.0)  # as in docs/ambient.md
    (short,) = exposure_steps("ch4", time, corrected, 1200.0)
    assert short.reason.startswith("its plateau is not reached: it still rises by ")
