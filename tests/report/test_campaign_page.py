"""The page of a campaign: its sentences, its calendar, its ratios, the flights to look at first."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae.errors import FlightError
from pc2dae.report.campaign_figures import calendar, distribution, ratio_over_time
from pc2dae.report.campaign_page import factor_table, ratio_table, write_campaign_page


def index() -> pd.DataFrame:
    """Three flights on two days, one failure; figures by hand."""
    table = pd.DataFrame({
        "flight": ["a", "b", "c", "d"],
        "status": ["done", "done", "done", "failed"],
        "error": [None, None, None, "d.nc cannot be read"],
        "start": pd.to_datetime(["2025-10-06T12:00Z", "2025-10-06T14:00Z", "2025-10-15T12:00Z", None], utc=True),
        "span_s": [600.0, 1200.0, 3600.0, np.nan],
        "rows": [600, 1200, 3600, None],
        "families": ["gas", "gas,bc", "gas", None],
        "left_raw": ["none", "none", "bc (weak)", None],
        "model": ["adaptive"] * 3 + [None],
        "plumes": [2, 0, 3, None],
        **{f"{m}{f}": [1.0, 2.0, 9.0, np.nan] for m in ("smoothness", "hf_reduction", "mean_10s_change")
           for f in ("", "_gas")},
        **{f"{r}{s}": [np.nan] * 4 for r in ("nox_co", "co_co2") for s in ("", "_sigma")},
        "bc_co": [np.nan, 4.0, np.nan, np.nan], "bc_co_sigma": [np.nan, 1.0, np.nan, np.nan],
        "mce": [0.90, np.nan, 0.96, np.nan], "mce_sigma": [0.02, np.nan, 0.01, np.nan],
    })  # fmt: skip
    return table.astype({"rows": "Int64", "plumes": "Int64", **dict.fromkeys(["error", "families"], "string")})


def test_the_page_describes_the_campaign(tmp_path: Path) -> None:
    write_campaign_page(index(), tmp_path / "s.html", name="kites")
    body = re.sub(r"<script\b.*?</script>", "", (tmp_path / "s.html").read_text("utf-8"), flags=re.DOTALL)
    assert "3 flights on 2 days from 2025-10-06 to 2025-10-15, 90 min recorded, denoised with adaptive." in body
    assert "2 of them have plume encounters, 5 in all. 1 failed" in body
    assert "d.nc cannot be read" in body
    for drawn in ("calendar", "smoothness", "ratio-mce", "ratio-bc_co"):
        assert f'id="{drawn}"' in body
    assert 'id="ratio-nox_co"' not in body
    worst = body[body.index('id="worst"') :]
    assert worst.index(">c<") < worst.index(">b<") < worst.index(">a<")  # by the change of 10-s means


def test_the_calendar_has_a_column_per_week() -> None:
    axes = calendar(index()[:3]).figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2025-10-06", "2025-10-13"]
    minutes = axes.collections[0].get_array()
    assert minutes[0].tolist() == [30.0, None]  # Monday: 10 and 20 minutes
    assert minutes[2].tolist() == [None, 60.0]  # Wednesday of the second week


def test_a_mean_is_weighted_by_what_is_known() -> None:
    rows = {row.cells[0]: row.cells for row in ratio_table(index()[:3]).rows}
    assert set(rows) == {"ΔBC/ΔCO", "MCE"}
    assert rows["MCE"][1:4] == ["2", "0.9150", "0.9300"]
    assert rows["MCE"][5] == "0.9480"  # (0.90 / 4 + 0.96) / (1/4 + 1)


def test_what_no_flight_has_is_not_drawn() -> None:
    assert ratio_over_time(index()[:3], "nox_co") is None
    assert distribution(index()[:3], "negatives", "%") is None


def test_no_flight_no_page(tmp_path: Path) -> None:
    with pytest.raises(FlightError, match="no flight of 'kites' is denoised"):
        write_campaign_page(index()[3:], tmp_path / "s.html", name="kites")


def test_emission_factors_by_flight_and_by_carbon() -> None:
    # Means of 60 and 100 g/kg: (60 + 100)/2 = 80; with 3 and 1 shares of carbon (3·60 + 100)/4 = 70.
    table = factor_table(index().assign(ef_co=[60.0, np.nan, 100.0, np.nan], excess_carbon=[3.0, np.nan, 1.0, np.nan]))
    assert table is not None
    assert [row.cells for row in table.rows] == [["CO", "2", "70.00", "80.00", "90.00", "80.00", "70.00"]]
    assert factor_table(index()) is None
