"""A mapping proposed for a table from its header, and questions where the header leaves something open.

Units, altitudes and species are recognised by the same functions as in the readers; whether the time stamps are
complete is tried with the reader of plain tables itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pc2dae.errors import Pc2daeError
from pc2dae.flight.stream import Stream
from pc2dae.logs import csv
from pc2dae.logs.header_units import unit_in
from pc2dae.logs.stamps import NeedsChoice
from pc2dae.logs.zone_abbreviations import ABBREVIATIONS
from pc2dae.suite.species import SPECIES
from pc2dae.suite.units import is_mole_fraction, is_per_volume
from pc2dae.web.intake.repair import BOTH, IGNORE
from pc2dae.web.intake.tables import GAPS, TableHead
from pc2dae.web.schemas import Choice, MappedChannel, Mapping, Question
from pc2dae.web.suites import suite_of

_FULL = re.compile(r"\d{4}[-/.]?\d\d?[-/.]?\d\d?[T ]\d|\d\d?[-/.]\d\d?[-/.]\d{2,4},? \d|\d{10,13}(\.\d+)?$")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}$")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_COMPACT = re.compile(r"\d{8} \d\d:\d\d:\d\d$")
_ZONED = re.compile(r"(Z|[+-]\d\d:?\d\d)$|^\d{10,13}(\.\d+)?$")
_NUMBER = re.compile(r"[-+]?\d*[.,]?\d+([eE][-+]?\d+)?$")
_ENVIRONMENT = {
    "air_temperature": r"(air_?)?t(emp(erature)?)?$",
    "relative_humidity": r"(relative_?)?(rh|hum(id(ity)?)?)$",
    "air_pressure": r"(air_?|baro(metric)?_?)?p(ress(ure)?)?$",
}
_MOTION = {"latitude": r"(gps_?)?lat(itude)?$", "longitude": r"(gps_?)?(lon|lng|long|longitude)$",
           "ground_speed": r"(gps_?|ground_?)speed"}  # fmt: skip
_ALTITUDE = re.compile(r"(^|[^a-z])alt|altitude|height|(^|[^a-z])(agl|msl)($|[^a-z])|elevation", re.IGNORECASE)
_OTHER = {"temp", "flag", "status", "we", "ae", "err", "error", "std", "sigma", "bin", "phase", "t", "rh", "flow",
          "humid", "setpoint", "absorption"}  # in the name of a column that is no concentration  # fmt: skip
_UNITS = {"gas": ("ppb", "ppm", "ug m-3", "mg m-3", "mV", "nA"), "co2": ("ppm", "ppb", "mg m-3", "mV"),
          "bc": ("ng m-3", "ug m-3"), "pm": ("ug m-3", "mg m-3")}  # fmt: skip


def propose(table: TableHead) -> tuple[Mapping, list[Question]] | None:
    """A mapping of a table's columns and what is to be asked; None if no time stamp or no known gas is found."""
    time = _time_columns(table)
    channels = _channels(table, set(time))
    if not time or not channels:
        return None
    says_utc = re.search(r"utc|gmt", time[0], re.IGNORECASE) is not None
    proposed = {
        "time_column": " + ".join(time),
        "zone": "UTC" if says_utc and not _ZONED.search(_first(table, time[0])) else None,
        "time_format": "%Y%m%d %H:%M:%S" if _COMPACT.match(_first(table, time[0])) else None,
        "channels": channels,
        "environment": _single(table, _ENVIRONMENT),
        "motion": _single(table, _MOTION),
    }
    mapping = Mapping.model_validate(proposed)
    questions = [*_altitudes(table, mapping), *_same_gas(table, channels), *_units(table, channels)]
    return mapping, [*_stamp_questions(table, mapping), *questions]


def read_with(table: TableHead, mapping: Mapping, *, zone: str | None = None) -> list[Stream]:
    """The table read by a mapping whose open units do not matter."""
    known = [c if c.units else c.model_copy(update={"units": "1"}) for c in mapping.channels]
    suite = suite_of("proposal", mapping.model_copy(update={"channels": known}))
    return csv.read(table.file, table.head, zone=zone, suite=suite)


