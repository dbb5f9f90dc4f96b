"""Labels of all metrics are defined in one place."""

from pc2dae.metrics.budget import BUDGET
from pc2dae.metrics.metric_info import METRICS, Words

SCIENCE_4 = {
    *("smoothness", "hf_reduction", "negatives", "pair_agreement", "mean_10s_change"),
    *("mae_improvement", "snr_improvement", "encounters", "peak_bias", "missed", "false", "edge_error", "excess_error"),
    *("ratio_error", "background_bias", "coverage_90", "coverage_90_plume", "coverage_90_background", "width_90"),
    *("crps", "leakage", "ambient_error"),
}


def test_every_metric_has_words() -> None:
    assert set(METRICS) == {*SCIENCE_4, *BUDGET, "scaled_error"}  # the last in the benchmark alone


def test_a_unit_stands_in_brackets_or_after_a_comma() -> None:
    edge = Words("plume edge error", "s", "edge", 2, "low")
    assert (edge.full, edge.heading) == ("plume edge error [s]", "edge, s")
    assert Words("false ones", "", "false", 2, "low").full == "false ones"
