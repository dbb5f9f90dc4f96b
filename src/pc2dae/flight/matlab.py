"""Flights as MAT-files (version 5) for MATLAB and Octave."""

from __future__ import annotations

import io
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.flight.schema import timestamp
from pc2dae.flight.track import iso_stamps, plain_names, time_series, units_by_name

_LONGEST = 63  # characters of a name in MATLAB
_DATENUM_OF_1970 = 719_529.0
_HEADER = 116  # bytes of text at the start of a file


def matlab_bytes(flight: xr.Dataset) -> bytes:
    """All numbers over time as columns; structs `units`, `long_name` by their names; struct `flight` of attributes.

    Time is `time_datenum` [days since the year 0, UTC] and `time_iso` (text, a row for each sample).
    """
    from scipy.io import savemat

    time, names = flight["time"].values.astype("datetime64[ns]"), time_series(flight)
    short = plain_names(names, _LONGEST)
    units = {short[name]: unit for name, unit in units_by_name(flight, names).items()}
    texts = {str(key): str(value) for key, value in flight.attrs.items()}
    content: dict[str, Any] = {
        "time_datenum": _DATENUM_OF_1970 + (time - np.datetime64(0, "ns")) / np.timedelta64(1, "D"),
        "time_iso": np.array(iso_stamps(time).tolist()),  # as wide as the stamps
        **{short[name]: flight[name].values for name in names},
        "units": units | {"time_datenum": "days since 0000-01-00 00:00 UTC (datenum)"},
        "long_name": {short[name]: str(flight[name].attrs.get("long_name", name)) for name in names},
        "flight": {plain_names([*texts], _LONGEST)[key]: text for key, text in texts.items()},
    }
    file = io.BytesIO()
    savemat(file, content, long_field_names=True, oned_as="column")
    header = f"MATLAB 5.0 MAT-file, written by pc2dae {version('pc2dae')} on {timestamp()}"
    return header.ljust(_HEADER).encode() + file.getvalue()[_HEADER:]  # scipy's has the time of day
