"""Flights that could not be read are repaired: questions, answers, saved suites, splits, several flights per upload."""

from __future__ import annotations

from typing import Any

import pytest
from ground import Ground, plain_csv, wait_for

from pc2dae.web.intake.repair import answered, field_of
from pc2dae.web.schemas import Mapping, Question

HEADER = "DateTime_cdt,Latitude,Longitude,Alt_MSL_ft,Height,CO_ppm,deltaCO_mg.m3,NO2"


def kolibri(day: int = 10, rows: int = 60, header: str = HEADER) -> bytes:
    """A table with two altitudes, one of them without a unit, CO twice, NO2 without a unit and no time zone."""
    lines = []
    for n in range(rows):
        place = f"{39.08 + n / 1e4:.4f},-96.56,{1400 + n},{2 * n:.1f}"
        lines.append(f"2024-04-{day}T13:{n // 60:02}:{n % 60:02},{place},{n % 7 / 10},{n % 5},{n % 9}")
    return "\n".join([header, *lines]).encode() + b"\n"


ANSWERS = {"zone": "America/Chicago", "altitude": "Height", "unit:Height": "ft", "same:co": "CO_ppm", "unit:NO2": "ppb"}


def again(ground: Ground, flight: str, **how: Any) -> dict[str, Any]:
    answer = ground.client.post(f"/api/flights/{flight}/again", json=how)
    assert answer.status_code == 202, answer.text
    ground.wait(answer.json()["job"]["id"])
    return dict(ground.get(f"/api/flights/{flight}"))


@pytest.fixture
def asked(ground: Ground) -> dict[str, Any]:
    """A flight whose header leaves five things open."""
    return ground.drop(("kolibri.csv", kolibri()))


def test_ambiguities_are_asked_with_first_values(asked: dict[str, Any]) -> None:
    assert asked["state"] == "failed"
    assert asked["hint"] == "answer the questions below"
    by_id = {question["id"]: question for question in asked["questions"]}
    assert set(by_id) == set(ANSWERS)
    assert [c["value"] for c in by_id["zone"]["choices"]] == ["America/Chicago", "-05:00", "UTC"]  # from "cdt"
    assert by_id["zone"]["examples"][0] == "2024-04-10T13:00:00"
    assert [c["value"] for c in by_id["unit:Height"]["choices"]] == ["m", "ft", "ignore"]
    assert by_id["unit:NO2"]["examples"] == ["0", "1", "2"]
    assert [c["value"] for c in by_id["same:co"]["choices"]] == ["CO_ppm", "deltaCO_mg.m3", "both"]


def test_a_refused_answer_is_kept_beside_its_field(ground: Ground, asked: dict[str, Any]) -> None:
    wrong = ANSWERS | {"zone": "Mars/Olympus"}
    answer = ground.client.post(f"/api/flights/{asked['id']}/again", json={"answers": wrong})
    assert (answer.status_code, answer.json()["error"]) == (422, "unknown time zone 'Mars/Olympus'")
    kept = ground.get(f"/api/flights/{asked['id']}")
    assert kept["how"]["answers"] == wrong
    assert kept["field"] == "zone"
    assert len(kept["questions"]) == 5


def test_answers_make_a_suite_that_the_next_file_finds(ground: Ground, asked: dict[str, Any]) -> None:
    waiting = ground.drop(("other day.csv", kolibri(11)))
    assert len(waiting["questions"]) == 5
    read = again(ground, asked["id"], answers=ANSWERS)
    assert (read["state"], read["suite"], read["questions"]) == ("ready", "kolibri", [])
    assert [channel["name"] for channel in read["channels"]] == ["co", "no2"]
    track = ground.get(f"/api/flights/{asked['id']}/track")
    assert max(track["altitude"]) == pytest.approx(118 * 0.3048, abs=0.1)  # answered as feet
    assert read["start"] == 1712772000000  # 18:00 UTC
    wait_for(lambda: ground.get(f"/api/flights/{waiting['id']}")["state"] == "ready")  # the same columns
    third = ground.drop(("third.csv", kolibri(12)))
    assert (third["state"], third["saved_suite"]) == ("ready", "kolibri")
    undone = again(ground, third["id"], find_suite=False)
    assert (undone["state"], len(undone["questions"])) == ("failed", 5)
    assert ground.client.delete("/api/suites/kolibri").status_code == 204


