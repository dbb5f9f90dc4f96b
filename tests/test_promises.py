"""Promises of docs/promises.md that concern several rooms, from a flight to its estimates."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

from pc2dae.cli import demo
from pc2dae.denoising import denoise
from pc2dae.edge.load import live_engine
from pc2dae.edge.messages import Sample
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.errors import FlightError
from pc2dae.filters import FILTERS
from pc2dae.flags import FLAT_LINE, MISSING, SATURATED, STALE
from pc2dae.flight.schema import new_flight
from pc2dae.ingestion import ingest
from pc2dae.registry import SHIPPED, load_model
from pc2dae.suite import Suite, load_suite
from pc2dae.windows.arrays import arrays_of
from suites import make_suite

ROOT = Path(__file__).parents[1]
SENTINELS = [-9999.0, 65535.0, 1e30, np.inf, np.nan]
PAPER = load_suite("black-kite").only(["bc", "gas", "co2"]).model_copy(update={"sources": {}})
SMALL = make_suite(
    {
        "gas": {
            "co": {"units": "ppb", "valid_max": 5000.0},
            "no": "ppb",
            "no2": "ppb",
            "co2": {"units": "ppm", "lower_bound": 300.0, "native_rate_hz": 0.5},
        }
    },
    name="small",
)
NETWORKS = [("adaptive", SMALL), ("lean", PAPER)]  # one of each kind
model_of = cache(load_model)


@cache
def benchmark(name: str) -> ModuleType:
    """A script of benchmarks/."""
    spec = spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(suite: Suite, rows: int = 400) -> dict[str, np.ndarray]:
    """A plume every 200 s in noise, in every channel."""
    rng, t = np.random.default_rng(0), np.arange(rows)
    plume = np.exp(-0.5 * ((t % 200 - 100) / 8) ** 2)
    return {c.name: c.lower_bound + (c.noise_sigma or 1.0) * (30 + 20 * plume + rng.normal(size=rows))
            for c in suite.channels}  # fmt: skip


def flight_of(values: dict[str, np.ndarray], suite: Suite) -> xr.Dataset:
    rows = len(next(iter(values.values())))
    return new_flight(np.datetime64("2025-10-01", "ns") + np.arange(rows) * np.timedelta64(1, "s"), values, suite)


# ── P9: nothing measured, nothing invented ──


@pytest.mark.parametrize(("model", "suite"), NETWORKS)
def test_a_channel_without_data_has_no_estimate_and_changes_no_other(model: str, suite: Suite) -> None:
    """Never measured, constant or only sentinels: NaN with a flag, and the other channels are unaffected."""
    values = record(suite)
    first, second, third = suite.names[:3]
    nothing = np.full(400, np.nan)
    without = denoise(flight_of(values | dict.fromkeys((first, second, third), nothing), suite), model=model_of(model))
    ruined = {first: nothing, second: np.full(400, 5.0), third: np.full(400, -9999.0)}
    clean = denoise(flight_of(values | ruined, suite), model=model_of(model))
    for name in suite.names[3:]:
        assert np.isfinite(clean[name].values).all()
        assert np.array_equal(clean[name].values, without[name].values)
    for name, flag in ((first, MISSING), (second, FLAT_LINE), (third, MISSING)):
        assert np.isnan(clean[name].values).all()
        assert (clean[f"qc_{name}"].values & flag).all()
        assert f"{name} (no usable sample" in clean.attrs["pc2dae_left_raw"]


@pytest.mark.parametrize(("model", "suite"), NETWORKS)
def test_beyond_reach_of_any_sample_there_is_nothing(model: str, suite: Suite) -> None:
    values = record(suite, 700)
    name = suite.names[0]
    values[name][200:] = np.nan
    clean = denoise(flight_of(values, suite), model=model_of(model))
    assert np.isfinite(clean[name].values[:200]).all()
    assert np.isnan(clean[name].values[200 + 256 :]).all()
    assert (clean[f"qc_{name}"].values[200:] & MISSING).all()


@pytest.mark.parametrize(("model", "suite"), NETWORKS)
def test_flights_of_no_and_one_row(model: str, suite: Suite) -> None:
    values = record(suite, 1)
    clean = denoise(flight_of(values, suite), model=model_of(model))
    assert all(np.isfinite(clean[name].values).all() for name in suite.names)
    with pytest.raises(FlightError, match="the flight is empty"):
        denoise(flight_of({name: x[:0] for name, x in values.items()}, suite), model=model_of(model))


# ── P10: what was not measured is flagged, sample by sample ──


def test_dropouts_and_repeats_are_flagged_and_not_looked_at_and_plateaus_are_lower_limits() -> None:
    values = record(SMALL)
    t = np.arange(400)
    dropout, plateau, repeats = (t >= 150) & (t < 170), (t >= 250) & (t < 262), t % 2 == 1
    values["co"][plateau] = 5000.0
    values["co2"][1::2] = values["co2"][::2]
    answers = []
    for held in (np.nan, -9999.0):  # what a logger writes where nothing was measured does not matter
        values["no"][dropout] = held
        clean = denoise(flight_of(values, SMALL), model=model_of("adaptive-short"))
        for name, flag, where in (("no", MISSING, dropout), ("co", SATURATED, plateau), ("co2", STALE, repeats)):
            assert np.array_equal((clean[f"qc_{name}"].values & flag) != 0, where)
        answers.append(np.stack([clean[name].values for name in SMALL.names]))
    assert np.array_equal(*answers)
    assert clean["co"].values[plateau].min() >= 5000
    assert clean["co_uncertainty"].values[plateau].min() >= 1000


# ── P11: sentinels are not seen, and what is masked matters only nearby ──


@pytest.mark.parametrize(("model", "suite"), NETWORKS)
def test_sentinels_are_as_if_nothing_had_been_logged(model: str, suite: Suite) -> None:
    values, name = record(suite), suite.names[0]
    answers = []
    for sentinel in SENTINELS:
        values[name][120:135] = sentinel
        clean = denoise(flight_of(values, suite), model=model_of(model))
        assert (clean[f"qc_{name}"].values[120:135] & MISSING).all()
        answers.append(np.stack([clean[n].values for n in suite.names]))
    assert all(np.array_equal(answers[-1], answer) for answer in answers)


@pytest.mark.parametrize("sentinel", SENTINELS[:3])
def test_sentinels_in_a_stream_are_as_if_nothing_had_been_sent(sentinel: float) -> None:
    from datetime import UTC, datetime, timedelta

    engine, _ = live_engine("lean")
    values = record(PAPER, 150)
    answers = []
    for sent in (sentinel, None):
        stream, given = StreamingDenoiser(engine), []
        for n in range(150):
            numbers: dict[str, float | None] = {name: float(x[n]) for name, x in values.items()}
            if 60 <= n < 70:
                numbers["co_a"] = sent
            start = datetime(2025, 10, 1, tzinfo=UTC)
            given += stream.feed([Sample(flight="f", seq=n, time=start + timedelta(seconds=n), values=numbers)])
        answers.append(np.stack([ready.value for ready in given + stream.flush()]))
    assert np.array_equal(*answers, equal_nan=True)


@pytest.mark.parametrize(
    ("model", "profile", "back", "ahead", "beyond"),
    [
        ("lean", "flight", 127, 127, 0.0),
        ("adaptive-short", "live", 823, 5, 0.0),
        ("adaptive", "flight", 813, 813, 0.01),
    ],
)
def test_one_masked_sample_matters_within_reach_alone(
    model: str, profile: str, back: int, ahead: int, beyond: float
) -> None:
    """Change in σ of the noise; a whole flight has one noise level, so every estimate depends on it slightly."""
    suite, at = (PAPER if model == "lean" else SMALL), 900
    flight = flight_of(record(suite, 1800), suite)
    values, environment, valid = arrays_of(flight, suite)
    job = load_model(model, profile=profile).prepare(flight, suite)
    masked = valid.copy()
    masked[0, at] = False
    before, after = (job(values, environment, mask).unbounded for mask in (valid, masked))
    sigma = np.array([channel.noise_sigma or 1.0 for channel in suite.channels])[:, None]
    moved = (np.abs(after - before) / sigma).max(0)
    t = np.arange(1800)
    assert moved.max() > 0
    assert moved[(t < at - ahead) | (t > at + back)].max() <= beyond


# ── P12: the memory of a very large file is that of its grid ──


def test_a_very_large_file_is_averaged_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory grows with the grid, not with the rows."""
    monkeypatch.setattr("pc2dae.logs.csv.LARGE_BYTES", 0)
    stamps = np.datetime64("2025-10-01", "ms") + np.arange(6000) * np.timedelta64(10, "ms")
    lines = [f"{stamp}Z,{100 + n % 7}" for n, stamp in enumerate(stamps.astype(str))]
    (tmp_path / "fast.csv").write_text("\n".join(["time,co", *lines]) + "\n")
    family = SMALL.family[0].model_copy(update={"channel": SMALL.family[0].channel[:1]})
    flight, intake = ingest([tmp_path / "fast.csv"], suite=SMALL.model_copy(update={"family": (family,)}))
    assert flight.sizes == {"time": 60}  # no rows beside the grid
    assert flight["co"].values == pytest.approx(103, abs=0.2)
    assert any("6,000 rows averaged to 60 cells while reading" in line for line in intake.sources[0].repairs)