def read_any(table: TableHead) -> list[Stream]:
    """Any column of a table over its time, local time taken as UTC: to see from when to when it lasts."""
    time = _time_columns(table)
    numeric = [name for name in table.columns if name not in time and _is_numeric(table.values(name))]
    if not time or not numeric:
        return []
    channel = MappedChannel(column=numeric[0], name="x", units="1", family="x")
    form = "%Y%m%d %H:%M:%S" if _COMPACT.match(_first(table, time[0])) else None
    mapping = Mapping(time_column=" + ".join(time), time_format=form, channels=[channel])
    order = next((q.choices[0].value for q in _stamp_questions(table, mapping) if q.kind == "time"), form)
    return read_with(table, mapping.model_copy(update={"time_format": order}), zone="UTC")


def zone_question(text: str) -> Question:
    """Which zone the stamps are in; `text` is a name that may contain an abbreviation such as CDT."""
    words = re.split(r"[^A-Za-z]+", text)
    known = [pair for word in words for pair in ABBREVIATIONS.get(word.upper(), ()) if len(word) > 2]
    choices = [Choice(value=place, words=f"{place} ({offset})") for offset, place in known]
    choices += [Choice(value=offset, words=f"{offset} all year") for offset, _ in known]
    return Question(id="zone", kind="zone", words="Which time zone are the time stamps in?",
                    choices=[*choices, Choice(value="UTC", words="UTC")])  # fmt: skip


def _stamp_questions(table: TableHead, mapping: Mapping) -> list[Question]:
    """What the reader of plain tables does not know about the stamps."""
    asked: list[Question] = []
    examples = [" ".join(parts) for parts in zip(*map(table.values, _parts(table, mapping)), strict=False)]
    for _ in range(2):
        try:
            read_with(table, mapping)
        except NeedsChoice as error:
            if "no time zone" in str(error):
                question = zone_question(mapping.time_column)
                mapping = mapping.model_copy(update={"zone": "UTC"})
            elif "day/month" in str(error):
                clock = re.sub(r"%[dm]/%[dm]/%Y ", "", re.findall(r'"(.+)"', error.hint or "")[0])
                question = Question(id="time", kind="time", words="How are the dates written?", choices=[
                    Choice(value=f"%d/%m/%Y {clock}", words="day first"),
                    Choice(value=f"%m/%d/%Y {clock}", words="month first")])  # fmt: skip
                mapping = mapping.model_copy(update={"time_format": f"%d/%m/%Y {clock}"})
            else:
                return asked
            asked.append(question.model_copy(update={"column": mapping.time_column, "examples": examples}))
        except Pc2daeError:
            return asked
        else:
            return asked
    return asked


def _parts(table: TableHead, mapping: Mapping) -> list[str]:
    name = mapping.time_column
    return [name] if name in table.header else name.split(" + ")


def _time_columns(table: TableHead) -> list[str]:
    """The column of the time stamps, or those of date and time; zoned stamps first, then those named UTC."""

    def rank(name: str) -> tuple[bool, bool]:
        return _ZONED.search(_first(table, name)) is None, re.search(r"utc|gmt", name, re.IGNORECASE) is None

    full = [name for name in table.columns if _FULL.match(_first(table, name))]
    if full:
        return [min(full, key=rank)]
    dates = [name for name in table.columns if _DATE.match(_first(table, name))]
    clocks = [name for name in table.columns if _CLOCK.match(_first(table, name))]
    return [min(dates, key=rank), min(clocks, key=rank)] if dates and clocks else []


def _channels(table: TableHead, time: set[str]) -> list[MappedChannel]:
    """The columns that hold the concentration of a known species; `units` is empty where the name has none."""
    found: list[MappedChannel] = []
    for column in table.columns:
        species = _species(column) if column not in time and _is_numeric(table.values(column)) else None
        if species is None:
            continue
        count = sum(re.fullmatch(rf"{species}(_\d+)?", c.name) is not None for c in found)
        family = species if species in ("co2", "bc") else "pm" if species.startswith("pm") else "gas"
        found.append(MappedChannel(column=column, name=species if not count else f"{species}_{count + 1}",
                                   units=_stated_unit(column), family=family))  # fmt: skip
    return found


def _stated_unit(column: str) -> str:
    """The unit in a column's name; empty where there is none, or none that a channel can have."""
    said = unit_in(column, "ppb") or ""
    return said if said in _UNITS["gas"] or is_mole_fraction(said) or is_per_volume(said) else ""


