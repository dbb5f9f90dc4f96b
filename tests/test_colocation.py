"""`pc2dae.calibrate` on files: the truth comes back, and bad input is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pc2dae
from colocations import CROSS, GAIN, make_pairs
from pc2dae.calibration.curve import Calibration
from pc2dae.colocation import colocate
from pc2dae.errors import Pc2daeError
from pc2dae.flight.store import write_flight

SUITE = """
name = "box"
rate_hz = 0.016666666666666666
[environment]
air_temperature = "t"
relative_humidity = "rh"
[[family]]
name = "gas"
[[family.channel]]
name = "o3"
units = "nA"
lower_bound = -1000.0
[[family.channel]]
name = "no2"
units = "nA"
lower_bound = -1000.0
"""
PAIR = {"o3": "ozone:ppb", "no2": "no2 ref:ppb"}


def tables(count: int = 2000) -> tuple[pd.DataFrame, pd.DataFrame]:
    pairs = make_pairs(count=count, step_s=60.0, noise=0.5)
    stamps = [f"{t}Z" for t in np.datetime_as_string(pairs.time, unit="s")]
    environment = {"t": pairs.terms["temperature"], "rh": pairs.terms["humidity"]}
    record = pd.DataFrame({"time": stamps} | pairs.readings | environment)
    return record, pd.DataFrame({"time": stamps, "ozone": pairs.air["o3"], "no2 ref": pairs.air["no2"]})


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[pd.DataFrame, pd.DataFrame]:
    monkeypatch.chdir(tmp_path)
    record, reference = tables()
    record.to_csv("box.csv", index=False)
    reference.to_csv("ref.csv", index=False)
    Path("box.toml").write_text(SUITE)
    return record, reference


def calibrate(**keys: Any) -> Calibration:
    return pc2dae.calibrate("box.csv", **({"reference": "ref.csv", "pairs": PAIR, "suite": "box.toml"} | keys))


def refusal(**keys: Any) -> str:
    with pytest.raises(Pc2daeError) as error:
        calibrate(**keys)
    text = str(error.value)
    assert "\n" not in text
    assert ";" in text, "says what to do"
    return text


def test_two_files_give_a_calibration(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = calibrate()
    assert found.channels["o3"].terms["gain"] == pytest.approx(GAIN["o3"], rel=0.05)
    assert found.channels["o3"].terms["cross:no2"] == pytest.approx(CROSS, rel=0.1)
    assert set(found.data) == {"box.csv", "ref.csv"}


def test_one_file_may_hold_both(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    record, reference = box
    record.assign(ozone=reference["ozone"], **{"no2 ref": reference["no2 ref"]}).to_csv("box.csv", index=False)
    found = calibrate(reference="box.csv")
    assert found.channels["o3"].terms["gain"] == pytest.approx(GAIN["o3"], rel=0.05)


def test_clocks_seven_minutes_apart(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, reference = box
    moved = pd.to_datetime(reference["time"]) - pd.Timedelta(minutes=7)
    reference.assign(time=moved.dt.strftime("%Y-%m-%dT%H:%M:%SZ")).to_csv("ref.csv", index=False)
    found = colocate("box.csv", "ref.csv", PAIR, suite="box.toml")
    assert found.pairs.offset_s == 420
    assert found.calibration.channels["o3"].terms["gain"] == pytest.approx(GAIN["o3"], rel=0.05)


def test_a_period_is_fitted_and_the_rest_scored(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = colocate("box.csv", "ref.csv", PAIR, suite="box.toml", start="2025-06-01T01:00Z", test_from="2025-06-02")
    assert found.calibration.label.startswith("co-location 2025-06-01T01:00Z/2025-06-01T23:58Z")
    assert found.scored.time[0] >= np.datetime64("2025-06-02")
    assert found.calibration.scores[0]["r2"] > 0.9
    assert "the record has no data from 2026-01-01 to its end; it covers 2025-06-01T00:00Z" in refusal(
        start="2026-01-01"
    )
    assert "'2025-06-01T12:00' has no time zone" in refusal(start="2025-06-01T12:00")


def test_gaps_and_text_in_the_reference_are_left_out(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, reference = box
    holed = reference.astype({"ozone": object})
    holed.loc[300:700, "ozone"] = ""
    holed.drop(index=range(1000, 1200)).to_csv("ref.csv", index=False)
    assert calibrate().channels["o3"].terms["gain"] == pytest.approx(GAIN["o3"], rel=0.08)


def test_a_reference_that_is_no_reference(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, reference = box
    years = pd.to_datetime(reference["time"]) + pd.Timedelta(days=400)
    reference.assign(time=years.dt.strftime("%Y-%m-%dT%H:%M:%SZ")).to_csv("ref.csv", index=False)
    assert "do not overlap; check dates and time zones" in refusal()
    reference.assign(ozone=40.0).to_csv("ref.csv", index=False)
    assert "'ozone' is constant, 40 ppb; for gas of one known concentration use --intervals" in refusal()
    reference.assign(ozone=np.random.default_rng(9).normal(40, 9, len(reference))).to_csv("ref.csv", index=False)
    assert "o3 does not follow 'ozone'" in refusal(pairs={"o3": PAIR["o3"]})
    reference.iloc[:15].to_csv("ref.csv", index=False)
    assert "at least 20 are needed" in refusal()


def test_another_unit_is_noticed_where_the_reading_has_one(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    Path("box.toml").write_text(SUITE.replace('"nA"', '"ppb"'))
    _, reference = box
    reference.assign(ozone=reference["ozone"] / 1000).to_csv("ref.csv", index=False)
    said = refusal(pairs={"o3": PAIR["o3"]})
    assert "times what 'ozone' measures in ppb; check the columns and units of --pair" in said
    assert calibrate(pairs={"o3": "ozone:ppm"}).channels["o3"].units == "ppb"
    reference.rename(columns={"ozone": "ozone [ppb]"}).to_csv("ref.csv", index=False)
    said = "--pair states ppm for 'ozone [ppb]', which is in ppb; write CHANNEL=ozone [ppb]:ppb"
    assert refusal(pairs={"o3": "ozone [ppb]:ppm"}) == said
    assert calibrate(pairs={"o3": "ozone [ppb]:ppb"}).channels["o3"].units == "ppb"


def test_swapped_columns_are_named(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    swapped = {"o3": PAIR["no2"], "no2": PAIR["o3"]}
    said = "o3 follows 'ozone', and no2 'no2 ref'; swap their columns in --pair"
    assert refusal(pairs=swapped) == said
    Path("box.toml").write_text(SUITE.replace('"nA"', '"ppb"'))
    assert refusal(pairs=swapped) == said
    _, reference = box
    reference.assign(ozone=100 - reference["ozone"]).to_csv("ref.csv", index=False)
    said = refusal(pairs={"o3": PAIR["o3"]})
    assert said.startswith("o3 falls where 'ozone' rises: gain -0.")


def test_names_that_do_not_exist(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    assert "the record has no channel 'ozone'" in refusal(pairs={"ozone": "ozone:ppb"})
    assert "ozon" in refusal(pairs={"o3": "ozon:ppb"})
    assert "--pair o3=ozone names no unit; write o3=ozone:ppb" in refusal(pairs={"o3": "ozone"})
    assert "no channel is paired with a column; add --pair" in refusal(pairs={})
    assert "there is nothing to calibrate against; pass a reference" in refusal(reference=None)
    assert "banana" in refusal(pairs={"o3": "ozone:banana"})


def test_span_gas_of_a_raw_signal(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    record, _ = box
    steps = np.where(np.arange(2000) < 1000, 0.0, 100.0)
    record.assign(no2=0.3 * steps - 4 + np.random.default_rng(0).normal(0, 0.2, 2000)).to_csv("box.csv", index=False)
    Path("gas.csv").write_text(
        "start,end,channel,value,uncertainty\n2025-06-01T01:00Z,2025-06-01T15:00Z,no2,0,0.1\n"
        "2025-06-01T18:00Z,2025-06-02T08:00Z,no2,100,1\n"
    )
    keys: dict[str, Any] = {"reference": None, "intervals": "gas.csv", "pairs": {"no2": ":ppb"}}
    curve = calibrate(**keys).channels["no2"]
    assert curve.terms["gain"] == pytest.approx(0.3, abs=0.005)
    assert (curve.units, curve.reading_units) == ("ppb", "nA")
    assert "gas.csv has no interval in the period; " in refusal(**keys, end="2025-06-01T02:00Z")


def test_a_reference_may_be_a_flight(box: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, reference = box
    toml = SUITE.replace('"nA"', '"ppb"').replace('name = "o3"', 'name = "ozone"').replace("-1000.0", "0.0")
    reference.rename(columns={"no2 ref": "no2"}).assign(t=20.0, rh=50.0).to_csv("ref.csv", index=False)
    Path("ref.toml").write_text(toml)
    write_flight(pc2dae.open_flight("ref.csv", suite="ref.toml"), "ref.nc")
    keys: dict[str, Any] = {"reference": "ref.nc"}
    found = calibrate(**keys, pairs={"o3": "ozone:ppb", "no2": "no2:ppb"})
    assert found.channels["o3"].terms["gain"] == pytest.approx(GAIN["o3"], rel=0.05)
    assert "the reference has no channel 'o3'" in refusal(**keys, pairs={"o3": "o3:ppb"})
    assert "--pair states ppm for 'ozone', which is in ppb" in refusal(**keys, pairs={"o3": "ozone:ppm"})
