"""The real records of ../shared/data: which files there are, and how those that no reader knows become a plain CSV.

Records are shortened for the tests and whole for `benchmarks/real_records.py`. None of them is part of the project.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("PC2DAE_REAL_DATA") or ROOT.parent / "shared" / "data")
SUITES = Path(__file__).parent / "suites"
ABSENT = f"no real records in {DATA}: set PC2DAE_REAL_DATA to their folder"
ROWS = 1000  # kept of a record in the tests: several times the 255 samples that an estimate reaches

Prepare = Callable[[str], str]  # text of the original file → text of a plain CSV


@dataclass(frozen=True)
class RealRecord:
    """One file of a folder, and what is needed to open it."""

    folder: str
    file: str
    suite: str = ""  # file of SUITES; none: a reader recognises the file
    zone: str | None = None
    head: int = 1  # lines before the first row
    start: int = 0  # rows left out at the beginning when the record is shortened …
    rows: int = ROWS  # … and how many are kept then
    prepare: Prepare | None = None
    in_tests: bool = True  # False: a sibling of a record that is; `benchmarks/real_records.py` runs it

    @property
    def id(self) -> str:
        """Folder and file, as test ids show them."""
        return f"{self.folder}/{self.file}"

    @property
    def source(self) -> Path:
        """The original file."""
        return DATA / self.folder / self.file

    @property
    def suite_path(self) -> Path | None:
        """The suite that describes the plain CSV."""
        return SUITES / self.suite if self.suite else None

    def write(self, folder: Path, *, whole: bool = False) -> Path:
        """The record as `pc2dae` is given it: shortened unless `whole`, a plain CSV where it has a preparation."""
        name = Path(self.file).name
        if whole and self.prepare is None:
            return self.source
        if self.prepare is not None:
            text = _text(self.source.read_bytes())
            target = folder / f"{name.partition('.')[0]}.csv"
            target.write_text(self.prepare(text if whole else self._shortened(text)), encoding="utf-8")
            return target
        target = folder / name
        data = self.source.read_bytes()
        if name.endswith(".xlsx"):
            target.write_bytes(_short_workbook(data, self.start, self.rows))
        elif name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(target, "w") as short:
                for member in given.namelist():
                    short.writestr(member, self._shortened(_text(given.read(member))))
        else:
            text = self._shortened(_text(data)).encode("utf-8", "surrogateescape")
            target.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
        return target

    def _shortened(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(lines[: self.head] + lines[self.head + self.start :][: self.rows])


def _text(data: bytes) -> str:
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return plain.decode("utf-8", "surrogateescape")


def _short_workbook(data: bytes, start: int, rows: int) -> bytes:
    from openpyxl import Workbook, load_workbook

    given = load_workbook(io.BytesIO(data), read_only=True)
    short = Workbook(write_only=True)
    sheet = short.create_sheet()
    for number, row in enumerate(given.worksheets[0].iter_rows(values_only=True, max_row=1 + start + rows)):
        if number == 0 or number > start:
            sheet.append(row)
    given.close()
    buffer = io.BytesIO()
    short.save(buffer)
    return buffer.getvalue()


# ── preparations: text in, plain CSV out ──


def qclas_csv(text: str) -> str:
    """Comments and semicolons removed, date and time (UTC, as the columns say) joined."""
    rows = list(csv.reader([line for line in text.splitlines() if not line.startswith("#")], delimiter=";"))
    return _csv(["time", *rows[0]], ([f"{row[0]}T{row[1]}Z", *row] for row in rows[1:]))


def elt_csv(text: str) -> str:
    """The column names of the data's README in front; the later file writes month/day/year with AM and PM."""
    names = ["time", "Q", "CA", "TA", "HA", "CB", "TB", "HB"]
    return _csv(names, ([_iso(row[0]), *row[1:]] for row in csv.reader(text.lstrip("\ufeff").splitlines()) if row))


def _iso(stamp: str) -> str:
    if "T" in stamp:
        return stamp
    return datetime.strptime(stamp, "%m/%d/%y %I:%M:%S %p").isoformat()


def li7810_csv(text: str) -> str:
    """Seconds since 1970 as time; rows with DIAG ≠ 0 left out, as the data's README advises."""
    rows = [line.split("\t") for line in text.splitlines()]
    names = next(row for row in rows if row[0] == "DATAH")
    good = [dict(zip(names, row, strict=False)) for row in rows if row[0] == "DATA"]
    times = ((datetime.fromtimestamp(int(row["SECONDS"]), tz=UTC), row) for row in good if row["DIAG"] == "0")
    wanted = ("CO2", "CH4", "H2O")
    return _csv(["time", *wanted], ([time.isoformat(), *(row[name] for name in wanted)] for time, row in times))


def datenum_csv(text: str) -> str:
    """MATLAB's day number (day 1 is 1 January of year 0) as time."""
    rows = list(csv.reader(text.splitlines()))
    first = datetime(1, 1, 1, tzinfo=UTC)  # MATLAB's day 367
    times = ((first + timedelta(days=float(row[0]) - 367.0), row) for row in rows[1:])
    return _csv(["time", *rows[0]], ([_millisecond(time), *row] for time, row in times))