def test_both_sensors_are_duplicates_and_altitude_without_use_needs_no_unit() -> None:
    mapping = Mapping.model_validate({"channels": [
        {"column": "a", "name": "co", "units": "ppm", "family": "gas"},
        {"column": "b", "name": "co_2", "units": "", "family": "gas"}]})  # fmt: skip
    questions = [
        Question.model_validate({"id": i, "kind": k, "column": c, "words": "", "choices": [
            {"value": v, "words": v} for v in choices]})
        for i, k, c, choices in [("altitude", "altitude", None, ["x", "ignore"]), ("unit:x", "unit", "x", ["m"]),
                                 ("unit:b", "unit", "b", ["ppb"]), ("same:co", "same", None, ["a", "both"])]
    ]  # fmt: skip
    both = answered(mapping, questions, {"altitude": "ignore", "same:co": "both", "unit:b": "ppb"})
    assert [(c.name, c.units, c.duplicate_of) for c in both.channels] == [("co", "ppm", None), ("co_2", "ppb", "co")]
    assert both.motion == {}


def test_offsets_metadata_and_a_mapping_in_one_wish(ground: Ground) -> None:
    failed = ground.drop(("odd.csv", kolibri(13, header=HEADER.replace("CO_ppm", "CO_ppmx"))))
    channel = {"column": "NO2", "name": "no2", "units": "furlongs", "family": "gas"}
    wish = {"suite": "odd", "mapping": {"time_column": "DateTime_cdt", "zone": "UTC", "channels": [channel]}}
    answer = ground.client.post(f"/api/flights/{failed['id']}/again", json=wish)
    assert answer.status_code == 422
    kept = ground.get(f"/api/flights/{failed['id']}")
    assert (kept["field"], kept["how"]["mapping"]["channels"][0]["units"]) == ("channel:no2", "furlongs")
    channel["units"] = "ppb"
    missed = again(ground, failed["id"], **wish, offsets={"afe": 3.0}, metadata={"project": "FASMEE"})
    assert (missed["state"], missed["field"]) == ("failed", "offsets:afe")
    assert missed["how"]["metadata"] == {"project": "FASMEE"}
    read = again(ground, failed["id"], suite="odd", offsets={"csv": 3.0}, metadata={"project": "FASMEE"})
    assert (read["state"], read["start"]) == ("ready", 1713013197000)  # 3 s earlier


def test_two_flights_in_one_file_are_split_and_the_file_kept(ground: Ground) -> None:
    text = plain_csv(60) + b"\n" + plain_csv(60).replace(b"2025-10-01", b"2025-10-04").partition(b"\n")[2]
    both = ground.drop(("two.csv", text))
    (question,) = both["questions"]
    assert (both["state"], question["kind"]) == ("failed", "split")
    at = [int(stamp) for stamp in question["choices"][0]["value"].split(",")]
    made = ground.client.post(f"/api/flights/{both['id']}/split", json={"at": at})
    assert made.status_code == 202, made.text
    for flight in made.json():
        ground.wait(flight["job"])
    read = [ground.get(f"/api/flights/{flight['id']}") for flight in made.json()]
    assert [(f["name"], f["state"], f["span_s"]) for f in read] == [
        ("two, part 1", "ready", 60.0), ("two, part 2", "ready", 60.0)]  # fmt: skip
    assert ground.get(f"/api/flights/{both['id']}")["files"] == read[0]["files"]
    assert ground.client.post(f"/api/flights/{both['id']}/split", json={"at": []}).status_code == 422


