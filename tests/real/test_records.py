"""Each real record through every entry point: read, denoise, stream, plumes, report, archive, upload."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from real_checks import (
    MODELS,
    PROFILES,
    comparable_only,
    denoised_names,
    faults,
    has_incomparable,
    is_one_line,
    mapping_of,
    ratio_units,
)
from real_data import DATA, RECORDS
from real_doors import archived, loaded, stream_mismatches, uploaded, written_rows

import pc2dae
from pc2dae.archive.sources import find_sources
from pc2dae.errors import ModelError
from pc2dae.flight.schema import suite_of
from pc2dae.plumes import survey
from pc2dae.plumes.species import PARTICLES
from pc2dae.suite import load_suite

FIRST = {record.folder: record.id for record in reversed(RECORDS) if record.in_tests}  # of each folder
SMALLEST = "adaptive-causal"
UPLOADED = ("konza_uav_burn/kolibri/K20A.csv", "li840a_pairs/2018-05-06_Licor_comparison.zip")


def only_first(opened: object) -> None:
    """Doors that start a process or write a page see one record of each folder."""
    record = opened.record  # type: ignore[attr-defined]
    if FIRST[record.folder] != record.id:
        pytest.skip("another record of the folder goes through this door")


def test_every_row_of_a_plain_csv_is_read(opened) -> None:
    time = opened.flight["time"].values
    assert np.all(np.diff(time) == time[1] - time[0])
    if opened.record.suite:
        assert opened.flight.sizes["row"] == _rows(opened)
    assert np.isfinite(opened.flight[suite_of(opened.flight).names[0]].values).any()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("model", MODELS)
def test_estimates_keep_to_the_samples(opened, model: str, profile: str) -> None:
    clean = opened.clean(model, profile)
    assert clean.attrs["level"] == "denoised"
    assert denoised_names(clean)
    assert np.array_equal(clean["time"].values, opened.flight["time"].values)
    assert faults(clean, profile=profile) == []


@pytest.mark.parametrize("model", MODELS)
def test_a_stream_gives_what_the_live_profile_gives(opened, model: str) -> None:
    assert stream_mismatches(opened.clean(model, "live"), model) == {}


@pytest.mark.parametrize("model", ["lean", "wide"])
def test_networks_of_another_suite_are_refused_in_one_line(opened, model: str) -> None:
    with pytest.raises(ModelError) as refused:
        pc2dae.denoise(opened.flight, model=loaded(model, "flight"))
    assert is_one_line(refused.value)


def test_a_plain_csv_comes_back_with_its_rows(opened, tmp_path: Path) -> None:
    if not opened.record.suite:
        pytest.skip("not a plain CSV")
    clean = opened.clean("adaptive", "flight")
    rows = written_rows(clean, tmp_path)
    assert len(rows) == _rows(opened)
    stamps = pd.to_datetime([row["time"] for row in rows], utc=True, format="ISO8601").tz_localize(None)
    assert np.abs(stamps.to_numpy() - clean["row_time"].values).max() < np.timedelta64(1, "s")
    for name in denoised_names(clean):
        written = np.array([float(row[name]) if row[name] else np.nan for row in rows])
        np.testing.assert_allclose(written, clean[name].values[clean["row_index"].values], rtol=1e-5, atol=1e-9)


def test_plumes_compare_only_what_can_be_compared(opened) -> None:
    clean = opened.clean("adaptive", "flight")
    found = survey(clean)
    assert not found.encounters["peak"].isna().any()
    assert (found.encounters["excess_sigma"] >= 0).all()
    mixing = {unit for ratio, unit in ratio_units(found.ratios) if ratio.split("/")[0] not in PARTICLES}
    assert mixing <= {"1"}
    if has_incomparable(clean):
        # Such a channel helps to find smoke, which moves the ends of encounters a little, and is in no ratio.
        ours, expected = (
            found.query("scope == 'flight'").set_index(["ratio", "method"])
            for found in (found.ratios, survey(comparable_only(clean)).ratios)
        )
        assert list(ours.index) == list(expected.index)
        assert ((ours["value"] - expected["value"]).abs() < expected["sigma"]).all()


def test_the_report_is_written(opened, tmp_path: Path) -> None:
    only_first(opened)
    pc2dae.report(opened.clean("adaptive", "flight"), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert all(name in page for name in denoised_names(opened.clean("adaptive", "flight")))


def test_the_archive_holds_the_same_estimate(opened, tmp_path: Path) -> None:
    only_first(opened)
    record = opened.record
    suite = load_suite(record.suite_path) if record.suite else None
    archive, line = archived(opened.path, tmp_path, suite=suite, zone=record.zone, model=SMALLEST)
    assert (line["status"], line["error"]) == ("done", None)
    clean = opened.clean(SMALLEST, "flight")
    with xr.open_dataset(archive.output(line["flight"])) as made:
        assert made.sizes["time"] == clean.sizes["time"]
        for name in denoised_names(clean):
            np.testing.assert_allclose(made[name].values, clean[name].values, rtol=1e-5, atol=1e-9)


def test_the_archive_finds_each_table_of_a_suite(opened) -> None:
    if not opened.record.suite:
        pytest.skip("not a plain CSV")
    found = find_sources(opened.path.parent, suite=load_suite(opened.record.suite_path))
    assert [source.path for source in found] == [opened.path]


def test_an_upload_is_read_and_denoised(opened, tmp_path: Path) -> None:
    only_first(opened)
    record = opened.record
    shown = uploaded(opened.path, tmp_path, suite=record.suite_path, zone=record.zone, model=SMALLEST)
    assert set(denoised_names(opened.clean(SMALLEST, "flight"))) <= set(shown["channels"])


def test_an_upload_through_the_server(opened, ground) -> None:
    """A whole request; for two records, because every upload starts two processes."""
    record, fields = opened.record, {}
    if record.id not in UPLOADED:
        pytest.skip("read and denoised without a server")
    if record.suite:
        name = Path(record.suite).stem.replace("_", "-")
        answer = ground.client.put(f"/api/suites/{name}", json=mapping_of(load_suite(record.suite_path)))
        assert answer.status_code == 200, answer.text
        fields["suite"] = name
    if record.zone:
        fields["zone"] = record.zone
    shown = ground.drop((opened.path.name, opened.path.read_bytes()), **fields)
    assert (shown["state"], shown["error"]) == ("ready", None)
    (run,) = shown["runs"]
    assert (run["method"], run["state"]) == ("adaptive", "ready")
    assert set(run["channels"]) >= set(denoised_names(opened.clean("adaptive", "flight")))


def _rows(opened) -> int:
    """Rows of the CSV that was given, counted without the product."""
    import gzip

    data = opened.path.read_bytes()
    text = (gzip.decompress(data) if opened.path.suffix == ".gz" else data).decode()
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#")) - 1


@pytest.mark.skipif(not DATA.is_dir(), reason="no real records here")
def test_every_record_names_a_file_that_is_there() -> None:
    here = [record for record in RECORDS if (DATA / record.folder).is_dir()]
    assert [record.id for record in here if not record.source.is_file()] == []
