"""What may be believed: the inspection of a flight as tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from pc2dae.flags import FLAGS
from pc2dae.report.formatting import Row, Table, number, percent
from pc2dae.report.summary import ChannelFacts

_MOTION = {
    "speed_mean_m_s": "mean speed [m s⁻¹]",
    "speed_median_m_s": "median speed [m s⁻¹]",
    "speed_max_m_s": "greatest speed [m s⁻¹]",
    "share_moving": "share of time above 0.1 m s⁻¹",
    "gps_ekf_difference": "GPS against EKF speed",
    "climb_m": "climbed [m]",
}
_SHARES = {"share_moving", "gps_ekf_difference"}
_ENVIRONMENT = {
    "air_temperature": "air temperature [°C]",
    "relative_humidity": "relative humidity [%]",
    "air_pressure": "air pressure [hPa]",
}


def verdict_table(inspection: dict[str, Any]) -> Table:
    """Which families are believed, and why."""
    head = ["family", "verdict", "why", "observed", "below\ndetection", "negative", "signal\nto noise"]
    rows = []
    for verdict in inspection["families"]:
        figures = {key: np.nan if v is None else v for key, v in verdict["figures"].items()}
        shares = [percent(figures.get(key, np.nan)) for key in ("observed", "below_detection", "negative")]
        word = "kept" if verdict["kept"] else "left out"
        cells = [verdict["family"], word, verdict["reason"], *shares, number(figures.get("snr", np.nan), 2)]
        rows.append(Row(cells, kind="" if verdict["kept"] else "gone"))
    return Table(head, rows, frozenset({0, 1, 2}), frozenset({2}))


def channel_table(facts: list[ChannelFacts], inspection: dict[str, Any]) -> Table:
    """Channel by channel: noise, response, what lies below the bound, how much was observed, every flag."""
    used = [name.replace("_", " ") for name in FLAGS if any(name.replace("_", " ") in f.flags for f in facts)]
    head = [
        "channel",
        "unit",
        "noise σ",
        "its lag-1\ncorrelation",
        "estimate's\nσ",
        "t90\n[s]",
        "blur at mean\nspeed [m]",
    ]
    head += ["below\nbound", "after", "observed", *(name.replace(" ", "\n") for name in used)]
    rows = []
    for f in facts:
        seen = {k: np.nan if v is None else v for k, v in inspection["channels"][f.name].items()}
        cells = [f.name, f.units, number(f.noise, 2), _signed(seen["noise_lag1"]), number(f.uncertainty, 2)]
        cells += [number(seen["t90_s"], 2), number(seen.get("blur_mean_m", np.nan), 2)]
        cells += [percent(f.below), percent(f.below_after), percent(f.observed)]
        rows.append(Row([*cells, *(f"{f.flags[name]:,}" if name in f.flags else "" for name in used)]))
    note = "noise σ and its correlation: of the record as logged, read from quiet stretches (−0.5: differenced, as an"
    note += (
        " aethalometer's). estimate's σ: its own standard uncertainty, median. t90: from plume edges. Flags in samples."
    )
    return Table(head, rows, frozenset({0, 1}), note=note)


def figures_table(inspection: dict[str, Any]) -> Table | None:
    """Motion, air and gaps of the flight."""
    rows = [
        Row([label, percent(value) if key in _SHARES else number(value)])
        for key, label in _MOTION.items()
        if (value := inspection["motion"].get(key)) is not None
    ]
    rows += [
        Row([label, f"{number(low)} to {number(high)}"])
        for key, label in _ENVIRONMENT.items()
        for low, high in [inspection["environment"].get(key, (np.nan, np.nan))]
        if np.isfinite(low)
    ]
    crossing = inspection["motion"].get("edge_crossing_s")
    if crossing:
        rows.append(
            Row(["time to cross a plume edge of 1–10 m [s]", f"{number(crossing[0], 2)} to {number(crossing[1], 2)}"])
        )
    rows += [Row([f"nothing from {gap['start'][11:19]} [s]", number(gap["duration_s"])]) for gap in inspection["gaps"]]
    return Table(["", ""], rows) if rows else None


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−") if np.isfinite(value) else "–"
