"""Units written in column names, as in `CO (ppm)`, `T_F` or `Pressure [inHg]`."""

from __future__ import annotations

import re

from pc2dae.errors import SuiteError
from pc2dae.suite.units import canonical_units, conversion, is_mole_fraction, is_per_volume, spelled

# Units at the end of a name, and how they are spelled there: lower case, without blanks and signs.
_UNITS = ("ppt", "ppb", "ppm", "pphm", "pphb", "pg m-3", "ng m-3", "ug m-3", "mg m-3", "degC", "K", "degF", "Pa", "hPa",
          "kPa", "bar", "inHg", "mmHg", "m", "km", "ft", "m s-1", "km h-1", "kn", "mph", "mV", "V", "nA",
          "counts")  # fmt: skip
_SPELLINGS = {
    **{re.sub(r"[^a-z0-9]", "", unit.lower()): unit for unit in _UNITS},
    **{f"{unit}v": unit for unit in ("ppt", "ppb", "ppm")},
    "nmolmol1": "ppb", "nmolmol": "ppb", "umolmol1": "ppm", "umolmol": "ppm", "mb": "hPa", "mbar": "hPa",
    "c": "degC", "celsius": "degC", "kelvin": "K", "f": "degF", "fahrenheit": "degF", "torr": "mmHg",
    "feet": "ft", "foot": "ft", "meters": "m", "metres": "m", "mps": "m s-1", "ms": "m s-1", "kmh": "km h-1",
    "kph": "km h-1", "kt": "kn", "kts": "kn", "knots": "kn", "count": "counts", "volt": "V", "volts": "V",
    "millivolts": "mV", **dict.fromkeys(("percent", "pct", "volpercent", "percentvol", "volpct", "percentvv"), "%"),
}  # fmt: skip
_SIGNALS = {"pphm", "pphb", "%", "mV", "V", "nA", "counts"}  # units wherever they stand, if a concentration is expected
_ANNOTATIONS = re.compile(r"[A-UW-Za-z]|min|Hz|1")  # a sensor's letter, an averaging time
_UNKNOWN = re.compile(r"pp[a-z]{1,3}|[\w.]{1,8} ?/ ?(N?c?m\^?3|cc|[lL]|k?g|mol|m\^?2)", re.IGNORECASE)


def unit_in(label: str, units: str) -> str | None:
    """The unit in a column's name, None if it states none or two; in brackets, one that is not known too.

    Single letters and times are units only if those can be converted to `units`: "CO (A)" is the CO of a sensor A.
    """
    if units == "1":
        return None
    plain = label.translate(str.maketrans("µμ³⁻¹#", "uu3-11")).replace("/cc", "/cm3")
    brackets = {_in_brackets(text.strip(), units) for text in re.findall(r"[(\[]([^)\]]+)[)\]]", plain)} - {None}
    open_ = re.sub(r"[(\[].*?[)\]]", " ", plain).replace("%", " percent ")
    words = [word for word in re.split(r"[^A-Za-z0-9]+", open_) if word]
    ends = ["".join(words[-count:]) for count in (3, 2, 1) if len(words) > count]
    stated = brackets | {next((unit for end in ends if (unit := _spelt(end, units))), None)} - {None}
    stated = stated or {unit for word in words[1:] if len(word) > 2 and (unit := _spelt(word, units))}
    return stated.pop() if len(stated) == 1 else None


def _in_brackets(text: str, units: str) -> str | None:
    unit = _spelt(text, units) or spelled(text)
    if _fits(unit, units):
        return unit
    try:
        canonical_units(unit)
    except SuiteError:
        return text if _UNKNOWN.fullmatch(text) else None
    return None if _ANNOTATIONS.fullmatch(unit) else unit


def _spelt(text: str, units: str) -> str | None:
    unit = _SPELLINGS.get(re.sub(r"[^a-z0-9]", "", text.lower().replace("%", "percent").replace("deg", "")), "")
    return unit if _fits(unit, units) or (unit in _SIGNALS and len(text) > 1) else None


def _fits(unit: str, units: str) -> bool:
    """Whether values can be converted between two units, perhaps with the molar mass of a gas."""
    are_concentrations = all(is_mole_fraction(u) or is_per_volume(u) for u in (unit, units))
    return bool(unit) and (are_concentrations or conversion(unit, units) is not None)