# ── P14, P15: any numbers, any weights; a sample of benchmarks/any_input.py ──


@pytest.mark.parametrize("name", SHIPPED)
def test_any_window_gives_finite_values_at_or_above_the_bound(name: str) -> None:
    assert benchmark("any_input").through_onnxruntime(name, 64, seed=4)[0] == 0


@pytest.mark.parametrize("name", ["adaptive-short", "lean"])
def test_any_stream_and_any_attack_give_finite_values_at_or_above_the_bound(name: str) -> None:
    assert benchmark("any_input").streamed(name, 64)[0] == 0
    assert benchmark("any_input").attacked(name, 2)[0] == 0


# ── P20: every denoiser behaves like a denoiser ──


@pytest.mark.parametrize("name", [*FILTERS, *SHIPPED])
def test_every_denoiser_leaves_its_input_alone_and_answers_twice_the_same(name: str) -> None:
    suite = PAPER if name in ("lean", "wide") else SMALL
    flight = flight_of(record(suite, 130), suite)
    values, environment, valid = arrays_of(flight, suite)
    valid[0, 20:30] = False
    given = values.copy(), environment.copy(), valid.copy()
    job = model_of(name).prepare(flight, suite)
    first, second = job(values, environment, valid), job(values, environment, valid)
    for before, after in zip(given, (values, environment, valid), strict=True):
        assert np.array_equal(before, after, equal_nan=True)
    assert first.value.shape == values.shape
    assert first.value.dtype == np.float64
    assert np.isfinite(first.value).all()
    assert np.array_equal(first.value, second.value)
    assert np.array_equal(first.unbounded, second.unbounded)


