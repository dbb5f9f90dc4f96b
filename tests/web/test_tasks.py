from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from colocations import doubling
from pc2dae.errors import CalibrationError
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight, suite_of
from pc2dae.response.payload import ChannelResponse, PayloadResponse
from pc2dae.suite import parse_suite
from pc2dae.web.intake.reading import How, calibrations, read_uploads
from pc2dae.web.tasks import _measured, _renamed
from suites import make_suite


def test_messages_hold_given_names_and_no_paths() -> None:
    home = Path("/srv/data/flights/abc")
    text = f"nothing readable in {home}/uploads (file-0000.csv: empty; {home}/uploads/file-0001.dat: no table)"
    names = {"file-0000.csv": "gas.csv", "file-0001.dat": "notes"}
    assert _renamed([text], home, names) == ["nothing readable in the upload (gas.csv: empty; notes: no table)"]


def test_nothing_of_an_estimate_remains_in_the_raw_flight() -> None:
    suite = parse_suite(
        '{"name": "s", "family": [{"name": "g", "channel": [{"name": "co", "units": "ppb"}]}]}', where=""
    )
    time = np.datetime64("2025-10-01T12:00:00", "ns") + np.arange(3) * np.timedelta64(1, "s")
    raw = new_flight(time, {"co": np.arange(3.0)}, suite, level="compensated")
    made = ("unbounded", "response", "uncertainty", "random_uncertainty", "systematic_uncertainty")
    clean = raw.assign({"co": raw["co"] + 5, "co_raw": raw["co"]} | {f"co_{kind}": raw["co"] for kind in made})
    back = _measured(clean)
    assert set(back.variables) == set(raw.variables)
    np.testing.assert_array_equal(back["co"].values, raw["co"].values)


def test_a_calibration_among_the_uploads_is_applied_and_named(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    write_flight(read_pair(), tmp_path / "uploads" / "file-0000.nc")
    made = doubling("co", "ppb")
    made.write(tmp_path / "uploads" / "file-0001.json")
    (tmp_path / "uploads" / "file-0002.json").write_text("{}")
    curves = calibrations(tmp_path)
    (tmp_path / "uploads" / "file-0002.json").unlink()
    flight, found = read_uploads(tmp_path, How(), {})
    assert [path.name for path in curves] == ["file-0001.json"]
    assert found["notes"] == ["a flight at level compensated", f"calibrated co with {made.label}"]
    np.testing.assert_allclose(flight["co"], flight["co_uncalibrated"] / 2)
    assert calibrations(tmp_path) == curves  # when the files are read again

    (tmp_path / "calibrations" / "file-0001.json").write_text('{"kind": "pc2dae-calibration", "channels"')
    with pytest.raises(CalibrationError, match=r"file-0001\.json is not JSON"):
        read_uploads(tmp_path, How(), {})


def read_pair() -> xr.Dataset:
    time = np.datetime64("2025-10-01T12:00:00", "ns") + np.arange(200) * np.timedelta64(1, "s")
    values = {"co": 200 + np.random.default_rng(0).normal(0, 5, 200)}
    return new_flight(time, values, make_suite({"gas": {"co": "ppb"}}))


def test_a_response_among_the_uploads_completes_the_suite_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    write_flight(read_pair(), tmp_path / "uploads" / "file-0000.nc")
    known = PayloadResponse(channels={"co": ChannelResponse(t90_s=8.0, t90_uncertainty_s=0.5, source="falls")})
    known.write(tmp_path / "uploads" / "file-0001.json")
    for _ in range(2):  # also when the files are read again
        flight, found = read_uploads(tmp_path, How(), {"file-0001.json": "kite.json"})
        assert "response of its channels from kite.json" in found["notes"]
        assert (suite_of(flight)["co"].t90_s, suite_of(flight)["co"].t90_source) == (8.0, "falls")
        assert flight.attrs["pc2dae_response_sha256"] == known.digest
