"""Units written in column names, as in `CO (ppm)`, `T_F` or `Pressure [inHg]`."""

from __future__ import annotations

import re

# Units in which a quantity may be logged.
_QUANTITIES = {
    "mixing ratio": ("ppt", "ppb", "ppm"),
    "mass concentration": ("pg m-3", "ng m-3", "ug m-3", "mg m-3"),
    "temperature": ("degC", "K", "degF"),
    "pressure": ("Pa", "hPa", "kPa", "bar", "inHg", "mmHg"),
    "length": ("m", "km", "ft"),
    "speed": ("m s-1", "km h-1", "kn", "mph"),
}
_QUANTITY_OF = {unit: quantity for quantity, units in _QUANTITIES.items() for unit in units}
# Common spellings, lower case, without blanks and signs; single letters count only at the end of a name.
_SPELLINGS = {
    **{re.sub(r"[^a-z0-9]", "", unit.lower()): unit for unit in _QUANTITY_OF},
    **{f"{unit}v": unit for unit in ("ppt", "ppb", "ppm")},
    "nmolmol1": "ppb", "nmolmol": "ppb", "umolmol1": "ppm", "umolmol": "ppm", "mb": "hPa", "mbar": "hPa",
    "c": "degC", "celsius": "degC", "kelvin": "K", "f": "degF", "fahrenheit": "degF", "torr": "mmHg",
    "feet": "ft", "foot": "ft", "meters": "m", "metres": "m", "mps": "m s-1", "ms": "m s-1", "kmh": "km h-1",
    "kph": "km h-1", "kt": "kn", "kts": "kn", "knots": "kn",
}  # fmt: skip
_CONCENTRATIONS = ("mixing ratio", "mass concentration")


def unit_in(label: str, units: str) -> str | None:
    """The unit in a column's name, if it is compatible with `units`; else None."""
    if units not in _QUANTITY_OF:
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
    quantity = _QUANTITY_OF[units]
    allowed = _CONCENTRATIONS if quantity in _CONCENTRATIONS else (quantity,)
    return unit if unit is not None and _QUANTITY_OF[unit] in allowed else None
