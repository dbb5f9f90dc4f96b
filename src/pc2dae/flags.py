"""The QC flags: one bit for each meaning, the same for whole flights and live streams (no dependencies)."""

from __future__ import annotations

FLAGS = {
    meaning: 1 << bit
    for bit, meaning in enumerate((
        "missing",
        "stale",
        "out_of_range",
        "spike",
        "flat_line",
        "saturated",
        "below_detection",
        "thermal_transient",
        "startup",
        "tape_advance",
        "interpolated",
        "below_bound",
        "outside_calibration",
        "filter_loaded",
    ))
}  # fmt: skip
(
    MISSING,
    STALE,
    OUT_OF_RANGE,
    SPIKE,
    FLAT_LINE,
    SATURATED,
    BELOW_DETECTION,
    THERMAL_TRANSIENT,
    STARTUP,
    TAPE_ADVANCE,
    INTERPOLATED,
    BELOW_BOUND,
    OUTSIDE_CALIBRATION,
    FILTER_LOADED,
) = FLAGS.values()

# Bad: the value is not a measurement of the air at this time. Indeterminate: valid, but to be used with care;
# a saturated value is a lower limit.
INDETERMINATE = (
    SATURATED | BELOW_DETECTION | THERMAL_TRANSIENT | INTERPOLATED | BELOW_BOUND | OUTSIDE_CALIBRATION | FILTER_LOADED
)
BAD = sum(FLAGS.values()) - INDETERMINATE
NOT_MEASURED = BAD | INTERPOLATED  # no denoiser may use such a value as an observation

RAISED = 2.0  # standard uncertainties by which the bound raises an estimate that is flagged below_bound
