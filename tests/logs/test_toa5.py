from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from pc2dae.errors import LogError
from pc2dae.logs import read_logs
from suites import make_suite

HEAD = """\
"TOA5","burn","CR1000","1031","CR1000.Std.32","CPU:smoke.CR1","4062","fast"
"TIMESTAMP","RECORD","CO_Avg","AirT","Pressure","Lat"
"TS","RN","{co}","Deg C","kPa","degrees"
"","","Avg","Smp","Smp","Smp"
"""
ROWS = """\
"2020-01-01 00:00:00",0,0.142,24.5,97.1,39.1
"2020-01-01 00:00:00.5",1,0.151,"NAN",97.1,39.1
"2020-01-01 00:00:01",2,"NAN",24.6,97.2,39.1
"""
SUITE = make_suite(
    {"gas": {"co": {"units": "ppb", "column": "CO_Avg"}}},
    name="tower",
    environment={"air_temperature": "AirT", "air_pressure": "Pressure"},
    motion={"latitude": "Lat"},
)


def table(folder: Path, co: str = "ppm", *, zipped: bool = False) -> Path:
    text = (HEAD.format(co=co) + ROWS).replace("\n", "\r\n").encode()
    path = folder / ("fast.dat.gz" if zipped else "fast.dat")
    path.write_bytes(gzip.compress(text) if zipped else text)
    return path


@pytest.mark.parametrize("zipped", [False, True])
def test_names_and_units_come_from_the_header(tmp_path, zipped):
    (stream,) = read_logs([table(tmp_path, zipped=zipped)], suite=SUITE, zone="-05:00").streams
    assert stream.time.astype(str).tolist()[1] == "2020-01-01T05:00:00.500000000"
    np.testing.assert_allclose(stream.columns["co"], [142, 151, np.nan])  # ppm to ppb
    np.testing.assert_allclose(stream.columns["air_temperature"], [24.5, np.nan, 24.6])
    np.testing.assert_allclose(stream.columns["air_pressure"], [971, 971, 972])  # kPa to hPa
    assert stream.rows_read == 3
    assert stream.repairs == (
        "column 'CO_Avg' is in ppm: converted to ppb",
        "column 'Pressure' is in kPa: converted to hPa",
    )


@pytest.mark.parametrize(
    ("co", "options", "said"),
    [
        ("ppm", {"suite": SUITE}, "fast.dat: the time stamps carry no time zone"),
        ("mV", {"suite": SUITE, "zone": "UTC"}, "fast.dat: column 'CO_Avg' is in mV, but 'co' in ppb"),
        ("ppm", {"zone": "UTC"}, "unknown instrument (columns TIMESTAMP, RECORD, CO_Avg, AirT, Pressure, Lat)"),
    ],
)
def test_what_is_not_known_is_one_line(tmp_path, co, options, said):
    with pytest.raises(LogError) as error:
        read_logs([table(tmp_path, co)], **options)
    assert said in str(error.value)
