"""ICARTT file format index 1001 (version 2), the exchange format of airborne science: writer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.channel_schema import CHANNEL_VARIABLES
from pc2dae.flight.icartt import NAMES, OURS, VARIABLES
from pc2dae.flight.schema import SPECIES, suite_of, timestamp
from pc2dae.flight.track import plain_names, time_series, units_by_name

_LONGEST_NAME = 31  # characters of a variable's name (ICARTT 2.0, 2.1.1)
_MISSING = -9999.0


def write_icartt(flight: xr.Dataset, path: Path) -> None:
    """Write every number over time as FFI 1001, missing as −9999 (more nines where data reach that far)."""
    stamps = flight["time"].values.astype("datetime64[ns]")
    midnight = stamps[0].astype("datetime64[D]")
    names = time_series(flight)
    largest = max((float(np.nanmax(np.abs(flight[n].values), initial=0)) for n in names), default=0.0)
    missing = _MISSING
    while abs(missing) / 9 * 7 <= largest:  # the flags −7777 and −8888 must be outside the data range too
        missing = missing * 10 - 9
    units = units_by_name(flight, names)
    seconds = (stamps - midnight.astype("datetime64[ns]")) / np.timedelta64(1, "s")
    steps = np.unique(np.diff(stamps))
    interval = steps[0] / np.timedelta64(1, "s") if len(steps) == 1 else 0
    short = _short_names(names)
    body = pd.DataFrame({"Time_Start": seconds} | {short[n]: flight[n].values for n in names})
    text = body.to_csv(index=False, na_rep=f"{missing:.0f}", lineterminator="\n")
    attrs: dict[str, Any] = _scalars(flight.attrs)
    attrs[VARIABLES] = {n: _scalars(flight[n].attrs) for n in names if not n.startswith("qc_")}
    attrs |= {NAMES: renamed} if (renamed := {new: old for old, new in short.items() if new != old}) else {}
    ours = f" {OURS}: {json.dumps(attrs, sort_keys=True)}"
    comments = [*_keywords(flight, missing), ours, "REVISION: R0", "R0: written by pc2dae"]
    created, collected = timestamp()[:10].replace("-", ", "), str(midnight).replace("-", ", ")
    lines = [
        *(" ".join(str(flight.attrs.get(key, "not stated")).split()) for key in ("creator_name", "institution")),
        f"in-situ sensors of suite {suite_of(flight).name} on {flight.attrs.get('platform', 'a mobile platform')}",
        " ".join(str(flight.attrs.get("project", "not stated")).split()),
        "1, 1",
        f"{collected}, {created}",
        f"{interval:g}",
        "Time_Start, seconds, Time_Start, seconds after midnight UTC",
        str(len(names)),
        ", ".join("1" for _ in names),
        ", ".join(f"{missing:.0f}" for _ in names),
        *(f"{short[n]}, {units[n]}, {short[n]}, {_plain(flight[n].attrs.get('long_name', n))}" for n in names),
        "0",
        str(len(comments) + 1),
        *comments,
    ]
    path.write_text("\n".join([f"{len(lines) + 2}, 1001", *lines, text]), encoding="utf-8", newline="")


def _short_names(names: list[str]) -> dict[str, str]:
    """Names of at most 31 characters, as the format demands; only longer ones are changed."""
    abbreviated = dict(zip(names, names, strict=True))
    for name in names:
        fitting = [variable for variable in CHANNEL_VARIABLES if variable.short and variable.fits(name)]
        if len(name) > _LONGEST_NAME and fitting:
            longest = max(fitting, key=lambda variable: len(variable.form))
            abbreviated[name] = name.removesuffix(longest.of("")) + longest.short
    short = plain_names([*abbreviated.values()], _LONGEST_NAME)
    return {name: short[new] for name, new in abbreviated.items()}


def _scalars(attrs: Mapping[Any, Any]) -> dict[str, str | int | float]:
    """The attributes that JSON can hold."""
    plain = {str(key): value.item() if isinstance(value, np.generic) else value for key, value in attrs.items()}
    return {key: value for key, value in plain.items() if isinstance(value, str | int | float)}


def _keywords(flight: xr.Dataset, missing: float) -> list[str]:
    suite, flags = suite_of(flight), f"{missing / 9 * 7:.0f} and {missing / 9 * 8:.0f}"
    limits = [f"{c.name} {c.detection_limit:g} {c.units}" for c in suite.channels if c.detection_limit is not None]
    said = {
        "PI_CONTACT_INFO": flight.attrs.get("creator_email", "not stated"),
        "PLATFORM": flight.attrs.get("platform", "not stated"),
        "LOCATION": "latitude, longitude and altitude are among the variables where known",
        "ASSOCIATED_DATA": "N/A",
        "INSTRUMENT_INFO": f"suite {suite.name}",
        "DATA_INFO": f"level {flight.attrs.get('level', 'raw')}; flags of <name> in qc_<name>, 0 is good; values beyond"
        " a detection limit are kept and flagged (out_of_range and saturated: lower limits; below_detection),"
        f" {flags} are not used",
        "UNCERTAINTY": _uncertainty(flight),
        "ULOD_FLAG": f"{missing / 9 * 7:.0f}",
        "ULOD_VALUE": "N/A",
        "LLOD_FLAG": f"{missing / 9 * 8:.0f}",
        "LLOD_VALUE": "; ".join(limits) or "N/A",
        "DM_CONTACT_INFO": "N/A",
        "PROJECT_INFO": flight.attrs.get("project", "not stated"),
        "STIPULATIONS_ON_USE": flight.attrs.get("license", "not stated"),
        "OTHER_COMMENTS": "; ".join(_estimated(flight)) or "N/A",
    }
    return [f"{key}: {_plain(value)}" for key, value in said.items()]


def _uncertainty(flight: xr.Dataset) -> str:
    """What the uncertainties contain."""
    contents: dict[str, list[str]] = {}
    for name in suite_of(flight).names:
        if "comment" in (attrs := flight[f"{name}_uncertainty"].attrs if f"{name}_uncertainty" in flight else {}):
            contents.setdefault(str(attrs["comment"]), []).append(name)
    parts = "its parts in <name>_random_uncertainty and <name>_systematic_uncertainty"
    said = [f"of {' '.join(names)} ({comment})" for comment, names in contents.items()]
    return "; ".join(["one standard uncertainty in <name>_uncertainty where known", parts, *said])


def _estimated(flight: xr.Dataset) -> list[str]:
    """What the variables of a denoised flight estimate, the air or the reading; from what, and how well resolved."""
    words = {"ambient": "the air (lag of the sensor corrected)", "response": "the noise-free reading"}
    names = {target: [str(n) for n in flight if flight[n].attrs.get("target") == target] for target in words}
    lines = [f"{' '.join(names[target])} estimate {words[target]}" for target in words if names[target]]
    widths = {str(n): float(flight[n].attrs.get("effective_resolution_s", np.nan)) for n in flight}
    resolved = [f"{name} {width:g} s" for name, width in widths.items() if np.isfinite(width)]
    lines += [f"effective resolution: {' '.join(resolved)}"] if resolved else []
    return lines + [f"{n} is combined from {flight[n].attrs[SPECIES]}" for n in flight if SPECIES in flight[n].attrs]


def _plain(text: object) -> str:
    return " ".join(str(text).replace(",", ";").split())
