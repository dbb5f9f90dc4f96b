"""Units as text: one spelling for each, so that no stage has to guess; pint converts between them."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from functools import cache
from typing import Any

from pc2dae.errors import SuiteError, nearest

_BASES = ["degC", "degF", "degrees_north", "degrees_east", "degree", "deg", "mol", "min", "counts", "count", "ppm",
          "ppb", "ppt", "mmHg", "inHg", "Pa", "Hz", "bar", "mph", "kn", "ft", "g", "m", "s", "h", "L", "l", "K", "V",
          "A", "W", "J", "rad", "sr", "%", "1"]  # fmt: skip
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
    "foot": "ft", "feet": "ft", "knot": "kn", "knots": "kn", "kt": "kn", "kts": "kn", "torr": "mmHg",
}  # fmt: skip
_ANGLE = re.compile(r"(decimal[ _])?deg(ree)?s?([ _]?(north|east|n|e))?")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻µμ", "0123456789-uu")
_FRACTION = re.compile(r"pp[mbt]|%|[munp]?mol mol-1")
# How a CF standard name begins, the units it has, and one of them.
_QUANTITIES = {
    "mole_fraction_of": (rf"{_FRACTION.pattern}|1", "ppb"),
    "mass_fraction_of": (r"[kmunp]?g k?g-1|%|1", "ug kg-1"),
    "mass_concentration_of": (r"[kmunp]?g (c?m-3|[lL]-1)", "ug m-3"),
    "mole_concentration_of": (r"[munp]?mol (c?m-3|[lL]-1)", "umol m-3"),
    "number_concentration_of": (r"(counts? |1 )?(c?m-3|[lL]-1)", "cm-3"),
    "volume_absorption_coefficient": (r"[kM]?m-1", "Mm-1"),
    "volume_scattering_coefficient": (r"[kM]?m-1", "Mm-1"),
    "volume_extinction_coefficient": (r"[kM]?m-1", "Mm-1"),
}


def canonical_units(text: str) -> str:
    """The CF spelling of a unit: `µg/m³` and `ug/m^3` become `ug m-3`; text that is not a unit is an error."""
    plain = (
        text.strip().translate(_SUPERSCRIPTS).replace("°C", "degC").replace("^", "").replace("**", "").replace("·", " ")
    )
    above, *below = plain.split("/")
    terms = above.replace(".", " ").split()
    terms += [re.sub(r"(\d?)$", lambda m: f"-{m[1] or 1}", term.strip("() "), count=1) for term in below]
    terms = [term for term in terms if term != "1"] or terms[:1]
    if terms and all(_TERM.fullmatch(term) for term in terms):
        return " ".join(terms)
    raise SuiteError(f"'{text}' is not a unit", hint=nearest(text, _COMMON))


@cache
def conversion(given: str, wanted: str) -> tuple[float, float] | None:
    """Factor and offset that bring values from the unit `given` to the unit `wanted`; None where there is none.

    >>> conversion("ppmv", "ppb"), conversion("feet", "m"), conversion("ug m-3", "ppb")
    ((1000.0, 0.0), (0.3048, 0.0), None)
    """
    here, there = (spelled(text) for text in (given, wanted))
    if here == there:
        return 1.0, 0.0
    # To pint, ppm, degrees, counts and 1 are all numbers without a dimension.
    if {here, there} & {"1", "count", "counts"} or is_mole_fraction(here) != is_mole_fraction(there):
        return None
    if not all(_TERM.fullmatch(term) for term in (*here.split(), *there.split())):
        return None
    registry = _registry()
    from pint.errors import DimensionalityError

    units = [re.sub(r"(-?\d)(?= |$)", r"**\1", text).replace(" ", "*") for text in (here, there)]
    try:
        zero, one = (registry.convert(Fraction(number), *units) for number in (0, 1))
    except DimensionalityError:
        return None
    return float(one - zero), float(zero)


@cache
def _registry() -> Any:
    """The units of pint as fractions, so that powers of ten are exact, with the parts per billion that it lacks."""
    if not sys.modules.get("pint", True):
        del sys.modules["pint"]  # hidden from xarray by the command line
    from pint import UnitRegistry

    registry: Any = UnitRegistry(non_int_type=Fraction)
    for definition in ("ppb = 1e-9", "ppt = 1e-12"):
        registry.define(definition)
    return registry


def is_mole_fraction(units: str) -> bool:
    """Whether a unit is one of mole fractions; without pint, for suites on a drone."""
    return _FRACTION.fullmatch(spelled(units)) is not None


def is_per_volume(units: str) -> bool:
    """Whether a unit is one of quantities in a volume of air, which depend on its temperature and pressure."""
    patterns = [pattern for kind, (pattern, _) in _QUANTITIES.items() if "fraction" not in kind]
    return any(re.fullmatch(pattern, spelled(units)) for pattern in patterns)


def contradiction(standard_name: str, units: str) -> str | None:
    """What to write instead of a CF standard name that cannot have these units; None where the two agree.

    >>> contradiction("mole_fraction_of_ozone_in_air", "ug m-3")
    'write mass_concentration_of_ozone_in_air, or units such as ppb'
    """
    unit = spelled(units)
    kind = next((k for k in _QUANTITIES if standard_name.startswith(k)), None)
    if kind is None or re.fullmatch(_QUANTITIES[kind][0], unit):
        return None
    instead = f"write units such as {_QUANTITIES[kind][1]}"
    other = next((k for k, (pattern, _) in _QUANTITIES.items() if re.fullmatch(pattern, unit)), "")
    if kind.endswith("_of") and other.endswith("_of"):
        instead = f"write {standard_name.replace(kind, other)}, or units such as {_QUANTITIES[kind][1]}"
    return instead


def spelled(text: str) -> str:
    """The canonical spelling of a unit, however a file spells it; other text is returned unchanged."""
    plain = _SPELLINGS.get(text.strip().lower(), text.strip())
    if _ANGLE.fullmatch(plain.lower()):
        return "degree"
    try:
        return canonical_units(plain)
    except SuiteError:
        return plain
