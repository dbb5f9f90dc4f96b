from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.errors import Pc2daeError
from pc2dae.suite import load_suite, parse_suite, presets
from pc2dae.web.schemas import MappedChannel, Mapping
from pc2dae.web.suites import Suites, as_toml, suite_of

MAPPING = Mapping(
    time_column="Zeit", zone="-05:00", missing=[-9999.0], environment={"air_temperature": "T"},
    channels=[MappedChannel(column="CO (ppm)", name="co", units="ppm", family="gas", t90_s=4.0),
              MappedChannel(column="BC", name="bc", units="ng m-3", family="bc", lower_bound=-1.0)],
)  # fmt: skip


@pytest.mark.parametrize("name", presets())
def test_every_preset_reads_back_from_its_toml(name: str) -> None:
    assert parse_suite(as_toml(load_suite(name)), where="x") == load_suite(name)


def test_a_mapping_becomes_the_toml_a_person_would_write(tmp_path: Path) -> None:
    suites = Suites(tmp_path)
    assert [c.name for c in suites.save("kolibri", MAPPING).channels] == ["co", "bc"]
    table = tomllib.loads((tmp_path / "kolibri.toml").read_text())
    assert table["time"] == {"column": "Zeit", "zone": "-05:00"}
    assert table["family"][0]["channel"] == [{"name": "co", "units": "ppm", "column": "CO (ppm)", "t90_s": 4.0}]
    assert table["family"][1]["channel"][0]["lower_bound"] == -1.0
    assert load_suite(suites.source("kolibri")).missing == (-9999.0,)
    assert suites.names() == [*presets(), "kolibri"]
    suites.delete("kolibri")
    assert suites.names() == presets()


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40))
def test_any_column_name_survives_the_file(column: str) -> None:
    channel = MAPPING.channels[0].model_copy(update={"column": column})
    suite = suite_of("x", MAPPING.model_copy(update={"channels": [channel], "environment": {"air_pressure": column}}))
    assert parse_suite(as_toml(suite), where="x")["co"].column == column


@pytest.mark.parametrize(("change", "said"), [
    ({"units": "furlongs"}, "furlongs"), ({"name": "1 co"}, "a name is letters"), ({"name": "latitude"}, "reserved"),
    ({"valid_min": 5.0, "valid_max": 1.0}, "not below"),
])  # fmt: skip
def test_what_no_suite_can_say_is_one_line(change: dict[str, object], said: str, tmp_path: Path) -> None:
    wrong = MAPPING.model_copy(update={"channels": [MAPPING.channels[0].model_copy(update=change)]})
    with pytest.raises(Pc2daeError, match=said):
        Suites(tmp_path).save("x", wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_shipped_suite_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(Pc2daeError, match="is a shipped suite"):
        Suites(tmp_path).save("black-kite", MAPPING)
