"""Units written in column names, as in `CO (ppm)`, `T_F` or `Pressure [inHg]`, and their exact conversion."""

from __future__ import annotations

import re

from pc2dae.flight.stream import Array

# Unit → quantity, factor and offset to its base unit: base = factor · value + offset.
_UNITS = {
    "ppt": ("mixing ratio", 1e-3, 0.0),
    "ppb": ("mixing ratio", 1.0, 0.0),
    "ppm": ("mixing ratio", 1e3, 0.0),
    "pg m-3": ("mass concentration", 1e-3, 0.0),
    "ng m-3": ("mass concentration", 1.0, 0.0),
    "ug m-3": ("mass concentration", 1e3, 0.0),
    "mg m-3": ("mass concentration", 1e6, 0.0),
    "degC": ("temperature", 1.0, 0.0),
    "K": ("temperature", 1.0, -273.15),
    "degF": ("temperature", 5.0 / 9.0, -160.0 / 9.0),
    "Pa": ("pressure", 0.01, 0.0),
    "hPa": ("pressure", 1.0, 0.0),
    "kPa": ("pressure", 10.0, 0.0),
    "bar": ("pressure", 1000.0, 0.0),
    "inHg": ("pressure", 33.86389, 0.0),  # NIST SP 811, as is the next
    "mmHg": ("pressure", 1.333224, 0.0),
    "m": ("length", 1.0, 0.0),
    "km": ("length", 1000.0, 0.0),
    "ft": ("length", 0.3048, 0.0),
    "m s-1": ("speed", 1.0, 0.0),
    "km h-1": ("speed", 1.0 / 3.6, 0.0),
    "kn": ("speed", 1852.0 / 3600.0, 0.0),
    "mph": ("speed", 0.44704, 0.0),
}
# As people write them, without blanks, signs and case; single letters count at the end of a name only.
_SPELLINGS = {
    **{re.sub(r"[^a-z0-9]", "", unit.lower()): unit for unit in _UNITS},
    **{f"{unit}v": unit for unit in ("ppt", "ppb", "ppm")},
    "nmolmol1": "ppb", "nmolmol": "ppb", "umolmol1": "ppm", "umolmol": "ppm", "mb": "hPa", "mbar": "hPa",
    "c": "degC", "celsius": "degC", "kelvin": "K", "f": "degF", "fahrenheit": "degF", "torr": "mmHg",
    "feet": "ft", "meters": "m", "metres": "m", "mps": "m s-1", "ms": "m s-1", "kmh": "km h-1", "kph": "km h-1",
    "kt": "kn", "kts": "kn", "knots": "kn",
}  # fmt: skip
_CONCENTRATIONS = ("mixing ratio", "mass concentration")


def unit_in(label: str, units: str) -> str | None:
    """The unit in a column's name, where it is one that a quantity in `units` may have; None where there is none."""
    if units not in _UNITS:
        return None
    plain = label.replace("µ", "u").replace("μ", "u").replace("³", "3").replace("⁻", "-").replace("¹", "1")
    brackets = [_spelt(text, units) for text in re.findall(r"[(\[]([^)\]]+)[)\]]", plain)]
    words = [word for word in re.split(r"[^A-Za-z0-9]+", re.sub(r"[(\[].*?[)\]]", " ", plain)) if word]
    ends = ["".join(words[-count:]) for count in (3, 2, 1) if len(words) > count]
    inside = [word for word in words[1:] if len(word) > 2]
    found = {unit for unit in brackets if unit} or {next((u for e in ends if (u := _spelt(e, units))), None)} - {None}
    found = found or {unit for word in inside if (unit := _spelt(word, units))}
    return found.pop() if len(found) == 1 else None


def _spelt(text: str, units: str) -> str | None:
    unit = _SPELLINGS.get(re.sub(r"[^a-z0-9]", "", text.lower().replace("deg", "")))
    quantity = _UNITS[units][0]
    allowed = _CONCENTRATIONS if quantity in _CONCENTRATIONS else (quantity,)
    return unit if unit is not None and _UNITS[unit][0] in allowed else None


def can_convert(unit: str, units: str) -> bool:
    """Whether both measure the same quantity; ppb and ug m-3 do not: that takes a molar mass and the air's density."""
    return _UNITS[unit][0] == _UNITS[units][0]


def converted(values: Array, unit: str, units: str) -> Array:
    """Values in `unit` as values in `units`.

    >>> converted(np.array([75.2]), "degF", "degC").round(9)
    array([24.])
    """
    (_, factor, offset), (_, base, shift) = _UNITS[unit], _UNITS[units]
    return (values * factor + (offset - shift)) / base
