"""The QC bits are part of the file format: they never change."""

from __future__ import annotations

from pc2dae.flags import BAD, BELOW_BOUND, FLAGS, INDETERMINATE, NOT_MEASURED


def test_bits_and_their_combinations() -> None:
    assert FLAGS["missing"] == 1
    assert FLAGS["below_bound"] == BELOW_BOUND == 2048
    assert (FLAGS["outside_calibration"], FLAGS["filter_loaded"]) == (4096, 8192)
    assert (BAD, INDETERMINATE, NOT_MEASURED) == (799, 15584, 1823)
