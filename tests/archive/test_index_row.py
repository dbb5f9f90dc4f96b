"""The row of a flight has the figures of the plume survey, without its slopes and single encounters."""

from __future__ import annotations

from pathlib import Path

import pytest
import xarray as xr

from pc2dae.archive.index_row import FACTORS, RATIO_COLUMNS, row_of
from pc2dae.denoising import denoise
from pc2dae.ingestion import open_flight
from pc2dae.plumes import survey
from pc2dae.simulate import plan_campaign, write_campaign


def simulated(folder: Path) -> xr.Dataset:
    list(write_campaign(plan_campaign(3, flights=1, minutes=6), folder))
    return open_flight(folder / "flight_001")


@pytest.mark.parametrize("has_smoke", [True, False])
def test_ratios_and_factors_are_those_of_the_survey(tmp_path: Path, has_smoke: bool) -> None:
    raw = simulated(tmp_path)
    clean = denoise(raw if has_smoke else raw.isel(time=slice(0, 40)), model="savgol")
    found, row = survey(clean), row_of(clean)
    assert row["plumes"] == len(found.intervals)
    assert (row["plumes"] > 0) == has_smoke
    ratios = found.ratios[(found.ratios["scope"] == "flight") & (found.ratios["method"] == "integral")]
    factors = found.emission_factors[found.emission_factors["scope"] == "flight"]
    expected = {r.ratio.replace("/", "_"): (r.value, r.sigma) for r in ratios.itertuples()}
    expected |= {f"ef_{r.species}": (r.value, r.sigma) for r in factors.itertuples() if r.species in FACTORS}
    names = [name for name in (*RATIO_COLUMNS, *(f"ef_{s}" for s in FACTORS)) if row[name] is not None]
    assert set(names) == set(expected)
    assert (len(names) >= 8) == has_smoke  # of ten
    for name in names:
        assert (row[name], row[f"{name}_sigma"]) == pytest.approx(expected[name], rel=1e-8)
    carbon = sum(found.totals[name].value for name in ("co2", "co")) if has_smoke else None
    assert row["excess_carbon"] == carbon
