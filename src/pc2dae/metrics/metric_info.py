"""Label, unit, significant digits and target of every metric, for all tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Labels of a metric: `words` in full, `short` for headings; `good` is "high", "low" or a target value."""

    words: str
    unit: str
    short: str
    digits: int
    good: str | float

    @property
    def full(self) -> str:
        """Full label with the unit in brackets."""
        return f"{self.words} [{self.unit}]" if self.unit else self.words

    @property
    def heading(self) -> str:
        """Short label with the unit."""
        return f"{self.short}, {self.unit}" if self.unit else self.short


# In the order of the tables.
METRICS: dict[str, Words] = {
    "mae_improvement": Words("MAE reduction", "%", "MAE reduction", 1, "high"),
    "snr_improvement": Words("SNR gain", "dB", "SNR gain", 2, "high"),
    "smoothness": Words("smoothness", "%", "smooth", 1, "high"),
    "hf_reduction": Words("HF reduction", "%", "HF", 1, "high"),
    "negatives": Words("negative values", "%", "neg.", 1, "low"),
    "mean_10s_change": Words("change of 10-s means", "σ of the mean", "10-s means", 2, 1.0),
    "pair_agreement": Words("disagreement with the duplicate sensor, after/before", "", "pair", 3, "low"),
    "leakage": Words("leakage into other channels", "σ", "leak", 2, "low"),
    "encounters": Words("plume encounters per channel", "", "plumes", 1, "high"),
    "missed": Words("missed encounters", "", "missed", 2, "low"),
    "false": Words("false encounters", "", "false", 2, "low"),
    "peak_bias": Words("peak bias", "%", "peak", 1, 0.0),
    "edge_error": Words("plume edge error", "s", "edge", 2, "low"),
    "excess_error": Words("integrated excess error", "%", "excess", 1, "low"),
    "ratio_error": Words("emission ratio error", "%", "ratio", 1, "low"),
    "background_bias": Words("background bias", "σ", "background", 2, 0.0),
    "coverage_90": Words("coverage of the 90 % interval", "%", "cover 90", 1, 90.0),
    "coverage_90_plume": Words("… in plumes", "%", "… plumes", 1, 90.0),
    "coverage_90_background": Words("… in clean air", "%", "… clean", 1, 90.0),
    "width_90": Words("width of the interval", "σ", "width", 2, "low"),
    "crps": Words("CRPS", "σ", "CRPS", 3, "low"),
    "scaled_error": Words("MAE in units of P99.5 − bound", "", "scaled error", 4, "low"),
    "budget_noise": Words("noise in the raw data", "σ", "noise", 2, "low"),
    "budget_lag": Words("lag", "σ", "lag", 2, "low"),
    "budget_calibration": Words("calibration error", "σ", "calibration", 2, "low"),
    "budget_left": Words("left of noise and lag", "σ", "left", 2, "low"),
    "budget_noise_plume": Words("noise in plumes", "σ", "noise in plumes", 2, "low"),
    "budget_lag_plume": Words("lag in plumes", "σ", "lag in plumes", 2, "low"),
    "budget_calibration_plume": Words("calibration error in plumes", "σ", "calibration in plumes", 2, "low"),
    "budget_left_plume": Words("left of noise and lag in plumes", "σ", "left in plumes", 2, "low"),
    "ambient_error": Words("ambient error (lag, calibration)", "σ", "ambient", 2, "low"),
}
