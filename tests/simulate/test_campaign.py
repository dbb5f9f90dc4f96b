import hashlib
from pathlib import Path

import numpy as np
import pytest

from pc2dae.logs import read_logs
from pc2dae.simulate import (
    SimulatedFlight,
    plan_campaign,
    read_flight_files,
    simulate_flight,
    true_grid,
    write_campaign,
    write_flight_files,
)


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_same_seed_same_bytes_however_many_work(tmp_path: Path) -> None:
    plans = plan_campaign(4, flights=2, minutes=3)
    for name, workers in (("one", 1), ("two", 2)):
        assert len(list(write_campaign(plans, tmp_path / name, workers=workers))) == 2
    first = digest(tmp_path / "one")
    assert first == digest(tmp_path / "two")
    assert len(first) == 2 * 12  # nine logs, two sheets, one truth


def test_another_seed_is_another_flight() -> None:
    a, b = (simulate_flight(seed, 3).truth["co_a_response"].values for seed in (1, 2))
    assert not np.allclose(a, b)


def test_files_say_what_the_instruments_saw(flown: SimulatedFlight, tmp_path: Path) -> None:
    folder = write_flight_files(flown, tmp_path)
    book = read_logs([folder])
    assert {s.key for s in book.streams} == {s.key for s in flown.streams}
    truth, read = read_flight_files(folder)
    direct = true_grid(flown.streams, flown.truth)
    assert truth.attrs["id"] == "flight_001"
    for name in (
        "bc_ir_1",
        "co_a",
        "o3_b",
        "so2_a",
        "co2_scd30",
        "co2_li830",
        "pm25_2",
        "air_pressure",
        "ground_speed",
    ):
        both = np.isfinite(direct[name].values) & np.isfinite(read[name].values)
        assert both.mean() > 0.93
        assert read[name].values[both] == pytest.approx(direct[name].values[both], rel=2e-3, abs=0.05)


def test_the_autopilots_log_is_read_by_pymavlink(flown: SimulatedFlight, tmp_path: Path) -> None:
    from pymavlink import mavutil

    folder = write_flight_files(flown, tmp_path)
    log = mavutil.mavlink_connection(str(next(folder.glob("*.bin"))))
    first = log.recv_match(type=["GPS"])
    start = flown.truth["time"].values[0].astype("datetime64[ms]").astype(int) / 1000
    assert first._timestamp == pytest.approx(start, abs=0.3)
    assert first.Lat == pytest.approx(flown.truth["latitude"].values[0], abs=1e-4)
    log.close()


def test_a_folder_is_used_again_without_leftovers(tmp_path: Path) -> None:
    for seed in (1, 2):
        folder = write_flight_files(simulate_flight(seed, 3), tmp_path)
    assert len(list(folder.glob("MA200*.csv"))) == 1
