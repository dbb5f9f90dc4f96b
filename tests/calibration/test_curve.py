"""Calibration files: round trip, and what is refused."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pc2dae.calibration.curve import Calibration, Curve, is_calibration, read_calibration
from pc2dae.errors import CalibrationError

ABOUT: dict[str, Any] = {
    "units": "ppb",
    "reading_units": "nA",
    "terms": {"gain": 0.5, "zero": 12.0, "temperature": 0.2, "cross:no2": 0.4},
    "covariance": [[0.01, 0, 0, 0], [0, 4.0, 0.3, 0], [0, 0.3, 0.09, 0], [0, 0, 0, 0.01]],
    "centre": {"air": 30.0, "temperature": 20.0, "cross:no2": 10.0},
    "range": {"air": [0, 80], "temperature": [5, 35]},
    "residual": 2.0,
    "slow": 1.0,
    "wander": 0.5,
    "ageing": 0.8,
}


def make() -> Calibration:
    period = datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 6, 3, tzinfo=UTC)
    return Calibration(method="co-location", period=period, data={"a.csv": "0" * 64}, channels={"o3": Curve(**ABOUT)})


def test_round_trip(tmp_path: Path) -> None:
    made = make()
    made.write(tmp_path / "c.json")
    assert read_calibration(tmp_path / "c.json") == made
    assert is_calibration(tmp_path / "c.json")
    assert str(made.middle) == "2025-06-02T00:00:00.000000000"
    assert made.label.startswith("co-location 2025-06-01T00:00Z/2025-06-03T00:00Z, sha256 ")


def test_files_of_version_0_2_are_read(tmp_path: Path) -> None:
    """They have no suite, and a SHA-256 without one."""
    content = {k: v for k, v in make().model_dump(mode="json").items() if k != "suite"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (tmp_path / "c.json").write_text(json.dumps(content | {"sha256": digest}))
    assert read_calibration(tmp_path / "c.json") == make()


def test_a_changed_digit_is_noticed(tmp_path: Path) -> None:
    made = make()
    made.write(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text(text.replace("0.5", "0.6", 1))
    with pytest.raises(CalibrationError, match=r"c.json: its content does not match its SHA-256; it was damaged"):
        read_calibration(tmp_path / "c.json")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b'{"kind": "pc2dae-calibr', b"[" * 100_000])
def test_what_is_no_json_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.json").write_bytes(content)
    assert not is_calibration(tmp_path / "c.json")
    with pytest.raises(CalibrationError, match=r"c.json is not JSON") as error:
        read_calibration(tmp_path / "c.json")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("content", [{}, [], {"kind": "sheet"}, {"sensors": []}, 3])
def test_other_files_are_refused(tmp_path: Path, content: object) -> None:
    (tmp_path / "c.json").write_text(json.dumps(content))
    assert not is_calibration(tmp_path / "c.json")
    with pytest.raises(CalibrationError, match=r"c.json is not a calibration; pass a file that `pc2dae"):
        read_calibration(tmp_path / "c.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"none.json cannot be opened \(No such file"):
        read_calibration(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"terms": {"zero": 1.0}}, "terms must begin with a gain"),
        ({"terms": ABOUT["terms"] | {"gain": 0.0}}, "which is not 0"),
        ({"covariance": [[1.0]]}, "covariance is not 4 x 4"),
        ({"terms": {"gain": 1.0, "zero": 1.0, "moon": 1.0}, "covariance": [[1.0] * 3] * 3}, "unknown term 'moon'"),
        ({"centre": {"air": 1.0}}, "no centre of 'temperature'"),
        ({"range": {"air": (0, 1)}}, "no range of 'temperature'"),
    ],
)
def test_an_incomplete_curve_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Curve(**(ABOUT | change))


def test_the_baseline_is_less_known_away_from_its_middle() -> None:
    curve = Curve(**ABOUT)
    assert curve.baseline_sigma({"temperature": 20.0}) == pytest.approx(2.0)
    # 10 K away: variance 4 + 2 · 10 · 0.3 + 100 · 0.09 = 19.
    assert curve.baseline_sigma({"temperature": 30.0}) == pytest.approx(19**0.5)
    assert curve.sigma("gain") == pytest.approx(0.1)
    assert curve.cross == {"no2": 0.4}
