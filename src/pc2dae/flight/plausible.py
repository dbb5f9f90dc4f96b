"""Units that cannot be right, seen by their range: environment is put right and listed, a channel is refused."""

from __future__ import annotations

import numpy as np

from pc2dae.errors import LogError
from pc2dae.flight.stream import Array
from pc2dae.suite import Channel

_THOUSANDS = {
    "ppm": ("ppb", "%"),
    "ppb": ("ppt", "ppm"),
    "ng m-3": ("pg m-3", "ug m-3"),
    "ug m-3": ("ng m-3", "mg m-3"),
}
_CO2_PPM = (200.0, 100_000.0)  # where the median of any air lies


def mended(name: str, values: Array) -> tuple[Array, str | None]:
    """Environment in this project's units: kelvin, pascal, kilopascal and fractions are recognised by their range."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values, None
    middle = float(np.median(finite))
    if name == "air_temperature" and 200.0 < middle < 340.0:
        return values - 273.15, f"air_temperature around {middle:.0f} taken as K, put to degC"
    if name == "air_temperature" and abs(middle) > 100.0:
        raise LogError(f"an air temperature of {middle:.0f} degC is not possible", hint="check the column and its unit")
    if name == "air_pressure" and 20_000.0 < middle < 120_000.0:
        return values / 100.0, f"air_pressure around {middle:,.0f} taken as Pa, put to hPa"
    if name == "air_pressure" and 20.0 < middle < 120.0:
        return values * 10.0, f"air_pressure around {middle:.0f} taken as kPa, put to hPa"
    if name == "air_pressure" and not 100.0 <= middle <= 1200.0:
        raise LogError(f"an air pressure of {middle:g} hPa is not possible", hint="check the column and its unit")
    if name == "relative_humidity" and 0.0 < float(finite.max()) <= 1.0 and middle > 0.02:
        return values * 100.0, "relative_humidity between 0 and 1 taken as a fraction, put to %"
    if name == "relative_humidity" and middle > 110.0:
        raise LogError(f"a relative humidity of {middle:.0f} % is not possible", hint="check the column and its unit")
    return values, None


def check_units(channel: Channel, values: Array, *, source: str) -> None:
    """Refuse a channel that does not fit its unit but would fit one a thousand times larger or smaller."""
    finite = values[np.isfinite(values)]
    if len(finite) < 10 or channel.units not in _THOUSANDS:
        return
    low, high = channel.valid_min, channel.valid_max
    if "co2" in channel.name.lower() and channel.units in ("ppm", "ppb") and channel.difference_of is None:
        factor = 1.0 if channel.units == "ppm" else 1000.0
        low, high = (_CO2_PPM[0] * factor, _CO2_PPM[1] * factor)
    if low is None or high is None or high <= 0:
        return
    if np.mean((finite >= low) & (finite <= high)) > 0.05:
        return
    smaller, larger = _THOUSANDS[channel.units]
    for factor, unit in ((1e-3, smaller), (1e3, larger)):
        if unit != "%" and np.mean((finite * factor >= max(low, 1e-9)) & (finite * factor <= high)) > 0.9:
            raise LogError(
                f"{source}: '{channel.name}' around {np.median(finite):g} is not {channel.units}, but would fit {unit}",
                hint="correct the unit in the suite",
            )
