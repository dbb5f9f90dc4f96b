"""Plume numbers of real records beside what was weighed or can be computed by hand."""

import numpy as np
import pytest
import xarray as xr
from real_data import ABSENT, DATA, ROOT, SUITES

import pc2dae
from pc2dae.flight.schema import suite_of
from pc2dae.plumes import Survey, survey

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=ABSENT)


def stove(start: str, end: str) -> xr.Dataset:
    """The stove with the faster of its two CO₂ sensors, cut."""
    suite = SUITES / "stove.toml"
    flight = pc2dae.open_flight(DATA / "stove_carbon" / "A_RawData.csv.gz", suite=suite)
    flight["co2"] = flight["co2"] * np.nan
    return pc2dae.denoise(flight.sel(time=slice(start, end)))


def integral(found: Survey, ratio: str) -> tuple[float, float]:
    rows = found.ratios.query("scope == 'flight' and ratio == @ratio and method == 'integral'")
    return float(rows["value"].iloc[0]), float(rows["sigma"].iloc[0])


def test_a_stove_in_smoke_nearly_throughout_gives_the_weighed_efficiency() -> None:
    found = survey(stove("2026-06-17T22:30:45", "2026-06-17T23:26:43"))
    value, sigma = integral(found, "mce")
    assert abs(value - 0.953) < 2 * sigma < 0.02


def test_a_stove_cut_to_its_fire_asks_for_clean_air() -> None:
    found = survey(stove("2026-06-17T22:36:45", "2026-06-17T23:20:43"))
    assert found.background is not None
    assert not found.background.is_good
    assert not found.ratios["is_preferred"].any()


@pytest.mark.parametrize("name", ["HQ_2", "K20A", "K2A_1", "K2A_2"])
@pytest.mark.parametrize("half", [0, 1])
def test_half_a_drone_flight_in_smoke_agrees_with_its_raw_columns(name: str, half: int) -> None:
    path = DATA / "konza_uav_burn" / "kolibri" / f"{name}.csv"
    flight = pc2dae.open_flight(path, suite=ROOT / "examples" / "kolibri.toml")
    middle = flight.sizes["time"] // 2
    flight = flight.isel(time=slice(None, middle) if half == 0 else slice(middle, None))
    some = np.isfinite(flight["co"].values) & np.isfinite(flight["co2"].values)
    co, co2 = (flight[n].values[some] for n in ("co", "co2"))
    hand = [np.sum(co - np.percentile(co, p)) / np.sum(co2 - np.percentile(co2, p)) for p in (1, 5, 10, 25)]
    ratio = survey(pc2dae.denoise(flight)).results["flight"]["co/co2"]
    own = np.sqrt(sum(effect**2 for source, effect in ratio.effects.items() if not source.startswith("gain")))
    assert abs(ratio.value - np.mean(hand)) < 2 * own + np.std(hand)  # gains cancel: the columns have the same


@pytest.mark.parametrize("number", [23, 24, 28])
def test_an_aircraft_has_no_ratio_where_nitrogen_oxides_were_not_measured(number: int) -> None:
    flight = pc2dae.open_flight(DATA / "goamazon_aircraft" / f"G1_dryseason_{number}.xlsx")
    found = survey(pc2dae.denoise(flight))
    assert suite_of(flight).names
    nox = found.species["nox"]
    without = {f"encounter {i}" for i, (a, b) in enumerate(found.intervals, 1) if not nox.seen[a:b].any()}
    rows = found.ratios.query("ratio == 'nox/co'")
    assert number == 23 or without
    assert without.isdisjoint(rows["scope"])
    assert rows["share"].between(0, 1).all()
    assert rows.query("scope == 'flight'")["share"].max() < 0.9
