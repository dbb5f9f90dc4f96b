"""A written flight in ARM's ACT; needs `pip install act-atmos`, which the project does not depend on."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.flags import BAD, STALE
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_act_masks_what_we_flag(tmp_path: Path) -> None:
    pytest.importorskip("act", reason="act-atmos is not installed")
    import act.qc.clean
    import act.qc.qcfilter  # noqa: F401 (both add accessors to datasets)

    suite = load_suite("black-kite").only(["co2"])
    time = np.datetime64("2025-10-10T16:00:00") + np.arange(60).astype("timedelta64[s]")
    flags = np.where(np.arange(60) % 2, STALE, 0)
    flight = new_flight(time, {name: np.full(60, 420.0) for name in suite.names}, suite, flags={"co2_scd30": flags})
    write_flight(flight, tmp_path / "flight.nc")
    with xr.open_dataset(tmp_path / "flight.nc") as opened:
        opened.clean.cleanup()  # as ACT's own reader does with `cleanup_qc`
        masked = opened.qcfilter.get_masked_data("co2_scd30", rm_assessments=["Bad"])
        stale = opened.qcfilter.get_qc_test_mask("co2_scd30", 2)  # the second bit
    assert masked.mask.tolist() == (flags & BAD != 0).tolist()
    assert stale.tolist() == (flags == STALE).tolist()
