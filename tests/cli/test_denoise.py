"""`train`, `denoise` and `export` on the command line, on a plain CSV."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.errors import ModelError, Pc2daeError
from pc2dae.flight.store import read_flight
from pc2dae.suite import load_suite

TOML = """
name = "own"
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppb"
column = "CO_ppb"
[[family.channel]]
name = "no"
units = "ppb"
[[family]]
name = "co2"
[[family.channel]]
name = "co2"
units = "ppm"
lower_bound = 300.0
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A CSV with a gap, a repeated second and a custom time format."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    seconds = np.delete(np.arange(600), slice(100, 110))
    stamps = [f"2026-08-01T10:{s // 60:02d}:{s % 60:02d}+02:00" for s in seconds]
    plume = 80 * np.exp(-0.5 * ((seconds - 300) / 15.0) ** 2)
    rows = {"time": stamps, "CO_ppb": plume + rng.normal(0, 6, len(seconds)), "no": rng.normal(0, 6, len(seconds))}
    rows["co2"] = 420 + plume / 4 + rng.normal(0, 2, len(seconds))
    pd.DataFrame(rows).to_csv("log.csv", index=False)
    (tmp_path / "own.toml").write_text(TOML)
    return pd.DataFrame(rows)


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_csv_comes_back_with_its_rows_and_stamps(table):
    out = run("denoise", "log.csv", "-o", "clean.csv", "--suite", "own.toml", "--model", "rts").stdout.splitlines()
    clean = pd.read_csv("clean.csv")
    assert len(clean) == len(table)
    assert clean["time"].tolist() == table["time"].tolist()
    assert (clean[["co", "no"]] >= 0).all().all()
    assert clean["no"].std() < 0.5 * table["no"].std()
    assert out[0].startswith("log.csv: 3 channels of co2, gas, 600 samples in")
    assert out[1].startswith("below the bound: ")
    assert out[1].endswith(" 0.0 % after")
    assert re.match(
        r"warning: clean air reads implausible: co 0\.\d+ ppb \(outdoor air: 35 to 1000\): calibrate", out[2]
    )
    assert out[3] == "written: clean.csv"


def test_one_channel_is_said_in_the_singular(table):
    table[["time", "co2"]].to_csv("log.csv", index=False)
    Path("own.toml").write_text(
        'name = "one"\n[[family]]\nname = "co2"\n[[family.channel]]\nname = "co2"\nunits = "ppm"\n'
    )
    out = run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "ma5").stdout
    assert out.startswith("log.csv: 1 channel of co2, ")


def test_a_zero_below_the_bound_is_told(table):
    table["no"] -= 40.0
    table.to_csv("log.csv", index=False)
    out = run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "ma5").stdout.splitlines()
    assert out[2] == "zero below the bound: no; clean air lies at the bound, see <name>_unbounded"


def test_sentinels_and_channels_without_a_usable_sample_are_said(table):
    table.loc[:11, "CO_ppb"] = -9999
    table["no"] = 150.0
    table.to_csv("log.csv", index=False)
    out = run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "ma5").stdout
    line = "co: 12 samples of -9999 taken as missing (sentinel)"
    assert line in out
    assert "no usable sample: no (98 % flat_line, 2 % missing); no estimate" in out
    assert "log.csv: 2 channels of co2, gas" in out
    assert "left raw" not in out
    clean = read_flight("c.nc")
    assert line in clean.attrs["history"]
    assert np.isnan(clean["no"].values).all()
    assert "no score for no: no usable sample (98 % flat_line, 2 % missing)" in run("evaluate", "c.nc").stdout
    assert line in run("ingest", "log.csv", "--suite", "own.toml").stdout.replace("\n", " ")
    for name in ("c.csv", "c.ict", "c.zarr"):
        run("denoise", "log.csv", "-o", name, "--suite", "own.toml", "--model", "rts")
        assert np.isnan(read_flight(name, load_suite("own.toml"))["no"].values).all()


