"""The catalogue of bad input: each file with the verdict that library and command line must both give."""

from __future__ import annotations

import gzip
import io
import zipfile
from dataclasses import dataclass

SUITE = """
name = "two"
missing = [-9999, 65535]
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppb"
valid_min = -500
valid_max = 50000
[[family.channel]]
name = "co2"
units = "ppm"
lower_bound = 300
"""
EXTRA = {
    "T": '[environment]\nair_temperature = "T"\n',
    "RH": '[environment]\nrelative_humidity = "RH"\n',
    "P": '[environment]\nair_pressure = "P"\n',
    "F": '[environment]\nair_temperature = "T [°F]"\n',
    "Hg": '[environment]\nair_pressure = "P_inHg"\n',
    "position": '[motion]\nlatitude = "lat"\nlongitude = "lon"\n',
}
HEADER = "time,co,co2"
ROWS = [
    f"2024-04-10T13:{48 + i // 60:02d}:{i % 60:02d}Z,{150 + 7.25 * (i % 9):.2f},{410 + 0.5 * (i % 7):.1f}"
    for i in range(90)
]


def table(rows: list[str] = ROWS, header: str = HEADER, end: str = "\n") -> str:
    return end.join([header, *rows]) + end


def with_column(name: str, values: list[str]) -> str:
    return table([f"{row},{value}" for row, value in zip(ROWS, values, strict=True)], f"{HEADER},{name}")


def replaced(number: int, row: str) -> list[str]:
    return [*ROWS[:number], row, *ROWS[number + 1 :]]


