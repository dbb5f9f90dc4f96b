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
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻µμ", "0123456789-uu")


def canonical_units(text: str) -> str:
    """The CF spelling of a unit: `µg/m³` and `ug/m^3` become `ug m-3`; what is no unit at all is refused."""
    plain = (
        text.strip().translate(_SUPERSCRIPTS).replace("°C", "degC").replace("^", "").replace("**", "").replace("·", " ")
    )
    above, *below = plain.split("/")
    terms = above.replace(".", " ").split()
    terms += [re.sub(r"(\d?)$", lambda m: f"-{m[1] or 1}", term.strip("() "), count=1) for term in below]
    if terms and all(_TERM.fullmatch(term) for term in terms):
        return " ".join(terms)
    raise SuiteError(f"'{text}' is not a unit", hint=nearest(text, _COMMON))
