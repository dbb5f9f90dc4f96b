"""Plumes: background, encounters, excess, emission ratios and combustion efficiency, with uncertainty."""

from pc2dae.plumes.emission import Fuel, campaign_factors, emission_factors
from pc2dae.plumes.encounters import Encounter, extents, find_encounters, half_rise, in_plume
from pc2dae.plumes.excess import Excess, integrate
from pc2dae.plumes.ratio_rows import RATIOS
from pc2dae.plumes.ratios import Ratio, combustion_efficiency, integral_ratio, slope_ratio
from pc2dae.plumes.survey import Survey, survey
from pc2dae.plumes.york import york_line
from pc2dae.response.kernels import match_response

__all__ = [
    "RATIOS",
    "Encounter",
    "Excess",
    "Fuel",
    "Ratio",
    "Survey",
    "campaign_factors",
    "combustion_efficiency",
    "emission_factors",
    "extents",
    "find_encounters",
    "half_rise",
    "in_plume",
    "integral_ratio",
    "integrate",
    "match_response",
    "slope_ratio",
    "survey",
    "york_line",
]
