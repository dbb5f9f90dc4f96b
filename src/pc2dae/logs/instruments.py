"""Instruments whose log is one table: how each is recognised, what its columns are, and how simulated ones write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np

from pc2dae.flight.stream import Stream
from pc2dae.logs.csv_writer import cells, column, iso, local_time, utc_offset_min, write_table, zone_text
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import LogTable, Stamps, read_table
from pc2dae.suite import Channel, Suite

BLACK_CARBON = "mass_concentration_of_absorption_equivalent_black_carbon_of_dry_aerosol_particles_in_air"
_ABSORPTION = "volume_absorption_coefficient_of_radiative_flux_in_air_due_to_dried_aerosol_particles"
_CO2 = "mole_fraction_of_carbon_dioxide_in_air"
WEATHER = {"air_temperature": "temperature", "relative_humidity": "humidity", "air_pressure": "pressure"}


@dataclass(frozen=True)
class Instrument:
    """The reader of a table."""

    name: str
    header: tuple[str, ...]  # the line of column names contains all of them
    time: Sequence[str] | Callable[[list[str]], Sequence[str]]  # columns of the stamp
    columns: Mapping[str, Column]
    declared: Declared = field(default_factory=Declared)
    stamps: Stamps | None = None
    comment: str | None = None
    serial: str | re.Pattern[str] = ""  # a text column, or a pattern in the lines before the column names
    unit: str | re.Pattern[str] = ""  # the same

    def is_header(self, line: str) -> bool:
        """Whether a line is the one of column names."""
        return all(word in line for word in self.header)

    def recognises(self, head: Head) -> bool:
        """Match the line of column names."""
        return any(map(self.is_header, head.lines))

    def table(self, file: LogFile) -> LogTable:
        """The rows of a file."""
        return read_table(
            file,
            is_header=self.is_header,
            time=self.time,
            wanted=lambda names: list(named(names, self.columns)),
            texts=[text for text in (self.serial, self.unit) if isinstance(text, str) and text],
            stamps=self.stamps,
            comment=self.comment,
        )

    def stream(self, table: LogTable, *, zone: str | None = None) -> Stream:
        """The rows as a stream; stamps that state no zone are in `zone`."""
        serial, unit = stated(table, self.serial), stated(table, self.unit)
        return stream_of(table, self.columns, self.name, zone=zone, serial=serial, unit=unit)

    def read(self, file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
        """The file's stream."""
        return [self.stream(self.table(file), zone=zone)]


def stated(table: LogTable, what: str | re.Pattern[str]) -> str:
    """The first entry of a text column, or what a pattern matches before the column names; empty if there is none."""
    if isinstance(what, str):
        return next((text for text in table.texts.get(what, []) if text), "")
    match = what.search("\n".join(table.preamble))
    return match[1] if match else ""


AE51 = Instrument(
    "ae51",  # AethLabs microAeth AE51: the CSV of its manager program, on local time without a zone
    header=("Date,Time,Ref,Sen,ATN",),
    time=("Date", "Time"),
    columns={
        "bc": Column("bc", "ng m-3"),
        "atn": Column("atn", "1"),
        "ref": Column("ref", "1"),
        "sen": Column("sen", "1"),
        "flow": Column("flow", "mL min-1"),
        "pcb_temp": Column("internal_temperature", "degC"),
        "status": Column("status", "1"),
    },
    declared=Declared((("bc", Channel(name="bc", units="ng m-3", valid_min=-200000.0, valid_max=1000000.0,
                                      detection_limit=100.0, wavelength_nm=880, standard_name=BLACK_CARBON)),)),
    serial=re.compile(r"Device ID = (\S+)"),
)  # fmt: skip

BME280 = Instrument(
    "bme280",  # Bosch BME280 on a small logger
    header=("timestamp", "bme280_temperature_c"),
    time=("timestamp",),
    columns={
        "bme280_temperature_c": Column("temperature", "degC"),
        "bme280_humidity_pct": Column("humidity", "%"),
        "bme280_pressure_pa": Column("pressure", "hPa", 0.01),
    },
    declared=Declared(environment=WEATHER),
    comment="#",
)

FLIGHT_COMPUTER = Instrument(
    "flight_computer",  # of the tethered balloon: framed lines, Unix seconds
    header=("SBI,DateTime,PartCon",),
    time=("DateTime",),
    columns={
        "partcon": Column("particle_number", "cm-3"),
        "co2": Column("co2", "ppm"),
        "p_baro": Column("pressure", "hPa"),
        "tempbox": Column("box_temperature", "degC"),
        "tempsamp": Column("sample_temperature", "degC"),
        "rhsamp": Column("sample_humidity", "%"),
        "temp1": Column("temperature", "degC"),
        "rh1": Column("humidity", "%"),
        "temp2": Column("temperature_2", "degC"),
        "rh2": Column("humidity_2", "%"),
    },
    declared=Declared((("co2", Channel(name="co2", units="ppm", lower_bound=300.0, valid_min=300.0, valid_max=5000.0,
                                       native_rate_hz=0.5, standard_name=_CO2)),), environment=WEATHER),
)  # fmt: skip


