"""Simulated zero checks: clean air before and after a flight, as a reference beside the aircraft reports it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.simulate.plan import FlightPlan

# Standard uncertainty of the reference: ppb, CO2 in ppm.
REFERENCE_UNCERTAINTY = {"o3": 1.0, "no": 0.5, "no2": 0.5, "so2": 0.5, "co": 5.0, "co2": 1.0}
START_UP_S = 20  # of the instruments, before the first check
SETTLING_S = 60  # three time constants of the slowest sensor (SCD30) after landing
MARGIN_S = 10  # before the end of a check, for clocks and for carrying the aircraft


def reference_checks(plan: FlightPlan, truth: xr.Dataset) -> pd.DataFrame:
    """Known air of both checks: start, end (UTC), channel, value and standard uncertainty in the channel's units."""
    rng = plan.rng(40)
    channels = [str(name).removesuffix("_ambient") for name in truth.data_vars if str(name).endswith("_ambient")]
    rows = []
    landing = plan.samples - plan.zero_check_s
    for begin, end in (START_UP_S, plan.zero_check_s - MARGIN_S), (landing + SETTLING_S, plan.samples - MARGIN_S):
        period = stamp(plan, begin), stamp(plan, end)
        error = {gas: rng.normal(0, sigma) for gas, sigma in REFERENCE_UNCERTAINTY.items()}
        for channel in channels:
            gas = channel.split("_")[0]
            if gas in error:
                value = float(truth[f"{channel}_ambient"].values[begin:end].mean()) + error[gas]
                rows.append((*period, channel, round(value, 3), REFERENCE_UNCERTAINTY[gas]))
    return pd.DataFrame(rows, columns=["start", "end", "channel", "value", "uncertainty"])


def stamp(plan: FlightPlan, second: int) -> str:
    """ISO 8601 time in UTC, `second` after the start of `plan`."""
    return f"{np.datetime_as_string(plan.start + np.timedelta64(second, 's'), unit='s')}Z"
