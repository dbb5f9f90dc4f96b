"""Plumes: background, encounters, excess, emission ratios and combustion efficiency, with uncertainty."""

from pc2dae.plumes.background import background, clean_air, threshold
from pc2dae.plumes.encounters import Encounter, extents, find_encounters, half_rise, in_plume
from pc2dae.plumes.excess import Excess, integrate
from pc2dae.plumes.ratios import Ratio, combustion_efficiency, integral_ratio, orthogonal_slope, slope_ratio
from pc2dae.plumes.survey import RATIOS, Survey, survey
from pc2dae.response.matched import match_response

__all__ = [
    "RATIOS",
    "Encounter",
    "Excess",
    "Ratio",
    "Survey",
    "background",
    "clean_air",
    "combustion_efficiency",
    "extents",
    "find_encounters",
    "half_rise",
    "in_plume",
    "integral_ratio",
    "integrate",
    "match_response",
    "orthogonal_slope",
    "slope_ratio",
    "survey",
    "threshold",
]