class _Licor(Instrument):
    """The text that LI-COR's PC program writes (LI-830, LI-850, LI-840A), on local time without a zone."""

    def is_header(self, line: str) -> bool:
        """Match date and CO2 under the program's names."""
        return line.lstrip("\ufeff").startswith(self.header) and "CO" in line

    def stream(self, table: LogTable, *, zone: str | None = None) -> Stream:
        """The rows, by the names of either version of the program."""
        name = "li840a" if table.header[0].startswith("Date(") else self.name
        return replace(super().stream(table, zone=zone), instrument=name)


LICOR = _Licor(
    "licor",
    header=("System_Date", "Date(Y-M-D)"),
    time=lambda names: names[:2],
    columns={
        "co2": Column("co2", "ppm"), "co": Column("co2", "ppm"),  # the program's subscript two is not alphanumeric
        "h2o": Column("h2o", "mmol mol-1"), "h_o": Column("h2o", "mmol mol-1"),
        "cell_temperature": Column("cell_temperature", "degC"), "cell_pressure": Column("cell_pressure", "hPa", 10.0),
        "flow_rate": Column("flow", "L min-1"),
    },
    declared=Declared((("co2", Channel(name="co2", units="ppm", lower_bound=300.0, valid_min=300.0, valid_max=20000.0,
                                       t90_s=2.0, standard_name=_CO2)),)),
)  # fmt: skip


class _Li7810(Instrument):
    """LI-COR trace gas analysers (LI-7810: CO2, CH4, H2O)."""

    def stream(self, table: LogTable, *, zone: str | None = None) -> Stream:
        """The rows, without values where the analyser reports a fault (DIAG is not 0)."""
        stream = super().stream(table, zone=zone)
        is_faulty = stream.columns["diagnosis"] != 0
        if not is_faulty.any():
            return stream
        gases = {name: np.where(is_faulty, np.nan, stream.columns[name]) for name in ("co2", "ch4", "h2o")}
        line = f"{int(is_faulty.sum()):,} rows with DIAG other than 0 taken as missing"
        return replace(stream, columns=stream.columns | gases, repairs=(*stream.repairs, line))


LI7810 = _Li7810(
    "li7810",  # tab-separated text with stamps in seconds since 1970
    header=("DATAH", "SECONDS", "CO2", "CH4"),
    time=("SECONDS",),
    columns={"co2": Column("co2", "ppm"), "ch4": Column("ch4", "ppb"), "h2o": Column("h2o", "mmol mol-1", 1e-3),
             "cavity_p": Column("cavity_pressure", "hPa", 10.0), "cavity_t": Column("cavity_temperature", "degC"),
             "diag": Column("diagnosis", "1")},
    declared=Declared((
        ("co2", Channel(name="co2", units="ppm", valid_max=10000.0, standard_name=_CO2)),
        ("ch4", Channel(name="ch4", units="ppb", valid_max=50000.0, standard_name="mole_fraction_of_methane_in_air")),
    )),
    comment="DATAU",
)  # fmt: skip

PMS5003 = Instrument(
    "pms5003",  # Plantower PMS5003 on a microcontroller: mass with the atmospheric calibration, Unix seconds
    header=("unix_time", "pm2_5_cf1", "pm2_5_atm"),
    time=("unix_time",),
    columns={f"{name}_atm": Column(short, "ug m-3")
             for name, short in (("pm1_0", "pm1"), ("pm2_5", "pm25"), ("pm10_0", "pm10"))},
    declared=Declared(tuple(("pm", Channel(name=name, column=name, units="ug m-3", valid_min=0.0, valid_max=1000.0,
                                           detection_limit=7.5, t90_s=5.0)) for name in ("pm1", "pm25", "pm10"))),
    comment="#",
    serial=re.compile(r"serial ([\w-]+)"),
    unit="unit",
)  # fmt: skip

