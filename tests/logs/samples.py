"""Small files of every format, made here: two minutes each, as the instruments write them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pc2dae.flight.stream import Stream
from pc2dae.logs import afe, ardupilot, instruments, li830, ma200

START = np.datetime64("2024-04-09T20:15:30.250", "ns")
COUNT = 120
SHEET = {
    "type": "810-0023-00",
    "calibrated_on": "2024-01-10",
    "pt1000_v20": 0.312,
    "unit": "a",
    "sensors": [
        {
            "serial_number": "132000001",
            "sensor_type": "CO-A4",
            "we_electronic_zero_mv": 280,
            "we_sensor_zero_mv": 71,
            "we_total_zero_mv": 351,
            "ae_electronic_zero_mv": 273,
            "ae_sensor_zero_mv": -8,
            "ae_total_zero_mv": 265,
            "we_sensitivity_na_ppb": 0.34,
            "pcb_gain": 0.8,
            "we_sensitivity_mv_ppb": 0.272,
            "we_cross_sensitivity_no2_na_ppb": None,
            "we_cross_sensitivity_no2_mv_ppb": None,
        }
    ],
}


def wave(middle: float, swing: float) -> np.ndarray:
    """Numbers that never repeat exactly."""
    t = np.arange(COUNT)
    return middle + swing * np.sin(t / 7.0) + swing * 1e-3 * t


def stream(instrument: str, columns: dict[str, np.ndarray], **more: object) -> Stream:
    time = START + np.arange(COUNT) * np.timedelta64(1, "s")
    unit = str(more.pop("unit", ""))
    units = dict.fromkeys(columns, "1")
    return Stream(instrument, unit, time, columns, units, notes={"utc_offset_min": -300}, **more)  # type: ignore[arg-type]


def streams() -> dict[str, tuple[Callable[[Path, Stream], None], Stream]]:
    """The formats that have a writer: the writer and a stream."""
    carbon = {
        f"{w}_{c}": np.rint(wave(900, 400)) for w in ("uv", "blue", "green", "red", "ir") for c in ("bc1", "bc2", "bcc")
    }
    optics = {f"{w}_{c}": wave(5, 1) for w in ("uv", "blue", "green", "red", "ir") for c in ("atn1", "atn2")}
    carbon = {name: np.where(np.arange(COUNT) < 5, np.nan, values) for name, values in carbon.items()}
    status = np.where(np.arange(COUNT) < 5, 66.0, 64.0)
    place = {"latitude": wave(39.1, 0.001), "longitude": wave(-96.6, 0.001)}
    air = {"sample_temperature": wave(25, 1), "internal_pressure": wave(975, 2), "status": status}
    return {
        "ma200": (ma200.write, stream("ma200", carbon | optics | place | air, serial="MA200-0042")),
        "afe": (afe.write, stream("afe", {"temperature": wave(25, 1), "co_we": wave(360, 9), "co_ae": wave(266, 1)}, unit="a", calibration=SHEET)),
        "scd30": (instruments.write_scd30, stream("scd30", {"co2": wave(430, 20), "temperature": wave(26, 1), "humidity": wave(40, 3)})),
        "li830": (li830.write, stream("li830", {"co2": wave(430, 20), "cell_temperature": wave(51.5, 0.1), "cell_pressure": wave(970, 2)})),
        "pms5003": (instruments.write_pms5003, stream("pms5003", {n: np.rint(wave(12, 5)) for n in ("pm1", "pm25", "pm10")}, unit="1", serial="PMS-7")),
        "bme280": (instruments.write_bme280, stream("bme280", {"temperature": wave(24, 1), "humidity": wave(42, 3), "pressure": wave(974, 2)})),
        "ardupilot": (
            ardupilot.write,
            stream(
                "ardupilot",
                place
                | {"altitude": wave(340, 20), "ground_speed": wave(2, 1), "ekf_speed": wave(2, 1)}
                | {"baro_pressure": wave(974, 2), "baro_temperature": wave(30, 0.5)},
                clock="gps",
            ),
        ),
    }  # fmt: skip


def clock(seconds: int, pattern: str = "%H:%M:%S") -> str:
    moment = np.datetime64("2024-04-19T14:15:30") + np.timedelta64(seconds, "s")
    return str(moment.item().strftime(pattern))


def texts() -> dict[str, bytes]:
    """The formats that are only read."""
    t = range(COUNT)
    ae51 = (
        "AethLabs\nDevice ID = AE51-S2-0001\nTimebase = 1 s\n\nDate,Time,Ref,Sen,ATN,Flow,PCB temp,Status,Battery,BC\n\n"
        + "".join(
            f'2024/04/19,{clock(i)},884149,{920135 - i},"{0.01 * i:.3f}",99,27,0,83,{"" if i == 0 else 1500 + 37 * (i % 11)}\n'
            for i in t
        )
    )
    licor = (
        "2024-04-19 at 14:15,,,\nSystem_Date_(Y-M-D),System_Time_(h:m:s),CO₂_(µmol_mol⁻¹),H₂O_(mmol_mol⁻¹)\n"
        + "".join(f"19-04-2024,{clock(i)},{430 + i % 17:.2E},2.53E+01\n" for i in t)
    )
    li840a = (
        '"2024-04-19 at 14:15"\r\nDate(Y-M-D)\tTime(H:M:S)\tCO2(ppm)\tH2O(ppt)\tCell_Temperature(C)\tCell_Pressure(kPa)\r\n'
        + "".join(f"2024-04-19\t{clock(i)}\t{430 + 0.25 * (i % 17):.2f}\t10.30\t51.73\t91.26\r\n" for i in t)
    )
    li7810 = (
        "Model:\tLI-7810\nSN:\tTG10-1\nTimezone:\tUS/Mountain\n"
        "DATAH\tSECONDS\tNANOSECONDS\tNDX\tDIAG\tREMARK\tDATE\tTIME\tH2O\tCO2\tCH4\tCAVITY_P\tCAVITY_T\tCHK\n"
        "DATAU\tsecs\tnsecs\tindex\tdiag\t\tdate\ttime\tppm\tppm\tppb\tkPa\t°C\tCHK\n"
        + "".join(
            f'DATA\t{1713536130 + i}\t772145032\t{i}\t{4 if i == 3 else 0}\t""\t2024-04-19\t08:15:30\t223.9\t{430 + 0.5 * (i % 9)}\t2074.5\t40.729\t55.0003\t54\n'
            for i in t
        )
    )
    quantaq = (
        ",id,timestamp,timestamp_local,sn,rh,temp,opcn3_pm1,opcn3_pm25,opcn3_pm10,co_we,co_ae,flag,lat,lon,device_state\n"
        + "".join(
            f"{i},{COUNT - i},2024-04-19T{clock(COUNT - i)}Z,2024-04-19T{clock(COUNT - i)}Z,MOD-1,46.7,23.9,{1 + i % 5}.5,2.1,3.2,3293.4,2285.5,0,,,ACTIVE\n"
            for i in t
        )
    )
    stap = (
        "datetimes,sample_press_mbar,sample_temp_C,sigmab,sigmag,sigmar,sigmab_smth,sigmag_smth,sigmar_smth\n"
        + "".join(
            f"{3747290277 + i},959,18.8,{'NAN' if i == 0 else -1.2 + 0.1 * (i % 13)},0.97,-3.04,-0.3,-0.3,-0.2\n"
            for i in t
        )
    )
    computer = "SBI,DateTime,PartCon,CO2,P_baro,TEMPbox,mFlow,TEMPsamp,RHsamp,TEMP1,RH1,TEMP2,RH2,vBat\n" + "".join(
        f"$,{1664445552 + i},{'NA' if i % 3 else 125},{430 + 0.5 * (i % 9)},976.74,19.00,NA,19.77,43.87,19.74,41.63,19.19,44.65,24.80#\n"
        for i in t
    )
    greenbox_row = '{gps},"39 6.22N","96 36.32W",3906.22,9636.32,{alt},257.59,"06/03/2023 {rtc}",0,0,0,{pm},{pm},{pm},195,47,5,0,0,0,{co2},5.48,20,36,0,0,0,25.24,975.45,29.17,319.55,974.89,0,0,0,0'
    green = [
        greenbox_row.format(
            gps="NA" if i < 4 else f"2024-04-19 {clock(i)}",
            alt=0 if i < 3 else 327.8,
            rtc=clock(i - 3600),
            pm=i % 7,
            co2=65530 if i == 9 else 740 + i // 3,
        )
        for i in t
    ]
    from pc2dae.logs.greenbox import NAMES

    header = ",".join(f'"{n.replace("(", ".").replace(")", ".").replace("/", ".")}"' for n in NAMES)
    with_header = (
        header + ',"local_time"\n' + "".join(f'"{i + 1}",{row},2024-04-19 {clock(i)}\n' for i, row in enumerate(green))
    )
    icartt = "\n".join(
        [
            "18, 1001", "Author", "Institute", "Data", "Mission", "1, 1", "2024, 04, 19, 2024, 05, 01", "1", "Time_Start, s", "3",
            "1, 1, 1", "-9999, -9999, -9999", "CO_ppb, ppb", "CO2_ppm, ppm", "LATITUDE, degs", "0", "1", "Time_Start, CO_ppb, CO2_ppm, LATITUDE",
            *(f"{51330 + i}, {-9999 if i == 5 else 120 + i % 9}, {420 + 0.1 * (i % 7):.1f}, 39.1" for i in t),
        ]
    )  # fmt: skip
    return {
        "ae51": ae51.encode(), "licor": licor.encode(), "li840a": li840a.encode(), "li7810": li7810.encode(), "quantaq": quantaq.encode(), "stap": stap.encode(),
        "flight_computer": computer.encode(), "greenbox": with_header.encode(), "greenbox_bare": ("\n".join(green) + "\n").encode(),
        "icartt": (icartt + "\n").encode(), "goamazon": workbook(),
    }  # fmt: skip


def workbook() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.append(
        [
            None,
            "flight",
            "y",
            "m",
            "d",
            "h(utc)",
            "m.1",
            "s",
            "lat",
            "long",
            "alt",
            "co(ppm)",
            "o3(ppb)",
            "nox(ppb)",
            "CPC3010",
        ]
    )
    for i in range(COUNT):
        sheet.append(
            [
                i,
                23,
                2024,
                4,
                19,
                14,
                15 + (30 + i) // 60,
                (30 + i) % 60,
                -3.04,
                -60.05,
                -9999 if i < 2 else 88,
                0.18 + 0.001 * (i % 9),
                40 + i // 4,
                None if i == 7 else 1.5,
                5514.6,
            ]
        )
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def all_samples(folder: Path) -> dict[str, bytes]:
    """Every format's bytes by name."""
    made = {}
    for name, (write, one) in streams().items():
        write(folder / name, one)
        made[name] = (folder / name).read_bytes()
    return made | texts()
