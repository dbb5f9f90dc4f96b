"""The variables that a channel may have: what each holds, which stage writes it, its units, and the files it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ChannelVariable:
    """One variable of a channel; `form` is its name, with {} for the channel's."""

    form: str
    holds: str
    by: Literal["ingest", "calibrate", "denoise", "simulate"]
    content: str  # its `coverage_content_type` (ACDD, ISO 19115-1)
    units: Literal["channel", "own", "1"] = "channel"  # own: of before a calibration, which may be mV
    in_csv: bool = False
    in_maps: bool = False  # and kept for species, which are combined from channels
    short: str = ""  # its ending in ICARTT, where the full name would be too long
    is_reserved: bool = True  # no channel may have such a name

    @property
    def is_uncertainty(self) -> bool:
        """Whether it is a standard deviation, which a factor changes but an offset does not."""
        return self.form.endswith("uncertainty")

    def of(self, channel: str) -> str:
        """The variable's name.

        >>> CHANNEL_VARIABLES[1].of("co")
        'co_uncertainty'
        """
        return self.form.format(channel)

    def fits(self, name: str) -> bool:
        """Whether a name has this form."""
        first, last = self.form.split("{}")
        return name.startswith(first) and name.endswith(last)


_MEASURED, _MODEL, _QUALITY = "physicalMeasurement", "modelResult", "qualityInformation"
CHANNEL_VARIABLES = (  # in the order of their columns in a CSV
    ChannelVariable("{}", "a channel's values", "ingest", _MEASURED, in_csv=True, in_maps=True, is_reserved=False),
    ChannelVariable("{}_uncertainty", "a channel's uncertainty", "denoise", _QUALITY, in_csv=True, in_maps=True,
                    short="_unc"),
    ChannelVariable("{}_random_uncertainty", "a channel's random uncertainty", "denoise", _QUALITY, in_maps=True,
                    short="_rand_unc"),
    ChannelVariable("{}_systematic_uncertainty", "a channel's systematic uncertainty", "denoise", _QUALITY,
                    in_maps=True, short="_syst_unc"),
    ChannelVariable("qc_{}", "a channel's flags", "ingest", _QUALITY, "1", in_csv=True, in_maps=True),
    ChannelVariable("{}_raw", "a channel's values before denoising", "denoise", _MEASURED, in_csv=True),
    ChannelVariable("{}_unbounded", "a channel's estimate without its lower bound", "denoise", _MODEL, in_csv=True),
    ChannelVariable("{}_uncalibrated", "a channel's values before calibration", "calibrate", _MEASURED, "own",
                    in_csv=True),
    ChannelVariable("{}_response", "a channel's noise-free reading", "denoise", _MODEL),
    ChannelVariable("{}_disagreement_uncertainty", "a channel's uncertainty from its duplicates", "denoise", _QUALITY),
    ChannelVariable("{}_calibration_uncertainty", "a channel's uncertainty from its correction", "calibrate", _QUALITY,
                    "own"),
    ChannelVariable("{}_instant", "a channel's true value at an instant", "simulate", _MODEL),
    ChannelVariable("{}_ambient", "a channel's true concentration", "simulate", _MODEL, is_reserved=False),
)  # fmt: skip
BESIDE = tuple(v for v in CHANNEL_VARIABLES if v.form != "{}" and v.units != "1" and v.by != "simulate")
PARTS = ("", "random_", "systematic_")  # of `<name>_<part>uncertainty`