QUANTAQ = Instrument(
    "quantaq",  # QuantAQ ARISense and MODULAIR raw exports: stamps in UTC
    header=("timestamp_local", "sn", "_we", "device_state"),
    time=("timestamp",),
    columns={f"{gas}_{electrode}": Column(f"{gas}_{electrode}", "mV")
             for gas in ("co", "no", "no2", "o3", "so2", "h2s") for electrode in ("we", "ae")} | {
        "co2_raw": Column("co2", "ppm"),
        "opcn3_pm1": Column("pm1", "ug m-3"),
        "opcn3_pm25": Column("pm25", "ug m-3"),
        "opcn3_pm10": Column("pm10", "ug m-3"),
        "temp": Column("temperature", "degC"),
        "temp_manifold": Column("temperature", "degC"),
        "temp_box": Column("box_temperature", "degC"),
        "rh": Column("humidity", "%"),
        "rh_manifold": Column("humidity", "%"),
        "pressure": Column("pressure", "hPa", 0.01),
        "lat": Column("latitude", "degrees_north"),
        "lon": Column("longitude", "degrees_east"),
    },
    declared=Declared(
        (("co2", Channel(name="co2", units="ppm", lower_bound=300.0, valid_min=200.0, valid_max=40000.0)),
         *(("pm", Channel(name=name, column=name, units="ug m-3", valid_min=0.0, valid_max=5000.0))
           for name in ("pm1", "pm25", "pm10"))),
        environment=WEATHER,
        motion={"latitude": "latitude", "longitude": "longitude"},
    ),
    serial="sn",
)  # fmt: skip

SCD30 = Instrument(
    "scd30",  # Sensirion SCD30 on a small logger: each value is repeated until the next is ready
    header=("timestamp", "scd30_co2_ppm"),
    time=("timestamp",),
    columns={
        "scd30_co2_ppm": Column("co2", "ppm"),
        "scd30_temperature_c": Column("temperature", "degC"),
        "scd30_humidity_pct": Column("humidity", "%"),
    },
    declared=Declared((("co2", Channel(name="co2_scd30", column="co2", units="ppm", lower_bound=300.0, valid_min=300.0,
                                       valid_max=40000.0, t90_s=46.0, native_rate_hz=0.5)),),
                      environment={"air_temperature": "temperature", "relative_humidity": "humidity"}),
    comment="#",
)  # fmt: skip

STAP = Instrument(
    "stap",  # Brechtel STAP absorption photometer on the tethered balloon: as measured and smoothed
    header=("datetimes", "sigmab", "sigmar"),
    time=("datetimes",),
    columns={
        "sample_press_mbar": Column("pressure", "hPa"),
        "sample_temp_c": Column("temperature", "degC"),
        **{f"sigma{colour}{end}": Column(f"absorption_{nm}{name}", "Mm-1")
           for end, name in (("", ""), ("_smth", "_smooth")) for colour, nm in (("b", 450), ("g", 525), ("r", 624))},
    },
    declared=Declared(tuple(("absorption", Channel(name=f"absorption_{nm}", units="Mm-1", valid_min=-2000.0,
                                                   valid_max=50000.0, wavelength_nm=nm, standard_name=_ABSORPTION))
                            for nm in (450, 525, 624))),
    stamps=Stamps(epoch="1904-01-01"),
)  # fmt: skip


def write_bme280(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as the logger does."""
    places = {"bme280_temperature_c": 2, "bme280_humidity_pct": 2, "bme280_pressure_pa": 1}
    _write_logger(path, stream, BME280, places, "BME280 0x76, oversampling x2 x16 x1, filter 16")


def write_scd30(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as the logger does, `nan` until the first measurement."""
    places = dict.fromkeys(SCD30.columns, 4)
    setting = "firmware 3.66, interval 2 s, automatic self-calibration off, pressure compensation 0 mbar"
    _write_logger(path, stream, SCD30, places, f"SCD30 {setting}")


def _write_logger(
    path: str | PathLike[str], stream: Stream, instrument: Instrument, places: Mapping[str, int], comment: str
) -> None:
    """Write columns with their decimal places, and ISO stamps with their offset."""
    zone = zone_text(utc_offset_min(stream))
    table = [[text + zone for text in iso(local_time(stream), "ms")]]
    for name, decimals in places.items():
        logged = instrument.columns[name]
        table.append(cells(column(stream, logged.name) / logged.factor, decimals, missing="nan"))
    write_table(path, ["timestamp", *places], table, preamble=f"# {comment}\n")


def write_pms5003(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as decoded frames: integer ug m-3, twice (factory, atmospheric), empty where a frame was lost."""
    seconds = stream.time.astype("datetime64[ms]").astype(np.int64) / 1000.0
    masses = [cells(column(stream, name), 0) for name in ("pm1", "pm25", "pm10")]
    header = ["unix_time", "unit", "pm1_0_cf1", "pm2_5_cf1", "pm10_0_cf1", "pm1_0_atm", "pm2_5_atm", "pm10_0_atm"]
    preamble = f"# PMS5003 serial {stream.serial or 'PMS-0001'}, active mode, ug/m3\n"
    write_table(path, header, [cells(seconds, 3), [stream.unit] * len(seconds), *masses, *masses], preamble=preamble)