def zipped(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("flight.csv", text)
    return out.getvalue()


@dataclass(frozen=True)
class Bad:
    name: str
    content: bytes | str
    refused: str | None = None  # words of the one-line refusal
    listed: str | None = None  # words of the listed repair; both None: fine as it is
    rows: int = 90  # used
    suffix: str = ".csv"
    extra: str | None = None  # what the suite names besides

    @property
    def suite(self) -> str:
        return SUITE if self.extra is None else SUITE.replace("[[family]]", EXTRA[self.extra] + "[[family]]", 1)


CATALOGUE = [
    Bad("good", table()),
    Bad("empty", "", refused="is empty"),
    Bad("zeros only", b"\0" * 4096, refused="is empty"),
    Bad("header only", HEADER + "\n", refused="no row"),
    Bad("one row", table(ROWS[:1]), rows=1),
    Bad("gzip", gzip.compress(table().encode())),
    Bad("truncated gzip", gzip.compress(table().encode())[:-60], refused="cut short"),
    Bad("gzip cut in its head", gzip.compress(table().encode())[:12], refused="cut short"),
    Bad("gzip with a wrong checksum", gzip.compress(table().encode())[:-8] + bytes(8), refused="checksum"),
    Bad("one enormous line", gzip.compress(table().encode() + b"1," * 1_000_000), refused="line 92: longer than"),
    Bad("zip", zipped(table()), suffix=".zip"),
    Bad("truncated zip", zipped(table())[:-30], refused="zip is truncated", suffix=".zip"),
    Bad("zero bytes within", table(replaced(40, ROWS[40][:10] + "\0\0" + ROWS[40][12:])), listed="zero bytes", rows=89),
    Bad("power-loss tail", table().encode() + b"\0" * 700, listed="zero bytes"),
    Bad("byte order mark", b"\xef\xbb\xbf" + table().encode()),
    Bad("UTF-16", table().encode("utf-16"), listed="UTF-16"),
    Bad("UTF-16 without mark", table().encode("utf-16-le"), listed="UTF-16"),
    Bad("latin-1 micro", with_column("PM (\xb5g/m\xb3)", ["3.5"] * 90).encode("latin-1"), listed="Latin-1"),
    Bad("misspelt environment", with_column("temp", ["21.5"] * 90), listed="no column for air_temperature", extra="T"),
    Bad("CRLF", table(end="\r\n")),
    Bad("CR only", table(end="\r")),
    Bad(
        "mixed line ends",
        table(ROWS[:30], end="\r\n") + "\n".join(ROWS[30:60]) + "\r" + "\r\n".join(ROWS[60:]) + "\r\n",
    ),
    Bad("no line end", table()[:-1], listed="may be truncated"),
    Bad(
        "semicolons and decimal commas",
        table([r.replace(",", ";").replace(".", ",") for r in ROWS], "time;co;co2"),
        listed="decimal comma",
    ),
    Bad("semicolons and points", table([r.replace(",", ";") for r in ROWS], "time;co;co2")),
    Bad("tabs", table([r.replace(",", "\t") for r in ROWS], "time\tco\tco2")),
    Bad(
        "thousands separators",
        table([f'{r[:20]},"1,{200 + i:03d}.50",410.5' for i, r in enumerate(ROWS)]),
        listed="thousands",
    ),
    Bad("second header", table(ROWS[:50]) + table(ROWS[50:]), listed="repeated header"),
    Bad("text in a number column", table(replaced(17, ROWS[17].rsplit(",", 1)[0] + ",hello")), listed="not numbers"),
    Bad("overflowing cell", table(replaced(17, ROWS[17].rsplit(",", 1)[0] + ",1e400")), listed="infinite"),
    Bad("infinite", table(replaced(17, ROWS[17].rsplit(",", 1)[0] + ",-Inf")), listed="infinite"),
    Bad("NaN words", table(replaced(17, ROWS[17].rsplit(",", 1)[0] + ",NaN"))),
    Bad("extra cell", table(replaced(17, ROWS[17] + ",5")), listed="too few or too many", rows=89),
    Bad("missing cell", table(replaced(17, ROWS[17].rsplit(",", 1)[0])), listed="too few or too many", rows=89),
    Bad("open quote", table(replaced(17, ROWS[17].replace(",", ',"', 1))), listed="too few or too many", rows=89),
    Bad("duplicate column", table([f"{r},1" for r in ROWS], f"{HEADER},co"), refused="2 columns are named 'co'"),
    Bad("unknown columns", with_column("battery", ["12.1"] * 90)),
    Bad("misspelt column", table(header="time,C0,co2"), refused="did you mean"),
    Bad("no time column", table(header="date,co,co2"), refused="time"),
    Bad("sentinels", table(replaced(17, ROWS[17].rsplit(",", 1)[0] + ",-9999")), listed="sentinel"),
    Bad("sentinel of 16 bits", table(replaced(17, ROWS[17].rsplit(",", 1)[0] + ",65535")), listed="sentinel"),
    Bad("channel without a value", table([r.rsplit(",", 1)[0] + "," for r in ROWS]), listed="no value"),
    Bad("constant channel", table([r.rsplit(",", 1)[0] + ",415.0" for r in ROWS])),
    Bad("stamps without zone", table([r.replace("Z", "") for r in ROWS]), refused="no time zone"),
    Bad(
        "stamps some with zone",
        table([r.replace("Z", "") if i % 2 else r for i, r in enumerate(ROWS)]),
        refused="some stamps carry",
    ),
    Bad("day or month", table([r.replace("2024-04-10T", "05/10/2024 ") for r in ROWS]), refused="day/month"),
    Bad("stamp that is none", table(replaced(17, "yesterday" + ROWS[17][20:])), listed="cannot be read", rows=89),
    Bad(
        "impossible date", table(replaced(17, "2024-02-30T00:00:00Z" + ROWS[17][20:])), listed="cannot be read", rows=89
    ),
    Bad(
        "leap second",
        table([f"2016-12-31T23:59:{s:02d}Z,150.25,410.5" for s in range(61)]),
        listed="leap second",
        rows=61,
    ),
    Bad("duplicate stamps", table([*ROWS[:40], *ROWS[39:]]), listed="with the time stamp of another row", rows=91),
    Bad("backwards stamps", table([*ROWS[:40], *ROWS[30:]]), listed="time steps back", rows=100),
    Bad(
        "lost clock",
        table([*ROWS[:88], *(f"1970-01-01T00:00:0{i}Z" + ROWS[88 + i][20:] for i in range(2))]),
        listed="lost clock",
    ),
    Bad(
        "swapped position",
        table([f"{r},-96.56,39.08" for r in ROWS], f"{HEADER},lat,lon"),
        listed="swapped",
        extra="position",
    ),
    Bad("kelvin", with_column("T", ["296.4"] * 90), listed="interpreted as K", extra="T"),
    Bad("pascal", with_column("P", ["97534"] * 90), listed="interpreted as Pa", extra="P"),
    Bad("fractions of humidity", with_column("RH", ["0.42"] * 90), listed="fraction", extra="RH"),
    Bad("impossible humidity", with_column("RH", ["143"] * 90), refused="humidity of 143", extra="RH"),
    Bad("fahrenheit by its name", with_column("T [°F]", ["75.2"] * 90), listed="degF: converted to degC", extra="F"),
    Bad(
        "fahrenheit by its range", with_column("T", ["75.2"] * 90), refused="around 75 degC is not possible", extra="T"
    ),
    Bad("inches of mercury by name", with_column("P_inHg", ["29.0"] * 90), listed="inHg: converted to hPa", extra="Hg"),
    Bad("inches of mercury by range", with_column("P", ["29.0"] * 90), refused="may be in inHg or kPa", extra="P"),
    Bad(
        "CO in ppm", table([f"{r[:20]},{0.15 + i % 9 / 100:.2f},410.5" for i, r in enumerate(ROWS)]), refused="fit ppm"
    ),
    Bad("CO2 in %", table([r.rsplit(",", 1)[0] + ",0.0412" for r in ROWS]), refused="would fit %"),
    Bad(
        "positions 0/0",
        table([f"{r},{'0,0' if i < 5 else '39.08,-96.56'}" for i, r in enumerate(ROWS)], f"{HEADER},lat,lon"),
        listed="5 positions of 0/0 (no GPS fix) taken as missing",
        extra="position",
    ),
    Bad(
        "one latitude of 95",
        table([f"{r},{95 if i == 5 else 39.08},-66.56" for i, r in enumerate(ROWS)], f"{HEADER},lat,lon"),
        listed="1 positions that are not on Earth (first: latitude 95, longitude -66.56) taken as missing",
        extra="position",
    ),
    Bad(
        "latitude of 95",
        table([f"{r},95,-96.56" for r in ROWS], f"{HEADER},lat,lon"),
        refused="no position is on Earth (latitude 95, longitude -96.56)",
        extra="position",
    ),
    Bad(
        "lost sign",
        table([f"{r},39.08,{96.56 if i == 5 else -96.56}" for i, r in enumerate(ROWS)], f"{HEADER},lat,lon"),
        listed="1 positions with the other sign of longitude (96.56 among -96.56) taken as missing",
        extra="position",
    ),
    Bad(
        "clock set back",
        table([*ROWS[:40], *(f"{a[:20]}{b[20:]}" for a, b in zip(ROWS[30:80], ROWS[40:], strict=True))]),
        listed="the clock was set back by 10 s at row 41",
    ),
    Bad(
        "12-hour clock",
        table([f"2024-04-10T{12 if i < 45 else 1:02d}:{(i + 15) % 60:02d}:00{r[20:]}" for i, r in enumerate(ROWS)]),
        refused="the clock steps back from 12:59:00 to 01:00:00",
    ),
    Bad(
        "commas that may be thousands",
        table([f'{r[:20]},"150,629","410,500"' for r in ROWS]),
        refused="150.629 or 150629",
    ),
    Bad("CO2 in ppb", table([r.rsplit(",", 1)[0] + ",412345.6" for r in ROWS]), refused="would fit ppb"),
    Bad("binary", bytes(range(256)) * 20, refused="not a text file"),
    Bad("a picture", b"\x89PNG\r\n\x1a\n" + bytes(500), refused="not a text file"),
    Bad("prose", "Once upon a time\nthere was a drone\n", refused="time"),
]
