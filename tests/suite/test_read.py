"""Suites from TOML: every key, and a one-line error for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.errors import SuiteError
from pc2dae.suite import Channel, Source, Suite, load_suite, parse_suite, presets
from pc2dae.suite.metadata import Metadata, checked_metadata

WHOLE = """
name = "kolibri"
rate_hz = 2.0
missing = [-9999, 65535]
altitude_reference = "ground"
[metadata]
title = "Konza burns"
summary = "CO and black carbon in smoke"
keywords = "smoke"
comment = "none"
acknowledgement = "the fire crew"
license = "CC-BY-4.0"
naming_authority = "org.example"
creator_name = "A. Author"
creator_email = "a@example.org"
creator_url = "https://example.org"
creator_type = "person"
creator_institution = "Example University"
contributor_name = "B. Author"
contributor_role = "pilot"
publisher_name = "Example archive"
publisher_email = "archive@example.org"
publisher_url = "https://archive.example.org"
institution = "Example University"
project = "FASMEE"
program = "fire"
platform = "hexacopter"
instrument = "Kolibri"
source = "in-situ sensors"
references = "doi:10.0/0"
[time]
column = "DateTime_cdt"
format = "%Y-%m-%dT%H:%M:%S"
zone = "-05:00"
[environment]
air_temperature = "T"
relative_humidity = "RH"
air_pressure = "P"
[motion]
latitude = "Latitude"
longitude = "Longitude"
altitude = "Alt"
ground_speed = "Speed"
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppm"
column = "CO_ppm"
lower_bound = 0.05
valid_min = -5.0
valid_max = 5000.0
detection_limit = 0.1
t90_s = 4.0
t90_uncertainty_s = 0.6
t90_source = "pm25 and falls"
t90_limit_s = 5.5
kernel = "two_step"
slow_t90_s = 60.0
slow_share = 0.1
delay_s = 1.5
delay_uncertainty_s = 0.3
native_rate_hz = 1.0
duplicate_of = "co_b"
pressure_exponent = 1.6
dry = true
noise_sigma = 0.2
background = 0.12
background_uncertainty = 0.03
long_name = "carbon monoxide"
standard_name = "mole_fraction_of_carbon_monoxide_in_air"
[[family.channel]]
name = "co_b"
units = "ppm"
[[family]]
name = "bc"
[[family.channel]]
name = "uv"
units = "ng/m³"
wavelength_nm = 375
reference_temperature_c = 25.0
reference_pressure_hpa = 1013.25
[[family.channel]]
name = "ir"
units = "ng m-3"
wavelength_nm = 880
reference_temperature_c = 25.0
reference_pressure_hpa = 1013.25
[[family.channel]]
name = "brown"
units = "ng m-3"
difference_of = ["uv", "ir"]
reference_temperature_c = 25.0
reference_pressure_hpa = 1013.25
[sources]
co = "afe/a.co"
air_temperature = "bme280.temperature"
"""
SMALL = """
name = "kolibri"
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppm"
"""


def test_every_key_arrives() -> None:
    suite = parse_suite(WHOLE, where="kolibri.toml")
    assert (suite.name, suite.rate_hz, suite.missing) == ("kolibri", 2.0, (-9999, 65535))
    given = {"column": "DateTime_cdt", "format": "%Y-%m-%dT%H:%M:%S", "zone": "-05:00"}
    assert suite.time.model_dump() == given | {"date": None}
    assert suite.environment == {"air_temperature": "T", "relative_humidity": "RH", "air_pressure": "P"}
    assert suite.motion == {
        "latitude": "Latitude",
        "longitude": "Longitude",
        "altitude": "Alt",
        "ground_speed": "Speed",
    }
    assert suite.altitude_above == "ground"
    assert suite.names == ("co", "co_b", "uv", "ir", "brown")
    assert suite["co"].model_dump(exclude_none=True) == {
        "name": "co", "units": "ppm", "column": "CO_ppm", "lower_bound": 0.05, "valid_min": -5.0, "valid_max": 5000.0,
        "detection_limit": 0.1, "t90_s": 4.0, "t90_uncertainty_s": 0.6, "kernel": "two_step", "slow_t90_s": 60.0,
        "t90_source": "pm25 and falls", "t90_limit_s": 5.5, "slow_share": 0.1, "delay_s": 1.5,
        "delay_uncertainty_s": 0.3, "native_rate_hz": 1.0, "duplicate_of": "co_b", "pressure_exponent": 1.6,
        "dry": True, "noise_sigma": 0.2, "background": 0.12, "background_uncertainty": 0.03,
        "long_name": "carbon monoxide", "standard_name": "mole_fraction_of_carbon_monoxide_in_air",
    }  # fmt: skip
    assert suite["uv"].units == "ng m-3"
    assert (suite["uv"].reference_temperature_c, suite["uv"].reference_pressure_hpa) == (25.0, 1013.25)
    assert suite["brown"].difference_of == ("uv", "ir")
    assert suite.family_of("ir") == "bc"
    assert suite.duplicates() == (("co", "co_b"),)
    assert suite.sources == {"co": Source("afe", "a", "co"), "air_temperature": Source("bme280", "", "temperature")}


def test_the_defaults_are_the_documented_ones() -> None:
    suite = parse_suite(SMALL, where="kolibri.toml")
    assert (suite.rate_hz, suite.missing, suite.time.column, suite.time.zone) == (1.0, (), "time", None)
    assert suite["co"].lower_bound == 0.0
    assert suite["co"].valid_min is None


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("units =", "unit =", "unknown key 'family[1].channel[1].unit'; did you mean 'units'?"),
        ("[[family]]", "rate = 1\n[[family]]", "unknown key 'rate'; did you mean 'rate_hz'?"),
        ("[[family]]", "[time]\nzne = 'UTC'\n[[family]]", "unknown key 'time.zne'; did you mean 'zone'?"),
        (
            "[[family]]",
            "[environment]\nair_temprature = 'T'\n[[family]]",
            "unknown key 'environment.air_temprature'; did you mean 'air_temperature'?",
        ),
        ("[[family]]", "[motion]\nlat = 'T'\n[[family]]", "unknown key 'motion.lat'; did you mean 'latitude'?"),
        (
            "[[family]]",
            'compensation = "equation1"\n[[family]]',
            "key 'compensation': unknown value 'equation1'; did you mean 'equation-1'?",
        ),
        ('"ppm"', '"pbm"', "channel 'co': 'pbm' is not a unit; did you mean 'ppm'?"),
        ('"ppm"', '"PPB"', "channel 'co': 'PPB' is not a unit; did you mean 'ppb'?"),
        ('name = "kolibri"', "", "key 'name' is missing; see docs/suite.md for an example"),
        ('units = "ppm"', "", "key 'family[1].channel[1].units' is missing; see docs/suite.md for an example"),
        (
            'name = "co"',
            'name = "c o"',
            "key 'family[1].channel[1].name': a name is letters, digits and underscores, and starts with a letter, "
            "not 'c o'",
        ),
        (
            'name = "co"',
            'name = "latitude"',
            "channel name 'latitude' is reserved for time, rows, environment and motion; rename the channel;"
            " `column` may stay as it is",
        ),
        ("[[family]]", "rate_hz = 0\n[[family]]", "key 'rate_hz': input should be greater than 0, not 0"),
        ("[[family]]", "missing = -9999\n[[family]]", "key 'missing': must be a list, not -9999"),
    ],
)
def test_a_mistake_is_one_line(old: str, new: str, line: str) -> None:
    with pytest.raises(SuiteError) as caught:
        parse_suite(SMALL.replace(old, new, 1), where="kolibri.toml")
    assert str(caught.value) == f"kolibri.toml: {line}"


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("colum = 'x'", "unknown key 'family[1].channel[1].colum'; did you mean 'column'?"),
        ("t90_s = 'four'", "key 'family[1].channel[1].t90_s': must be a number, not 'four'"),
        ("t90_s = -4", "key 'family[1].channel[1].t90_s': input should be greater than or equal to 0, not -4"),
        ("t90_s = inf", "key 'family[1].channel[1].t90_s': input should be a finite number, not inf"),
        ("t90_s = 72000", "key 'family[1].channel[1].t90_s': input should be less than or equal to 36000, not 72000"),
        ("t90_s = 4\nt90_uncertainty_s = -1", "t90_uncertainty_s': input should be greater than or equal to 0, not -1"),
        ("t90_uncertainty_s = 1", "channel 'co': t90_uncertainty_s without t90_s; add t90_s"),
        ("delay_s = 601", "key 'family[1].channel[1].delay_s': input should be less than or equal to 600, not 601"),
        ("kernel = 'gauss'", "key 'family[1].channel[1].kernel': unknown value 'gauss'; did you mean 'gaussian'?"),
        ("t90_s = 4\nkernel = 'two_step'", "channel 'co': kernel two_step needs slow_t90_s and slow_share"),
        ("kernel = 'two_step'\nslow_t90_s = 60\nslow_share = 0.1", "channel 'co': kernel two_step needs t90_s"),
        ("slow_share = 0.6", "slow_share': input should be less than or equal to 0.5, not 0.6"),
        (
            "slow_share = 0.1",
            "channel 'co': slow_share has no effect on kernel first_order; write kernel = \"two_step\"",
        ),
        (
            "t90_s = 60\nkernel = 'two_step'\nslow_t90_s = 20\nslow_share = 0.1",
            "channel 'co': slow_t90_s 20 is not above t90_s 60",
        ),
        (
            "standard_name = 'mass_concentration_of_carbon_monoxide_in_air'",
            "channel 'co': standard_name mass_concentration_of_carbon_monoxide_in_air contradicts units ppm;"
            " write mole_fraction_of_carbon_monoxide_in_air, or units such as ug m-3",
        ),
        (
            "dry = true\nstandard_name = 'mole_fraction_of_carbon_monoxide_in_dry_air'",
            "channel 'co': dry = true converts readings in moist air, but mole_fraction_of_carbon_monoxide_in_dry_air"
            " is dry; remove dry if the readings are dry already, otherwise write …_in_air",
        ),
        (
            "duplicate_of = 'b'\n[[family.channel]]\nname = 'b'\nunits = 'ug m-3'\nreference_temperature_c = 25\n"
            "reference_pressure_hpa = 1013.25",
            "channels 'co' and 'b' refer to different conditions, but duplicate_of compares them; give both the same",
        ),
        ("reference_temperature_c = 25", "channel 'co': reference_pressure_hpa is missing; state both, or none"),
        ("valid_min = 5\nvalid_max = 5", "channel 'co': valid_min 5 is not below valid_max 5"),
        ("duplicate_of = 'co'", "channel 'co': duplicate_of names 'co', which is not another channel; none is known"),
        ("[[family.channel]]\nname = 'co'\nunits = 'ppb'", "channel name 'co' is used 2 times; give each its own name"),
        (
            "[[family.channel]]\nname = 'b'\nunits = 'ppb'\ncolumn = 'co'",
            "column 'co' is claimed by 2 channels; give each channel its own column",
        ),
        (
            "[[family.channel]]\nname = 'co_b'\nunits = 'ppb'\nduplicate_of = 'co_a'",
            "channel 'co_b': duplicate_of names 'co_a', which is not another channel; did you mean 'co'?",
        ),
        (
            "[[family]]\nname = 'gas'\n[[family.channel]]\nname = 'no'\nunits = 'ppb'",
            "family name 'gas' is used 2 times; give each its own name",
        ),
        ("[sources]\nc0 = 'afe/a.co'", "sources names 'c0', which is not a channel; did you mean 'co'?"),
        (
            "[sources]\nco = 'afe'",
            "sources.co: invalid source 'afe'; write instrument.column or instrument/unit.column, as in 'afe/a.co'",
        ),
        ("units = 'ppb'", "is not TOML: Cannot overwrite a value"),
    ],
)
def test_a_mistake_further_down_is_one_line_too(more: str, line: str) -> None:
    with pytest.raises(SuiteError) as caught:
        parse_suite(f"{SMALL}{more}", where="kolibri.toml")
    assert line in str(caught.value)
    assert str(caught.value).startswith("kolibri.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("co_raw", "a channel's values before denoising"),
        ("co_unbounded", "a channel's estimate without its lower bound"),
        ("co_uncertainty", "a channel's uncertainty"),
        ("co_random_uncertainty", "a channel's random uncertainty"),
        ("co_systematic_uncertainty", "a channel's systematic uncertainty"),
        ("co_response", "a channel's noise-free reading"),
        ("co_instant", "a channel's true value at an instant"),
        ("co_uncalibrated", "a channel's values before calibration"),
        ("ma200_samples", "the number of an instrument's rows"),
        ("qc_co", "a channel's flags"),
        *((name, "time, rows, environment and motion") for name in ("time", "row", "row_time", "row_index")),
        *((name, "time, rows, environment and motion") for name in ("row_stamp", "air_pressure", "ground_speed")),
    ],
)
def test_no_channel_takes_the_name_of_another_variable(name: str, use: str) -> None:
    with pytest.raises(SuiteError) as caught:
        parse_suite(SMALL.replace('"co"', f'"{name}"'), where="kolibri.toml")
    assert str(caught.value) == (
        f"kolibri.toml: channel name '{name}' is reserved for {use}; rename the channel; `column` may stay as it is"
    )


def test_a_12_hour_format_needs_am_and_pm() -> None:
    with pytest.raises(SuiteError, match=r"'%I:%M' reads a 12-hour clock without AM and PM.*; write %H"):
        parse_suite(f'{SMALL}[time]\nformat = "%I:%M"', where="kolibri.toml")
    assert parse_suite(f'{SMALL}[time]\nformat = "%I:%M %p"', where="kolibri.toml").time.format == "%I:%M %p"


@pytest.mark.parametrize(
    ("column", "above"),
    [
        ("Alt", "sea level"),
        ("GPS_altitude_ft", "sea level"),
        ("height_msl", "sea level"),
        ("alt_agl", "ground"),
        ("relative_alt", "ground"),
        ("Height above ground (m)", "ground"),
        ("height_above_takeoff(feet)", "ground"),
        ("alt_ellipsoid", "ellipsoid"),
    ],
)
def test_what_an_altitude_is_above_by_the_name_of_its_column(column: str, above: str) -> None:
    motion = f'[motion]\naltitude = "{column}"\n'
    assert parse_suite(SMALL + motion, where="kolibri.toml").altitude_above == above
    stated = f'altitude_reference = "ellipsoid"\n{SMALL}{motion}'
    assert parse_suite(stated, where="kolibri.toml").altitude_above == "ellipsoid"


def test_the_paper_payload_ships() -> None:
    """Channels and families as the paper lists them, before any is excluded."""
    suite = load_suite("black-kite")
    assert "black-kite" in presets()
    assert {family.name: len(family.channel) for family in suite.family} == {
        "bc": 4,
        "gas": 9,
        "co2": 2,
        "pm": 6,
        "brc": 2,
    }
    assert " ".join(suite.only(["bc", "gas", "co2"]).names) == (
        "bc_uv_1 bc_uv_2 bc_ir_1 bc_ir_2 no_a no_b no2_a no2_b o3_a o3_b so2_a co_a co_b co2_scd30 co2_li830"
    )
    assert suite["co2_scd30"].native_rate_hz == 0.5
    assert suite["co2_li830"].lower_bound == 300.0


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("black-kit", "unknown suite 'black-kit'; name a .toml file or a preset (black-kite)"),
        (".", ". is a folder, not a suite; name a .toml file"),
    ],
)
def test_a_suite_that_is_not_there(name: str, line: str) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite(name)
    assert str(caught.value) == line


def test_a_file_is_read_with_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(SMALL, encoding="utf-8-sig")
    assert load_suite(tmp_path / "k.toml").names == ("co",)


def test_a_file_that_is_no_text_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_bytes(b"\xff\xfe\x00name")
    with pytest.raises(SuiteError, match=r"cannot be read as a suite.*a suite is a TOML file in UTF-8"):
        load_suite(tmp_path / "k.toml")


names = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True).filter(lambda n: n not in {"time", "altitude"})
numbers = st.none() | st.floats(0.1, 1e6)


@st.composite
def suites(draw: st.DrawFn) -> Suite:
    """Any suite of one to three families."""
    units = st.sampled_from(["ppb", "µg/m³", "Mm-1", "1"])
    channels = [
        {
            "name": name,
            "units": draw(units),
            "lower_bound": draw(st.floats(-10, 400)),
            "t90_s": draw(st.none() | st.floats(0, 36000)),
            "noise_sigma": draw(numbers),
        }
        for name in draw(st.lists(names, min_size=3, max_size=9, unique=True))
    ]
    count = draw(st.integers(1, 3))
    return Suite.model_validate(
        {
            "name": draw(st.text(min_size=1)),
            "family": [{"name": f"f{i}", "channel": channels[i::count]} for i in range(count)],
        }
    )


@given(suites())
def test_the_json_kept_in_a_flight_gives_the_suite_back(suite: Suite) -> None:
    assert parse_suite(suite.model_dump_json(exclude_defaults=True), where="flight") == suite


@given(suites(), st.data())
def test_a_suite_reduced_to_some_families_is_a_suite(suite: Suite, data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from([f.name for f in suite.family]), min_size=1, unique=True))
    reduced = suite.only(kept)
    assert parse_suite(reduced.model_dump_json(), where="flight") == reduced
    assert set(reduced.names) == {n for n in suite.names if suite.family_of(n) in kept}


@given(st.text())
def test_any_text_is_a_suite_or_one_line(text: str) -> None:
    try:
        parse_suite(text, where="x.toml")
    except SuiteError as error:
        assert str(error).startswith("x.toml")  # noqa: PT017


@given(
    st.dictionaries(
        st.sampled_from([*Suite.model_fields, "nonsense"]), st.integers() | st.text() | st.lists(st.booleans())
    )
)
def test_any_table_is_a_suite_or_one_line(table: dict[str, object]) -> None:
    try:
        parse_suite(json.dumps(table), where="x.json")
    except SuiteError as error:
        assert str(error).startswith("x.json")  # noqa: PT017


def test_a_missing_channel_names_the_nearest() -> None:
    with pytest.raises(SuiteError, match="suite 'black-kite' has no channel 'co_c'; did you mean 'co_b'"):
        load_suite("black-kite")["co_c"]
    with pytest.raises(SuiteError, match="suite 'black-kite' has no family 'gases'; did you mean 'gas'"):
        load_suite("black-kite").only(["gases"])


def test_metadata_that_is_unknown_or_empty_is_refused_with_all_keys() -> None:
    with pytest.raises(SuiteError, match=r"unknown key 'metadata.intitution'; known: institution, .*, project"):
        parse_suite(SMALL + '[metadata]\nintitution = "x"\n', where="x.toml")
    with pytest.raises(SuiteError, match=r"unknown metadata 'projekt'; known: project, "):
        checked_metadata({"projekt": "FASMEE"})
    with pytest.raises(SuiteError, match="metadata 'project' is empty"):
        checked_metadata({"project": " "})


def test_every_key_is_documented() -> None:
    """Every key is documented in docs/suite.md."""
    text = (Path(__file__).parents[2] / "docs" / "suite.md").read_text(encoding="utf-8")
    for key in {*Suite.model_fields, *Channel.model_fields, *Metadata.model_fields, "column", "format", "zone", "date"}:
        assert f"`{key}`" in text, key


@pytest.mark.parametrize(
    ("text", "source", "variable"),
    [
        ("afe/a.co", Source("afe", "a", "co"), "afe_a_co"),
        ("bme280.temperature", Source("bme280", "", "temperature"), "bme280_temperature"),
        ("csv.a.b", Source("csv", "", "a.b"), "csv_a.b"),
    ],
)
def test_a_source_is_written_as_it_was_read(text: str, source: Source, variable: str) -> None:
    assert (Source.parse(text), str(source), source.variable()) == (source, text, variable)
    suite = parse_suite(SMALL + f'[sources]\nco = "{text}"\n', where="s.toml")
    assert json.loads(suite.model_dump_json(exclude_defaults=True))["sources"] == {"co": text}
    assert parse_suite(suite.model_dump_json(exclude_defaults=True), where="json") == suite


@pytest.mark.parametrize("value", ["5", "{instrument = 'afe'}", "'.co'", "'/a.co'"])
def test_what_is_no_source_is_one_line(value: str) -> None:
    with pytest.raises(SuiteError, match=r"sources.co: invalid source .*; write instrument.column"):
        parse_suite(SMALL + f"[sources]\nco = {value}\n", where="s.toml")
