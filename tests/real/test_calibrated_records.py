"""A real record of each folder through every entry point with a calibration, a zero check, or a background."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from real_checks import AGREEMENT, ROUNDING, denoised_names, faults, scale
from real_doors import archived, calibrated_stream, loaded, made_calibration, uploaded
from test_records import FIRST, SMALLEST, UPLOADED, only_first

import pc2dae
from pc2dae.calibration.budget import budget_of
from pc2dae.calibration.intervals import Interval
from pc2dae.flight.schema import observed, suite_of
from pc2dae.ingestion import prepare
from pc2dae.suite import load_suite

STREAMED = 150  # samples


def impossible(clean: xr.Dataset, *, profile: str = "flight") -> list[str]:
    """What no calibrated channel may have, besides the faults of a denoised one."""
    found = faults(clean, profile=profile)
    for name in denoised_names(clean):
        value, sigma, raw = (clean[n].values for n in (name, f"{name}_uncertainty", f"{name}_raw"))
        known, measured = np.isfinite(value), raw[observed(clean, name)]
        if not len(measured):
            continue
        found += [f"{name}: no estimate"] if not known.any() else []
        found += [f"{name}: uncertainty 0"] if (sigma[known] <= 0).any() else []
        most = np.abs(measured).max() + np.ptp(measured)
        found += [f"{name}: absurd uncertainty"] if np.median(sigma[known]) > most else []
    return found


def test_a_calibration_is_inverted_and_its_budget_added(opened) -> None:
    only_first(opened)
    ready = prepare(opened.flight)
    calibration = made_calibration(ready)
    later = calibration.model_copy(update={"period": tuple(t.replace(year=t.year + 1) for t in calibration.period)})
    for files in ([calibration], [calibration, later]):
        clean = pc2dae.denoise(opened.flight, model=loaded(SMALLEST, "flight"), calibration=files)
        assert impossible(clean) == []
        for name, curve in calibration.channels.items():
            budget = budget_of(clean, name)
            assert budget is not None
            assert (clean[f"{name}_uncertainty"].values >= 0.999 * np.hypot(budget.zero, budget.drift))[
                np.isfinite(clean[name].values)
            ].all()
            expected = curve.centre["air"] + (ready[name].values - curve.terms["zero"]) / 0.9
            np.testing.assert_allclose(clean[f"{name}_raw"].values, expected, rtol=1e-6)


def test_known_air_sets_the_zero(opened) -> None:
    only_first(opened)
    ready = prepare(opened.flight)
    time, suite = ready["time"].values, suite_of(ready)
    checks, backgrounds = [], {}
    for name in made_calibration(ready).channels:
        at = np.flatnonzero(observed(ready, name))[:60]
        backgrounds[name] = float(np.quantile(ready[name].values[observed(ready, name)], 0.2))
        checks.append(Interval(time[at[0]], time[at[-1]], name, backgrounds[name]))
    families = [
        f.model_copy(update={"channel": tuple(c.model_copy(update={"background": backgrounds.get(c.name)})
                                              for c in f.channel)}) for f in suite.family
    ]  # fmt: skip
    stated = suite.model_copy(update={"family": tuple(families)}).model_dump_json(exclude_defaults=True)
    model = loaded(SMALLEST, "flight")
    assert impossible(pc2dae.denoise(ready, model=model, zero=checks)) == []
    assert impossible(pc2dae.denoise(ready.assign_attrs(suite=stated), model=model, rezero=True)) == []


def test_a_calibrated_stream_gives_what_the_live_profile_gives(opened, tmp_path: Path) -> None:
    only_first(opened)
    ready = prepare(opened.flight).isel(time=slice(0, STREAMED))
    made_calibration(ready).write(file := tmp_path / "made.json")
    clean = pc2dae.denoise(ready, model=loaded(SMALLEST, "live"), profile="live", calibration=[file])
    assert impossible(clean, profile="live") == []
    value, sigma = calibrated_stream(ready, file, SMALLEST)
    for name in denoised_names(clean):
        expected, uncertainty = (clean[f"{name}_{kind}"].values for kind in ("unbounded", "uncertainty"))
        np.testing.assert_array_equal(np.isnan(value[name]), np.isnan(expected))
        tolerance = np.fmax(AGREEMENT * scale(clean, name), ROUNDING * uncertainty)
        assert not (np.abs(value[name] - expected) > tolerance).any(), name
        assert (sigma[name][np.isfinite(expected)] > 0).all()


@pytest.mark.parametrize("door", ["archive", "page"])
def test_the_archive_and_the_page_take_the_calibration(opened, tmp_path: Path, door: str) -> None:
    record = opened.record
    if record.id not in (*UPLOADED, FIRST["konza_uav_burn"]):
        pytest.skip("two folders are enough")
    made_calibration(prepare(opened.flight)).write(file := tmp_path / "made.json")
    if door == "page":
        uploaded(opened.path, tmp_path, suite=record.suite_path, zone=record.zone, model=SMALLEST, calibration=(file,))
        made = next((tmp_path / "flight" / "runs" / "first").glob("*.nc"))
    else:
        suite = load_suite(record.suite_path) if record.suite else None
        archive, line = archived(opened.path, tmp_path, suite=suite, zone=record.zone, model=SMALLEST,
                                 calibration=(file,))  # fmt: skip
        assert (line["status"], line["error"]) == ("done", None)
        made = archive.output(line["flight"])
    clean = pc2dae.denoise(opened.flight, model=loaded(SMALLEST, "flight"), calibration=[file])
    with xr.open_dataset(made) as stored:
        for name in denoised_names(clean):
            np.testing.assert_allclose(stored[name].values, clean[name].values, rtol=1e-5, atol=1e-9)
            assert budget_of(stored, name) == budget_of(clean, name)