def test_sentinels_of_a_flight_are_said_too(table):
    from pc2dae.flight.schema import new_flight
    from pc2dae.flight.store import write_flight

    values = {"co": table["CO_ppb"].to_numpy().copy(), "no": table["no"], "co2": table["co2"]}
    values["co"][7] = 65535.0
    time = np.datetime64("2026-08-01T08:00:00") + np.arange(len(table)) * np.timedelta64(1, "s")
    write_flight(new_flight(time, values, load_suite("own.toml")), "raw.nc")
    out = run("denoise", "raw.nc", "-o", "c.nc", "--model", "ma5").stdout
    assert out.startswith("co: 1 sample of 65535 taken as missing (sentinel)\nraw.nc: 3 channels")


def test_several_inputs_go_into_a_folder(table):
    table.to_csv("second.csv", index=False)
    run("denoise", "log.csv", "second.csv", "-o", "clean", "--suite", "own.toml", "--model", "ma5")
    assert len(pd.read_csv("clean/log.csv")) == len(pd.read_csv("clean/second.csv")) == len(table)


def test_several_inputs_into_one_file_is_refused(table):
    with pytest.raises(Pc2daeError, match=r"2 inputs cannot go into one file clean\.nc"):
        run("denoise", "log.csv", "log.csv", "-o", "clean.nc", "--suite", "own.toml", "--model", "ma5")
    with pytest.raises(Pc2daeError, match=r"two inputs would both become log\.csv"):
        run("denoise", "log.csv", "log.csv", "-o", "clean", "--suite", "own.toml", "--model", "ma5")


def test_strength_is_said(table):
    out = run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "ma5", "--strength", "0.5").stdout
    assert "with ma5, strength 0.5" in out
    assert read_flight("c.nc").attrs["pc2dae_strength"] == 0.5


def test_a_paper_model_refuses_a_suite_it_was_not_trained_for(table):
    with pytest.raises(ModelError, match="model 'lean' was trained for bc_uv_1"):
        run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "lean")


def test_describe_prints_the_parameters_of_the_paper():
    out = run("train", "--describe", "--variant", "wide").stdout
    assert "204,461" in out


@pytest.mark.slow
def test_train_denoise_export_and_the_same_numbers_from_the_file(table, traced_once):
    words = ["train", "log.csv", "-o", "mymodel", "--suite", "own.toml", "--steps", "30", "--seed", "4"]
    out = run(*words).stdout.splitlines()
    assert out[0] == "lean on 1 flight, seed 4: trained"
    assert out[2] == "next: pc2dae denoise log.csv --suite own.toml -o clean.nc --model mymodel"
    assert "already trained" in run(*words).stdout
    run("denoise", "log.csv", "-o", "a.nc", "--suite", "own.toml", "--model", "mymodel")
    assert "differs from torch by" in run("export", "mymodel", "-o", "other.onnx").stdout
    run("denoise", "log.csv", "-o", "b.nc", "--suite", "own.toml", "--model", "other.onnx")
    a, b = read_flight("a.nc"), read_flight("b.nc")
    for name in ("co", "no", "co2"):
        assert np.array_equal(a[name].values, b[name].values)
        assert np.isfinite(a[name].values).all()
    assert (a["co2"].values >= 300).all()
    assert a.attrs["pc2dae_model_sha256"] == b.attrs["pc2dae_model_sha256"]


