"""Units as text: one spelling for each, so that no stage has to guess."""

from __future__ import annotations

import re

from pc2dae.errors import SuiteError, nearest

_BASES = ["degC", "degrees_north", "degrees_east", "degree", "deg", "mol", "min", "count", "counts", "ppm", "ppb",
          "ppt", "Pa", "Hz", "bar", "mbar", "g", "m", "s", "h", "L", "l", "K", "V", "A", "W", "J", "rad", "sr", "%",
          "1"]  # fmt: skip
_PREFIXES = ["", "n", "u", "m", "c", "d", "h", "k", "M", "G", "p"]
_TERM = re.compile(rf"(?:{'|'.join(_PREFIXES[1:])})?(?:{'|'.join(re.escape(b) for b in _BASES)})(?:-?[1-9])?")
_COMMON = ["ng m-3", "ug m-3", "mg m-3", "ppb", "ppm", "ppt", "umol mol-1", "nmol mol-1", "mmol mol-1", "Mm-1", "m-1",
           "cm-3", "degC", "K", "%", "hPa", "Pa", "m", "m s-1", "degree", "V", "mV", "nA", "mL min-1", "1"]  # fmt: skip
_SPELLINGS = {
    "ppmv": "ppm", "ppbv": "ppb", "pptv": "ppt", "1e-6": "ppm", "1e-9": "ppb", "1e-12": "ppt", "percent": "%",
    "c": "degC", "deg c": "degC", "deg_c": "degC", "degree_c": "degC", "degrees_c": "degC", "celsius": "degC",
    "degree_celsius": "degC", "degrees_celsius": "degC", "kelvin": "K", "degk": "K", "deg k": "K",
    "mbar": "hPa", "mb": "hPa", "millibar": "hPa", "meter": "m", "meters": "m", "metre": "m", "metres": "m",
    "f": "degF", "degf": "degF", "deg_f": "degF", "fahrenheit": "degF", "degree_fahrenheit": "degF",
}  # fmt: skip
_ANGLE = re.compile(r"(decimal[ _])?deg(ree)?s?([ _]?(north|east|n|e))?")
# Within a group, a value in one unit is (value + offset) · size in the base unit.
_GROUPS = [
    {"mol mol-1": 1.0, "%": 1e-2, "mmol mol-1": 1e-3, "ppm": 1e-6, "umol mol-1": 1e-6, "ppb": 1e-9, "nmol mol-1": 1e-9,
     "ppt": 1e-12, "pmol mol-1": 1e-12},
    {"kg m-3": 1e3, "g m-3": 1.0, "mg m-3": 1e-3, "ug m-3": 1e-6, "ng m-3": 1e-9, "pg m-3": 1e-12},
    {"Pa": 1.0, "hPa": 1e2, "kPa": 1e3, "bar": 1e5, "mmHg": 133.3224, "inHg": 3386.389},  # the last two: NIST SP 811
    {"m": 1.0, "km": 1e3, "ft": 0.3048},
    {"m s-1": 1.0, "km h-1": 1 / 3.6, "kn": 1852 / 3600, "mph": 0.44704},
    {"degC": 1.0, "K": 1.0, "degF": 5 / 9},
]  # fmt: skip
_OFFSETS = {"degC": 273.15, "degF": 459.67}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻µμ", "0123456789-uu")


def canonical_units(text: str) -> str:
    """The CF spelling of a unit: `µg/m³` and `ug/m^3` become `ug m-3`; text that is not a unit is an error."""
    plain = (
        text.strip().translate(_SUPERSCRIPTS).replace("°C", "degC").replace("^", "").replace("**", "").replace("·", " ")
    )
    above, *below = plain.split("/")
    terms = above.replace(".", " ").split()
    terms += [re.sub(r"(\d?)$", lambda m: f"-{m[1] or 1}", term.strip("() "), count=1) for term in below]
    if terms and all(_TERM.fullmatch(term) for term in terms):
        return " ".join(terms)
    raise SuiteError(f"'{text}' is not a unit", hint=nearest(text, _COMMON))


def conversion(given: str, wanted: str) -> tuple[float, float] | None:
    """Factor and offset that bring values from the unit `given` to the unit `wanted`; None where there is none.

    >>> conversion("ppmv", "ppb")
    (1000.0, 0.0)
    """
    here, there = (_spelled(text) for text in (given, wanted))
    if here == there:
        return 1.0, 0.0
    for sizes in _GROUPS:
        if here in sizes and there in sizes:
            larger = sizes[here] >= sizes[there]  # a power of ten is exact, its inverse is not
            factor = round(sizes[here] / sizes[there], 12) if larger else 1 / round(sizes[there] / sizes[here], 12)
            return factor, factor * _OFFSETS.get(here, 0.0) - _OFFSETS.get(there, 0.0)
    return None


def _spelled(text: str) -> str:
    """The canonical spelling of a unit, however a file spells it; other text is returned unchanged."""
    plain = _SPELLINGS.get(text.strip().lower(), text.strip())
    if _ANGLE.fullmatch(plain.lower()):
        return "degree"
    try:
        return canonical_units(plain)
    except SuiteError:
        return plain
