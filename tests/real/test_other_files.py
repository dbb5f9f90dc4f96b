"""Files that no record names, and folders that are new: each gives a flight that passes every check, or one line."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from real_checks import denoised_names, faults, is_one_line
from real_data import ABSENT, DATA, RECORDS, ROWS, folders, other_files
from real_doors import denoised, stream_mismatches

import pc2dae
from pc2dae.errors import Pc2daeError
from pc2dae.logs.stamps import NeedsChoice
from pc2dae.plumes import survey

REFUSED = {  # notes and tables of results: no record of anything, and refused in one line
    "act_america_icartt": {"LICENSE.md"},
    "arisense_we_ae": {"LICENSE"},
    "bengaluru_car": {"LICENSE.md"},
    "fasmee_span_gas": {"HEADER.txt", "calibration_intervals.txt"},
    "konza_uav_burn": {"HEADER.txt"},
    "li840a_pairs": {"LICENSE"},
    "stove_carbon": {
        "A_EmissionOutputs.csv",
        "A_EnergyInputs.csv",
        "A_EnergyOutputs.csv",
        "A_GravOutputs.csv",
        "A_PhaseTimes.csv",
    },
}
HERE = [pytest.param(folder, id=folder.name, marks=pytest.mark.xdist_group(folder.name)) for folder in folders()]


READABLE = {  # folders in which some reader knows a file
    "act_america_icartt",
    "arisense_we_ae",
    "bengaluru_car",
    "fasmee_span_gas",
    "goamazon_aircraft",
    "helikite_balloon",
    "konza_uav_burn",
    "li840a_pairs",
}
Runs = dict[tuple[str, str], xr.Dataset]  # by model and profile
WANTED = (("adaptive", "flight"), ("adaptive-short", "live"))


def denoised_or_refused(path: Path, *, wanted: Sequence[tuple[str, str]] = WANTED) -> Runs | Pc2daeError:
    """The estimates of a file, its local stamps taken as UTC, or why there are none."""
    try:
        flight = _opened(path).isel(time=slice(0, ROWS)).drop_dims("row", errors="ignore")
        return {(model, profile): denoised(flight, model, profile) for model, profile in wanted}
    except Pc2daeError as error:
        return error


def _opened(path: Path) -> xr.Dataset:
    try:
        return pc2dae.open_flight(path)
    except NeedsChoice:
        return pc2dae.open_flight(path, zone="UTC")


def checked(path: Path, folder: Path) -> str:
    """Try a file at every door: "refused" or "denoised"; fails where it is neither."""
    found = denoised_or_refused(path)
    if isinstance(found, Pc2daeError):
        assert is_one_line(found), f"{path.name}: {found}"
        return "refused"
    for (_, profile), clean in found.items():
        assert denoised_names(clean)
        assert faults(clean, profile=profile) == [], path.name
    live = found["adaptive-short", "live"]
    assert stream_mismatches(live, "adaptive-short") == {}, path.name
    assert not survey(live).encounters["peak"].isna().any()
    pc2dae.report(live, folder / "report.html")
    return "denoised"


@pytest.mark.skipif(not DATA.is_dir(), reason=ABSENT)
@pytest.mark.parametrize("folder", HERE)
def test_a_file_that_no_record_names_is_read_or_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    outcomes = {path.name: checked(path, tmp_path) for path in other_files(folder)}
    expected = REFUSED.get(folder.name, set())
    assert {name for name, outcome in outcomes.items() if outcome == "refused"} >= expected & set(outcomes)


@pytest.mark.skipif(not DATA.is_dir(), reason=ABSENT)
@pytest.mark.parametrize("folder", HERE)
def test_a_folder_as_a_whole_is_one_flight_or_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    """All that lies in it at once, its records shortened; what no reader knows must not spoil the rest."""
    whole = tmp_path / folder.name
    whole.mkdir()
    for record in (r for r in RECORDS if r.folder == folder.name and r.in_tests and r.source.is_file()):
        record.write(whole)
    for path in other_files(folder):
        shutil.copyfile(path, whole / path.name)
    found = denoised_or_refused(whole, wanted=WANTED[:1])
    if isinstance(found, Pc2daeError):
        assert is_one_line(found)
        assert folder.name not in READABLE, found
    else:
        assert faults(found["adaptive", "flight"]) == []


def test_a_new_folder_is_found_and_tried(tmp_path: Path) -> None:
    new = tmp_path / "somebody_else"
    (new / "deeper").mkdir(parents=True)
    rng = np.random.default_rng(0)
    rows = [f"2024-05-01 10:{n // 60:02d}:{n % 60:02d},{4.2e2 + rng.normal():.1f},2.5E+01" for n in range(400)]
    header = "System_Date_(Y-M-D) System_Time_(h:m:s)"
    (new / "notes.txt").write_text("windy, no rain\n")
    (new / "deeper" / "table.csv.gz").write_bytes(gzip.compress("\n".join([header, *rows]).encode()))
    licor = ["2024-05-01 at 10:00,,", "System_Date_(Y-M-D),System_Time_(h:m:s),CO₂_(µmol_mol⁻¹),H₂O_(mmol_mol⁻¹)"]
    (new / "deeper" / "licor.csv").write_text("\n".join([*licor, *(row.replace(" ", ",", 1) for row in rows)]) + "\n")
    assert [folder.name for folder in folders(tmp_path)] == ["somebody_else"]
    found = {path.name: checked(path, tmp_path) for path in other_files(new)}
    assert found == {"notes.txt": "refused", "table.csv.gz": "refused", "licor.csv": "denoised"}
