"""What the payload is."""

from pc2dae.suite.model import ENVIRONMENT, MOTION, Channel, Family, Suite, TimeColumn
from pc2dae.suite.read import load_suite, parse_suite, presets
from pc2dae.suite.source import Source
from pc2dae.suite.units import canonical_units, conversion

__all__ = [
    "ENVIRONMENT",
    "MOTION",
    "Channel",
    "Family",
    "Source",
    "Suite",
    "TimeColumn",
    "canonical_units",
    "conversion",
    "load_suite",
    "parse_suite",
    "presets",
]