def step_csv(text: str) -> str:
    """Every line is one quoted cell of tabs. Time is a fraction of a day since the step, whose date is not recorded."""
    rows = [line.strip().strip('"').split("\t") for line in text.splitlines()]
    step = datetime(2016, 1, 1, 12, tzinfo=UTC)
    times = ((step + timedelta(days=float(row[0])), row) for row in rows[1:])
    return _csv(["time", *rows[0]], ([_millisecond(time), *row] for time, row in times))


def _millisecond(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")


def _csv(names: list[str], rows: Iterator[list[str]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return buffer.getvalue()


_BOXES = ("40458D", "4047D0", "406414", "40641B", "40642E", "4065D0")
RECORDS = (
    RealRecord("act_america_icartt", "ACTAMERICA-mrg05-c130_merge_20160805_R3.ict", head=141, start=800),
    RealRecord("aircore_drone", "EMP_QCLAS_312_03.csv", "qclas.toml", head=16, prepare=qclas_csv),
    RealRecord("aircore_drone", "RUG_ACORE_312_03.csv", "aircore.toml"),
    RealRecord("aircore_drone", "agg_20200312.csv.gz", "wind.toml", in_tests=False),
    *(
        RealRecord("airsenseur_boxes", f"{box}.csv.gz", "airsenseur.toml", start=1500, in_tests=box == "40458D")
        for box in _BOXES
    ),
    RealRecord("arisense_we_ae", "MOD-raw.csv"),
    RealRecord("arisense_we_ae", "lcs-1.csv"),
    RealRecord("bengaluru_car", "2019_09_16_h094851_KAN_AE51.csv", zone="+05:30", head=18, start=500),
    RealRecord("bengaluru_car", "2019_09_16_h094851_KAN_LI_COR.csv", zone="+05:30", head=2, start=500),
    RealRecord("elt_licor", "03_27_23_BLUE_WHITE.daq", "elt.toml", head=0, prepare=elt_csv),
    RealRecord("elt_licor", "04_16_24_X_X.daq", "elt.toml", head=0, prepare=elt_csv, in_tests=False),
    RealRecord("elt_licor", "03_27_23_BLUE_YELLOW.licor", "li7810.toml", head=7, start=2000, prepare=li7810_csv),
    RealRecord("elt_licor", "04_16_24_X_X.licor", "li7810.toml", head=7, prepare=li7810_csv, in_tests=False),
    RealRecord("fasmee_span_gas", "ambient10082023.txt.gz", head=0, rows=600),
    RealRecord("fasmee_span_gas", "100923_B5B6_check.txt.gz", head=0, in_tests=False),
    RealRecord("fasmee_span_gas", "100923_morning_Ambient.txt.gz", head=0, in_tests=False),
    RealRecord("fasmee_span_gas", "20231010_B9.txt.gz", head=0, in_tests=False),
    RealRecord("goamazon_aircraft", "G1_dryseason_23.xlsx", start=3000),
    RealRecord("goamazon_aircraft", "G1_dryseason_24.xlsx", in_tests=False),
    RealRecord("goamazon_aircraft", "G1_dryseason_28.xlsx", in_tests=False),
    RealRecord("helikite_balloon", "LOG_20220929.txt"),
    RealRecord("helikite_balloon", "STAP_220929A0_processed.txt", start=2000),
    RealRecord("konza_uav_burn", "greenbox/20240408_smoke1.txt"),
    RealRecord("konza_uav_burn", "greenbox/CO_calib_ints_20240408_0900.txt", in_tests=False),
    *(
        RealRecord("konza_uav_burn", f"kolibri/{name}.csv", "kolibri.toml", in_tests=name in ("1D", "K20A"))
        for name in ("1D", "HQ_1", "HQ_2", "K20A", "K2A_1", "K2A_2")
    ),
    RealRecord("li840a_pairs", "2018-05-06_Licor_comparison.zip", zone="-07:00", head=2),
    RealRecord("optode_dunk", "test_dunk.csv.gz", "optode.toml", start=2000, rows=7000),
    RealRecord("slow_fast_methane", "field_data.txt.gz", "methane_field.toml", prepare=datenum_csv),
    RealRecord("slow_fast_methane", "Rtdetermination.csv", "methane_step.toml", prepare=step_csv),
    RealRecord("stove_carbon", "A_RawData.csv.gz", "stove.toml", head=47, start=8000),
)


def folders(data: Path = DATA) -> list[Path]:
    """The folders of records that are here, known or new."""
    return sorted(path for path in data.iterdir() if path.is_dir()) if data.is_dir() else []


def other_files(folder: Path) -> list[Path]:
    """The files of a folder that no record names: notes, licences, tables, and everything that is new."""
    known = {record.source.resolve() for record in RECORDS}
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.resolve() not in known)