def test_a_column_line_that_is_missing_is_typed(ground: Ground) -> None:
    rows = [f"2024-03-27T09:33:{n:02}Z,{400 + n % 3},{n}" for n in range(50)]
    failed = ground.drop(("elt.daq", "\n".join(rows).encode() + b"\n"))
    assert [question["kind"] for question in failed["questions"]] == ["names"]
    short = again(ground, failed["id"], answers={"names": "time, CO2 ppm"})
    assert (short["error"], short["field"]) == ("2 names for 3 columns of elt.daq", "names")
    named = again(ground, failed["id"], answers={"names": "time, CO2 ppm, x"})
    assert named["questions"] == []  # nothing is open: one click reads it
    read = again(ground, failed["id"], mapping=named["intake"]["proposal"])
    assert (read["state"], read["channels"][0]["units"]) == ("ready", "ppm")


def test_an_answer_overrules_a_unit_that_is_not_known(ground: Ground) -> None:
    rows = [f"2024-03-27T09:33:{n:02}Z,{40 + n % 3}" for n in range(50)]
    failed = ground.drop(("no2.csv", "\n".join(["time,NO2 (pphb)", *rows]).encode() + b"\n"))
    assert [question["id"] for question in failed["questions"]] == ["unit:NO2 (pphb)"]
    read = again(ground, failed["id"], answers={"unit:NO2 (pphb)": "ppb"})
    assert (read["state"], read["channels"][0]["units"]) == ("ready", "ppb")


def test_a_campaign_is_confirmed_before_it_is_read(ground: Ground) -> None:
    other = plain_csv(60).replace(b"2025-10-01", b"2025-10-02")
    files = [("c/a.csv", plain_csv(60)), ("c/b.csv", other), ("c/notes.txt", b"windy")]
    whole = ground.drop(*files, several="ask")
    assert (whole["state"], whole["questions"][0]["kind"]) == ("failed", "flights")
    assert [(part["name"], part["rows"], part["checked"]) for part in whole["parts"]] == [
        ("a", 60, True), ("b", 60, True)]  # fmt: skip
    made = ground.client.post(f"/api/flights/{whole['id']}/split", json={"parts": [1]}).json()
    ground.wait(made[0]["job"])
    read = ground.get(f"/api/flights/{made[0]['id']}")
    assert (read["name"], read["state"], [f["name"] for f in read["files"]]) == ("b", "ready", ["b.csv"])
    as_one = again(ground, whole["id"], answers={"flights": "one"})
    assert "several flights" in as_one["error"] or as_one["state"] == "ready"
    assert ground.drop(*files)["questions"] == as_one["questions"]  # without the field nothing is asked first


def test_names_notes_and_tags(ground: Ground, dropped: dict[str, Any]) -> None:
    path = f"/api/flights/{dropped['id']}"
    answer = ground.client.patch(
        path, json={"name": "kite 2", "notes": "gusty\nfrom 12:01", "tags": ["konza", "konza"]}
    )
    assert answer.status_code == 200, answer.text
    found = ground.get(path)
    assert (found["name"], found["notes"], found["tags"]) == ("kite 2", "gusty\nfrom 12:01", ["konza"])
    assert ground.client.patch(path, json={"name": "kite"}).json()["notes"] == "gusty\nfrom 12:01"
    assert ground.client.patch(path, json={"colour": "red"}).status_code == 422


@pytest.mark.parametrize(("error", "field"), [
    ("channel 'co': 'furlongs' is not a unit", "channel:co"), ("x.csv: there is no time column 't'", "time_column"),
    ("x.csv, line 2: '3/4/2024' may be day/month or month/day", "time_format"), ("write failed", None),
])  # fmt: skip
def test_an_error_is_shown_beside_its_field(error: str, field: str | None) -> None:
    assert field_of(error) == field
