"""Data quality: the inspection of a flight as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pc2dae.flags import FLAGS
from pc2dae.view.formatting import Row, Table, number, percent, plus_minus
from pc2dae.view.summary import ChannelFacts, lag_not_corrected

_MOTION = {
    "speed_mean_m_s": "mean speed [m s⁻¹]",
    "speed_median_m_s": "median speed [m s⁻¹]",
    "speed_max_m_s": "maximum speed [m s⁻¹]",
    "share_moving": "share of time above 0.1 m s⁻¹",
    "gps_ekf_difference": "GPS against EKF speed",
    "climb_m": "altitude range [m]",
}
_SHARES = {"share_moving", "gps_ekf_difference"}
_ENVIRONMENT = {
    "air_temperature": "air temperature [°C]",
    "relative_humidity": "relative humidity [%]",
    "air_pressure": "air pressure [hPa]",
}


def verdict_table(inspection: dict[str, Any]) -> Table:
    """Which families are kept, and why."""
    head = ["family", "verdict", "why", "observed", "below\ndetection", "negative", "signal\nto noise"]
    rows = []
    for verdict in inspection["families"]:
        figures = {key: np.nan if v is None else v for key, v in verdict["figures"].items()}
        shares = [percent(figures.get(key, np.nan)) for key in ("observed", "below_detection", "negative")]
        word = "kept" if verdict["kept"] else "excluded"
        cells = [verdict["family"], word, verdict["reason"], *shares, number(figures.get("snr", np.nan), 2)]
        rows.append(Row(cells, kind="" if verdict["kept"] else "excluded"))
    return Table(head, rows, (0, 1, 2), (2,), title="Families")


def warning_tables(inspection: dict[str, Any]) -> list[Table]:
    """Disagreements of duplicate sensors and implausible clean air, if any, as a table."""
    rows = [Row([line]) for line in inspection["warnings"]]
    return [Table(["warning"], rows, (0,), (0,), title="Warnings")] if rows else []


def channel_table(facts: list[ChannelFacts], inspection: dict[str, Any]) -> Table:
    """Per channel: noise, response time, share below the bound, share observed, every flag."""
    used = [name.replace("_", " ") for name in FLAGS if any(name.replace("_", " ") in f.flags for f in facts)]
    head = [
        "channel",
        "unit",
        "noise σ",
        "lag-1\ncorrelation",
        "estimate\nσ",
        "t90\n[s]",
        "blur at mean\nspeed [m]",
    ]
    head += ["below bound\nbefore", "below bound\nafter", "observed", *(name.replace(" ", "\n") for name in used)]
    rows = []
    for f in facts:
        seen = {k: np.nan if v is None else v for k, v in inspection["channels"][f.name].items()}
        cells = [f.name, f.units, number(f.noise, 2), _signed(seen["noise_lag1"]), number(f.uncertainty, 2)]
        cells += [number(seen["t90_s"], 2), number(seen.get("blur_mean_m", np.nan), 2)]
        cells += [percent(f.below), percent(f.below_after), percent(f.observed)]
        rows.append(Row([*cells, *(f"{f.flags[name]:,}" if name in f.flags else "" for name in used)]))
    note = (
        "Noise σ and its lag-1 correlation are estimated from quiet stretches of the raw record (−0.5: a differenced"
        " signal, as of an aethalometer). Estimate σ is its median standard uncertainty. t90 is that behind a"
        " faster channel. Flags are counted in samples."
    )
    return Table(head, rows, (0, 1), title="Channels", note=note)


def lag_tables(flight: xr.Dataset, facts: list[ChannelFacts]) -> list[Table]:
    """What each denoised channel estimates, and the response that was corrected, if any channel was to be."""
    why, rows = lag_not_corrected(flight), []
    for f in facts:
        known = flight.variables[f.name].attrs
        if f.target == "ambient":
            cells = [plus_minus(known[f"{key}_s"], known[f"{key}_uncertainty_s"]) for key in ("t90", "delay")]
            cells.append(number(known["effective_resolution_s"], 2))
            rows.append(Row([f.name, "air (ambient)", *cells, known["t90_source"], known.get("t90_note", "")]))
        elif f.target:
            rows.append(Row([f.name, "reading (response)", "–", "–", "–", "", why.get(f.name, "")]))
    if all(f.target != "ambient" for f in facts) and not why:
        return []
    head = ["channel", "estimate of the", "t90 [s]", "delay [s]", "effective\nresolution [s]", "known from", "remark"]
    note = (
        "Where t90 is known to better than 30 %, the lag and the delay of the sensor are corrected and the estimate is"
        " of the air; the noise-free reading is shown too. Elsewhere the estimate is of the reading, with its lag."
        " Effective resolution is the width at half maximum of a plume of one sample after correction."
    )
    return [Table(head, rows, (0, 1, 5, 6), (6,), title="Lag", note=note)]


def figures_tables(inspection: dict[str, Any]) -> list[Table]:
    """Motion, environment and gaps of the flight, in one table if there are any."""
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
    rows += [Row([f"gap from {gap['start'][11:19]} [s]", number(gap["duration_s"])]) for gap in inspection["gaps"]]
    return [Table(["", ""], rows, title="Flight")] if rows else []


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−") if np.isfinite(value) else "–"