@pytest.mark.parametrize("name", [name for name in FILTERS if name != "ona"] + ["adaptive"])
def test_the_order_of_channels_does_not_matter(name: str) -> None:
    flight = flight_of(record(SMALL, 130), SMALL)
    turned = SMALL.model_copy(
        update={"family": (SMALL.family[0].model_copy(update={"channel": SMALL.family[0].channel[::-1]}),)}
    )
    (values, environment, valid), (other, _, same) = arrays_of(flight, SMALL), arrays_of(flight, turned)
    one = model_of(name).prepare(flight, SMALL)(values, environment, valid).value
    two = model_of(name).prepare(flight, turned)(other, environment, same).value
    assert two[::-1] == pytest.approx(one, rel=1e-5)


# ── P21: no figure without its rivals ──


def test_tuned_rivals_stand_beside_the_shipped_models() -> None:
    """The Kalman smoother and the Gaussian process by maximum likelihood, the usual filter, and a clip at zero."""
    assert {"rts", "matern", "savgol", "bayesshrink"} <= set(demo._RIVALS)
    assert {"raw", "clip", "constant", "truth"} <= set(demo._YARDSTICKS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme[readme.index("| method | MAE reduction, %") :].split("\n\n")[0]
    for method in (*SHIPPED, *demo._RIVALS):
        assert f"| `{method}` |" in table
    for method in demo._YARDSTICKS:
        assert f"| *{method}* |" in table


# ── P26: damaged models, a sample of benchmarks/corruption.py ──


@pytest.mark.parametrize("name", ["lean.onnx", "adaptive.onnx", "lean.card.json"])
def test_damaged_models_and_cards_are_refused(name: str) -> None:
    assert benchmark("corruption").accepted(name, every=997, cuts=20)[0] == 0


# ── P28: loading a model executes nothing and opens nothing else ──

ZOO = """
import os, pickle, sys
from pathlib import Path
from pc2dae.edge.onnx_check import seal
from pc2dae.errors import ModelError
from pc2dae.registry import load_model

class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)

load_model("lean"), load_model("adaptive-short")  # whatever is imported on the way
weights = (Path(load_model.__code__.co_filename).parent / "weights" / "lean.onnx").read_bytes()
zoo = Path("zoo")
zoo.mkdir()
Path("outside.onnx").write_bytes(weights)
(zoo / "evil.pt").write_bytes(pickle.dumps(Evil()))
(zoo / "evil.onnx").write_bytes(seal(pickle.dumps(Evil())))
(zoo / "cut.onnx").write_bytes(weights[:-1])
(zoo / "external.onnx").write_bytes(seal(weights.replace(b"raw_data", b"external")[:-100]))
(zoo / "folder").mkdir()
(zoo / "folder" / "card.json").write_bytes(pickle.dumps(Evil()))
events = []
sys.addaudithook(lambda event, given: events.append((event, given)))
for path in sorted(zoo.iterdir()):
    try:
        load_model(path)
    except ModelError as error:
        assert "\\n" not in str(error)
    else:
        raise AssertionError(f"{path} was loaded")
kinds = {event for event, _ in events}
assert not kinds & {"pickle.find_class", "exec", "compile", "os.system", "subprocess.Popen", "ctypes.dlopen"}, kinds
opened = {str(given[0]) for event, given in events if event == "open"}
assert opened and all(Path(name).resolve().is_relative_to(zoo.resolve()) for name in opened), opened
assert not Path("executed").exists()
"""


def test_loading_a_hostile_model_executes_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ZOO], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ── P37, P38, P40: a few ticks of benchmarks/stream.py ──


def test_the_measurements_of_a_stream_run() -> None:
    module = benchmark("stream")
    assert module.ticks("lean", 2, flights=3)["p99_ms"] > 0  # checks the order of each flight, too
    assert module.against_torch("lean")["torch_ms"] > 0
    assert module.soak("lean", 300 / 86400)["samples"] == 300


# ── the page itself ──


def test_every_test_that_the_page_names_exists() -> None:
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| P(\d+) \|(.*)$", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 41))
    for number, row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named or re.search(r"\(h\d\)|\(lead\)", row), f"P{number} names no test"
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"P{number}: {path}::{test}"
        for script in re.findall(r"python (benchmarks/\w+\.py)", row):
            assert (ROOT / script).is_file(), f"P{number}: {script}"