def _species(column: str) -> str | None:
    """The species in a column's name; None for a temperature, a flag or an electrode."""
    plain = column.replace("₂", "2").replace("₃", "3").replace("₄", "4")
    plain = re.sub(r"pm[ _]?2[p._]?5", "pm25", plain, flags=re.IGNORECASE)
    plain = re.sub(r"pm[ _]?0?1(?![0-9])", "pm1", plain, flags=re.IGNORECASE)
    plain = plain.replace("NOx", "nox").replace("NOX", "nox")
    words = [w.lower() for w in re.findall(r"[A-Z]{2,}[0-9]*|[A-Z]?[a-z]+[0-9]*|[A-Z][0-9]*|[0-9]+", plain)]
    if _OTHER & set(words):
        return None
    return next((word for word in words if word in SPECIES), None)


def _is_numeric(values: list[str]) -> bool:
    return all(value.lower() in GAPS or _NUMBER.match(value) for value in values)


def _single(table: TableHead, patterns: dict[str, str]) -> dict[str, str]:
    """The columns of environment or motion that only one name can mean."""
    found = {}
    for variable, pattern in patterns.items():
        names = [name for name in table.columns if re.match(pattern, _bare(name), re.IGNORECASE)]
        if len(names) == 1 and _is_numeric(table.values(names[0])):
            found[variable] = names[0]
    return found


def _bare(name: str) -> str:
    """A name without brackets and a unit at its end."""
    plain = re.sub(r"[(\[].*?[)\]]", "", name).strip(" _.")
    return re.sub(r"[ _.](deg_?c|c|f|k|hpa|pa|kpa|mb|mbar|percent|pct|deg|dd|decimaldeg|m_?s)$", "", plain, flags=re.I)


def _altitudes(table: TableHead, mapping: Mapping) -> Iterable[Question]:
    """Which altitude, and in which unit; a single altitude is put into the mapping."""
    found = [n for n in table.columns if _ALTITUDE.search(n) and _is_numeric(table.values(n))]
    if len(found) == 1:
        mapping.motion["altitude"] = found[0]
    elif found:
        choices = [Choice(value=name, words=f"{name}: {', '.join(table.values(name))}") for name in found]
        yield Question(id="altitude", kind="altitude", words="Which altitude is to be used?",
                       choices=[*choices, Choice(value=IGNORE, words="none of them")])  # fmt: skip
    for name in found:
        if unit_in(name, "m") is None:
            yield _unit_question(table, name, ("m", "ft"))
    speed = mapping.motion.get("ground_speed")
    if speed is not None and unit_in(speed, "m s-1") is None:
        yield _unit_question(table, speed, ("m s-1", "km h-1", "kn", "mph"))


def _same_gas(table: TableHead, channels: list[MappedChannel]) -> Iterable[Question]:
    """Whether several columns of a species are several sensors."""
    groups: dict[str, list[str]] = {}
    for channel in channels:
        groups.setdefault(channel.name.split("_")[0], []).append(channel.column)
    for species, columns in groups.items():
        if len(columns) > 1:
            each = [Choice(value=name, words=f"only {name}: {', '.join(table.values(name))}") for name in columns]
            yield Question(id=f"same:{species}", kind="same", choices=[*each, Choice(
                value=BOTH, words="all of them: several sensors in the same air")],
                words=f"{len(columns)} columns look like {species.upper()}. Which should be read?")  # fmt: skip


def _units(table: TableHead, channels: list[MappedChannel]) -> Iterable[Question]:
    for channel in channels:
        if not channel.units:
            yield _unit_question(table, channel.column, _UNITS[channel.family])


def _unit_question(table: TableHead, column: str, units: tuple[str, ...]) -> Question:
    choices = [Choice(value=unit, words=unit) for unit in units]
    return Question(id=f"unit:{column}", kind="unit", column=column, examples=table.values(column),
                    words=f"Which unit is {column} in?",
                    choices=[*choices, Choice(value=IGNORE, words="leave the column out")])  # fmt: skip


def _first(table: TableHead, column: str) -> str:
    """The first value of a column that is not missing."""
    return next((value for value in table.values(column) if value.lower() not in GAPS), "")