def test_the_input_is_never_replaced_by_its_estimate(table):
    before = Path("log.csv").read_bytes()
    for words in (["denoise", "log.csv", "-o", "./log.csv", "--model", "ma5"], ["ingest", "log.csv", "-o", "log.csv"]):
        with pytest.raises(Pc2daeError, match=r"log\.csv is the input and would be overwritten"):
            run(*words, "--suite", "own.toml")
    assert Path("log.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("target", "said"), [("c.xlsx", "is not a known flight format"), ("own.toml/c.nc", "own.toml is not a folder")]
)
def test_a_target_that_cannot_be_is_refused_before_the_input_is_opened(table, target, said):
    with pytest.raises(Pc2daeError, match=said):
        run("denoise", "absent.csv", "-o", target)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train absent.csv -o m --variant leen", r"unknown network 'leen'; did you mean 'lean'\?"),
        ("train absent.csv -o m --variant adaptiv", r"unknown network 'adaptiv'; did you mean 'adaptive'\?"),
        ("train absent.csv -o m --objective blind", r"unknown objective 'blind'; did you mean 'blindspot'\?"),
        ("train absent.csv -o m --variant unet --literal-sums", "'unet' is not trained with the paper's loss"),
        ("denoise absent.csv -o c.nc --suite own.toml --keep gaz", r"no family 'gaz'; did you mean 'gas'\?"),
        ("denoise absent.csv -o c.nc --suite own.toml --exclude gaz", r"no family 'gaz'; did you mean 'gas'\?"),
    ],
)
def test_a_wrong_choice_is_told_before_the_input_is_opened(table, words, said):
    with pytest.raises(Pc2daeError, match=said):
        run(*words.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--model adaptive --target ambiant", r"unknown target 'ambiant'; did you mean 'ambient'\?"),
        ("--model ma5 --target ambient", "'ma5' estimates the reading, not the air"),
        ("--model adaptive --target ambient --strength 0.5", r"strength 0\.5 estimates the reading, not the air"),
    ],
)
def test_a_target_that_cannot_be_estimated_is_refused(table, words, said):
    with pytest.raises(ModelError, match=said):
        run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", *words.split())


def test_what_was_estimated_is_said(table):
    Path("own.toml").write_text(TOML.replace('units = "ppm"', 'units = "ppm"\nt90_s = 3'))
    words = ("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "adaptive")
    out = run(*words).stdout
    assert "\nlag corrected: co2 (t90 3.0 s); not corrected: co" in out
    assert "no (t90 unknown: its plumes are not those of co2)\n" in out
    assert read_flight("c.nc")["co2"].attrs["target"] == "ambient"
    assert "lag corrected" not in run(*words, "--target", "response", "--force").stdout
    assert "co2_response" not in read_flight("c.nc")


def test_an_unknown_profile_is_refused(table):
    with pytest.raises(ModelError, match=r"unknown profile 'life'; did you mean 'live'\?"):
        run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "ma5", "--profile", "life")


def test_the_next_command_works_as_it_stands(table):
    for target in ("clean.csv", "clean.nc"):
        out = run("denoise", "log.csv", "-o", target, "--suite", "own.toml", "--model", "ma5").stdout.splitlines()
        run(*out[-1].removeprefix("next: pc2dae ").split())
    for words in (["inspect", "log.csv"], ["evaluate", "clean.csv"], ["plumes", "clean.csv"], ["report", "log.csv"]):
        line = run(*words, "--suite", "own.toml").stdout.splitlines()[-1]
        run(*line.partition("next: pc2dae ")[2].split())


def test_repairs_of_a_log_are_printed(table):
    table.loc[[3, 4], "time"] = table.loc[2, "time"]
    table["CO_ppb"] = table["CO_ppb"].astype(object)
    table.loc[9, "CO_ppb"] = "ERR"
    table.to_csv("log.csv", index=False)
    out = run("denoise", "log.csv", "-o", "c.nc", "--suite", "own.toml", "--model", "ma5").stdout.splitlines()
    assert "1 cells that are not numbers" in out[0]
    assert "2 rows with the time stamp of another row" in out[0]


def test_a_clean_csv_holds_what_went_in_and_is_not_cleaned_twice(table):
    run("denoise", "log.csv", "-o", "clean.csv", "--suite", "own.toml", "--model", "ma5")
    clean = pd.read_csv("clean.csv")
    assert list(clean.columns[:5]) == ["time", "co", "qc_co", "co_raw", "co_unbounded"]
    np.testing.assert_allclose(clean["co_raw"], table["CO_ppb"])
    assert "smoothness" in run("evaluate", "clean.csv", "--suite", "own.toml").stdout
    with pytest.raises(Pc2daeError, match="denoised already"):
        run("denoise", "clean.csv", "-o", "again.csv", "--suite", "own.toml", "--model", "ma5")
