"""What the payload is: channels in families, and where their values come from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date as Date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, ValidationInfo, field_validator, model_validator

from pc2dae.channel_schema import CHANNEL_VARIABLES
from pc2dae.errors import SuiteError, nearest
from pc2dae.suite.metadata import Metadata
from pc2dae.suite.source import Source
from pc2dae.suite.units import canonical_units, contradiction, is_mole_fraction, spelled

ENVIRONMENT = ("air_temperature", "relative_humidity", "air_pressure")  # degC, %, hPa
Compensation = Literal["aan-803", "equation-1"]
KernelKind = Literal["first_order", "gaussian", "two_step"]
AltitudeReference = Literal["sea level", "ground", "ellipsoid"]
_ALTITUDES: tuple[tuple[AltitudeReference, str], ...] = (  # in the name of its column, the first one counts
    ("sea level", r"msl|asl|sea|geoid"),
    ("ellipsoid", r"ellips|hae|wgs"),
    ("ground", r"agl(?!e)|ground|rel|height|home|take.?off|launch"),
)
MOTION = ("latitude", "longitude", "altitude", "ground_speed")  # degrees_north, degrees_east, m, m s-1

# Variables of a flight that are not of a channel: a channel of that name would replace them.
_TAKEN = (*ENVIRONMENT, *MOTION, "time", "trajectory", "row", "row_time", "row_index", "row_stamp")

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=64)]


class _SuitePart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Channel(_SuitePart):
    """One measured quantity of one sensor."""

    name: Name
    units: str
    column: str | None = None  # in a plain CSV; default: the name
    lower_bound: float = 0.0  # no true value lies below it
    valid_min: float | None = None
    valid_max: float | None = None
    detection_limit: float | None = Field(default=None, ge=0)
    t90_s: float | None = Field(default=None, ge=0, le=36000)  # 0: no lag
    t90_uncertainty_s: float | None = Field(default=None, ge=0)  # default: 15 % of t90_s
    t90_limit_s: float | None = Field(default=None, gt=0)  # largest t90 possible, where no more is known
    t90_source: str = "suite"  # who measured it: a response file, a calibration
    kernel: KernelKind = "first_order"  # shape of the response
    slow_t90_s: float | None = Field(default=None, gt=0, le=36000)  # of two_step: its slow part …
    slow_share: float | None = Field(default=None, gt=0, le=0.5)  # … and the share of a step that it makes up
    delay_s: float = Field(default=0.0, ge=0, le=600)  # transport through the inlet
    delay_uncertainty_s: float = Field(default=0.5, ge=0)
    native_rate_hz: float | None = Field(default=None, gt=0)  # below the suite's rate: repeats are stale
    duplicate_of: Name | None = None  # the same air through another sensor
    difference_of: tuple[Name, Name] | None = None  # derived, not measured: first minus second
    pressure_exponent: float | None = Field(default=None, gt=0, le=3)  # NDIR: reading = true·(P/1013.25 hPa)^n
    dry: bool = False  # to be converted from mole fraction in moist air to that in dry air
    reference_temperature_c: float | None = Field(default=None, gt=-100, lt=100)  # of masses per volume …
    reference_pressure_hpa: float | None = Field(default=None, gt=100, lt=1200)  # … (both absent: ambient air)
    noise_sigma: float | None = Field(default=None, gt=0)  # what a live stream assumes for its first 30 s
    background: float | None = None  # clean air here; used to re-zero only when asked
    background_uncertainty: float = Field(default=0.0, ge=0)
    long_name: str | None = None
    standard_name: str | None = None
    wavelength_nm: float | None = Field(default=None, gt=0)

    @property
    def is_ndir(self) -> bool:
        """Whether its readings are to be corrected for pressure or humidity."""
        return self.pressure_exponent is not None or self.dry

    @property
    def reference(self) -> tuple[float, float] | None:
        """Temperature [degC] and pressure [hPa] that masses refer to; None for those of the air."""
        if self.reference_temperature_c is None or self.reference_pressure_hpa is None:
            return None
        return self.reference_temperature_c, self.reference_pressure_hpa

    @property
    def reading_limits(self) -> tuple[float | None, float | None]:
        """Valid range of a reading; one that is still to be corrected for pressure may lie below `valid_min`."""
        return None if self.pressure_exponent is not None else self.valid_min, self.valid_max

    @field_validator("units")
    @classmethod
    def _units_are_units(cls, text: str, info: ValidationInfo) -> str:
        try:
            return canonical_units(text)
        except SuiteError as error:
            raise SuiteError(
                f"channel '{info.data.get('name', '?')}': {Exception.__str__(error)}", hint=error.hint
            ) from None

    @model_validator(mode="after")
    def _limits_are_ordered(self) -> Channel:
        if self.valid_min is not None and self.valid_max is not None and self.valid_min >= self.valid_max:
            raise SuiteError(
                f"channel '{self.name}': valid_min {self.valid_min:g} is not below valid_max {self.valid_max:g}"
            )
        return self

    @model_validator(mode="after")
    def _dry_is_a_mole_fraction(self) -> Channel:
        if self.dry and not is_mole_fraction(self.units):
            raise SuiteError(f"channel '{self.name}': dry needs a mole fraction, such as ppm, not {self.units}")
        if self.dry and (self.standard_name or "").endswith("_in_dry_air"):
            raise SuiteError(
                f"channel '{self.name}': dry = true converts readings in moist air, but {self.standard_name} is dry",
                hint="remove dry if the readings are dry already, otherwise write …_in_air",
            )
        return self

    @model_validator(mode="after")
    def _standard_name_has_these_units(self) -> Channel:
        if self.standard_name is not None and (hint := contradiction(self.standard_name, self.units)) is not None:
            raise SuiteError(
                f"channel '{self.name}': standard_name {self.standard_name} contradicts units {self.units}", hint=hint
            )
        return self

    @model_validator(mode="after")
    def _reference_is_complete(self) -> Channel:
        stated = self.reference_temperature_c, self.reference_pressure_hpa
        if (stated[0] is None) != (stated[1] is None):
            missing = "reference_temperature_c" if stated[0] is None else "reference_pressure_hpa"
            raise SuiteError(f"channel '{self.name}': {missing} is missing", hint="state both, or none for ambient air")
        return self

    @model_validator(mode="after")
    def _response_is_complete(self) -> Channel:
        slow = {"slow_t90_s": self.slow_t90_s, "slow_share": self.slow_share}
        needed = {"t90_s": self.t90_s, **slow}
        if self.kernel == "two_step" and None in needed.values():
            missing = " and ".join(key for key, value in needed.items() if value is None)
            raise SuiteError(f"channel '{self.name}': kernel two_step needs {missing}")
        if self.kernel != "two_step" and (stated := [key for key, value in slow.items() if value is not None]):
            raise SuiteError(
                f"channel '{self.name}': {stated[0]} has no effect on kernel {self.kernel}",
                hint='write kernel = "two_step"',
            )
        if self.t90_s is None and self.t90_uncertainty_s is not None:
            raise SuiteError(f"channel '{self.name}': t90_uncertainty_s without t90_s", hint="add t90_s")
        if self.t90_s is not None and self.slow_t90_s is not None and self.slow_t90_s <= self.t90_s:
            raise SuiteError(f"channel '{self.name}': slow_t90_s {self.slow_t90_s:g} is not above t90_s {self.t90_s:g}")
        return self


class Family(_SuitePart):
    """Channels that share a physical principle, and so a head in the paper's network."""

    name: Name
    channel: tuple[Channel, ...] = Field(min_length=1)


class TimeColumn(_SuitePart):
    """How a plain CSV writes its time."""

    column: str = "time"
    format: str | None = None  # strftime; default ISO 8601
    zone: str | None = None  # needed when stamps carry none: "UTC", "-05:00" or "America/Regina"
    date: Date | None = None  # of the first row, where stamps are times of day

    @field_validator("format")
    @classmethod
    def _hours_are_known(cls, text: str | None) -> str | None:
        if text is not None and "%I" in text and "%p" not in text:
            raise SuiteError(
                f"time.format '{text}' reads a 12-hour clock without AM and PM: 01:00 and 13:00 would be the same",
                hint="write %H for 24 hours, or add %p",
            )
        return text


class PlumeChoices(_SuitePart):
    """What `plumes` is to use where its command does not say."""

    clean_air: tuple[str, ...] = ()  # stated periods START/END
    ratios: tuple[Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")], ...] = ()  # further pairs of species or channels


class Suite(_SuitePart):
    """The payload of a flight as data: another team's suite is another TOML file."""

    name: str = Field(min_length=1)
    rate_hz: float = Field(default=1.0, gt=0)
    missing: tuple[float, ...] = ()
    compensation: Compensation = "aan-803"  # of electrochemical cells; equation-1 is the paper's
    metadata: Metadata = Metadata()
    time: TimeColumn = TimeColumn()
    environment: dict[Literal["air_temperature", "relative_humidity", "air_pressure"], str] = {}
    plumes: PlumeChoices = PlumeChoices()
    motion: dict[Literal["latitude", "longitude", "altitude", "ground_speed"], str] = {}
    column_units: dict[str, str] = {}  # of columns of environment and motion whose names state none
    altitude_reference: AltitudeReference | None = None  # default: by the column's name, else sea level
    family: tuple[Family, ...] = Field(min_length=1)
    sources: dict[str, Annotated[Source, PlainSerializer(str)]] = {}  # of channels and air, in instrument logs

    @field_validator("sources", mode="before")
    @classmethod
    def _sources_are_parsed(cls, table: object) -> object:
        return {n: _source(n, text) for n, text in table.items()} if isinstance(table, Mapping) else table

    @field_validator("column_units")
    @classmethod
    def _column_units_are_units(cls, table: dict[str, str]) -> dict[str, str]:
        return {column: canonical_units(spelled(units)) for column, units in table.items()}

    @property
    def channels(self) -> tuple[Channel, ...]:
        """All channels, family by family."""
        return tuple(channel for family in self.family for channel in family.channel)

    @property
    def names(self) -> tuple[str, ...]:
        """The channels' names, family by family."""
        return tuple(channel.name for channel in self.channels)

    @property
    def altitude_above(self) -> AltitudeReference:
        """What the altitude is measured from: as stated, else by the name of its column, else sea level."""
        if self.altitude_reference is not None:
            return self.altitude_reference
        column = self.sources["altitude"].column if "altitude" in self.sources else self.motion.get("altitude", "")
        return next((above for above, name in _ALTITUDES if re.search(name, column.lower())), "sea level")

    def __getitem__(self, name: str) -> Channel:
        for channel in self.channels:
            if channel.name == name:
                return channel
        raise SuiteError(f"suite '{self.name}' has no channel '{name}'", hint=nearest(name, self.names))

    def family_of(self, name: str) -> str:
        """The family a channel belongs to."""
        return next(family.name for family in self.family if self[name] in family.channel)

    def instrument_of(self, name: str) -> str:
        """The key of the instrument behind a channel; a channel without a source is its own instrument."""
        first = (self[name].difference_of or (name,))[0]
        return self.sources[first].key if first in self.sources else first

    def duplicates(self) -> tuple[tuple[str, str], ...]:
        """Pairs of channels that breathe the same air, each pair once."""
        pairs = {tuple(sorted((c.name, c.duplicate_of))) for c in self.channels if c.duplicate_of is not None}
        return tuple(sorted((a, b) for a, b in pairs))

    def only(self, families: tuple[str, ...] | list[str]) -> Suite:
        """The suite reduced to some families, as the quality step decides."""
        for name in families:
            if name not in {f.name for f in self.family}:
                raise SuiteError(
                    f"suite '{self.name}' has no family '{name}'", hint=nearest(name, [f.name for f in self.family])
                )
        kept = tuple(f for f in self.family if f.name in families)
        gone = {c.name for f in self.family if f not in kept for c in f.channel}
        sources = {name: source for name, source in self.sources.items() if name not in gone}
        return self.model_copy(update={"family": kept, "sources": sources})

    @model_validator(mode="after")
    def _is_consistent(self) -> Suite:
        self._check_names()
        self._check_partners()
        for name in self.sources:
            if name not in (known := (*self.names, *ENVIRONMENT, *MOTION)):
                raise SuiteError(f"sources names '{name}', which is not a channel", hint=nearest(name, known))
        return self

    def _check_names(self) -> None:
        for what, names in (("family", [f.name for f in self.family]), ("channel", self.names)):
            for name, count in Counter(names).items():
                if count > 1:
                    raise SuiteError(f"{what} name '{name}' is used {count} times", hint="give each its own name")
        for name in self.names:
            if (use := reserved_for(name)) is not None:
                raise SuiteError(
                    f"channel name '{name}' is reserved for {use}",
                    hint="rename the channel; `column` may stay as it is",
                )
        for column, count in Counter(c.column or c.name for c in self.channels).items():
            if count > 1:
                raise SuiteError(
                    f"column '{column}' is claimed by {count} channels", hint="give each channel its own column"
                )

    def _check_partners(self) -> None:
        for channel in self.channels:
            others = [name for name in self.names if name != channel.name]
            named = [("duplicate_of", channel.duplicate_of)] if channel.duplicate_of is not None else []
            named += [("difference_of", name) for name in channel.difference_of or ()]
            for key, partner in named:
                if partner not in others:
                    raise SuiteError(
                        f"channel '{channel.name}': {key} names '{partner}', which is not another channel",
                        hint=nearest(partner, others),
                    )
                if channel.reference != self[partner].reference:
                    raise SuiteError(
                        f"channels '{channel.name}' and '{partner}' refer to different conditions, but {key} compares"
                        " them",
                        hint="give both the same reference_temperature_c and reference_pressure_hpa",
                    )


def _source(name: object, text: object) -> Source:
    if isinstance(text, Source):
        return text
    try:
        return Source.parse(text if isinstance(text, str) else "")
    except SuiteError as error:
        raise SuiteError(f"sources.{name}: invalid source {text!r}", hint=error.hint) from None


def reserved_for(name: str) -> str | None:
    """What a name already stands for in a flight, None where a channel may have it."""
    if name in _TAKEN:
        return "time, rows, environment and motion"
    if name.endswith("_samples"):
        return "the number of an instrument's rows"
    fitting = [variable for variable in CHANNEL_VARIABLES if variable.is_reserved and variable.fits(name)]
    return max(fitting, key=lambda variable: len(variable.form)).holds if fitting else None
