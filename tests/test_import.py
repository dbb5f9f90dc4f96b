"""`import pc2dae` is fast: heavy modules are loaded on first use."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pc2dae

HEAVY = {
    "torch",
    "xarray",
    "pandas",
    "scipy",
    "matplotlib",
    "onnxruntime",
    "netCDF4",
    "dask",
    "pydantic",
    "numpy",
}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after `code`."""
    show = "import sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    result = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import pc2dae") & HEAVY == set()


def test_the_command_line_loads_nothing_heavy() -> None:
    """Not even numpy: `pc2dae --help` must be fast."""
    assert loaded_by("import pc2dae.cli") & HEAVY == set()


def test_suites_can_be_read_where_only_pydantic_is() -> None:
    assert loaded_by("import pc2dae; pc2dae.load_suite('black-kite')") & (HEAVY - {"pydantic"}) == set()


RESEARCH = {"pc2dae.benchmark", "pc2dae.paper", "pc2dae.model", "pc2dae.training", "torch"}
DRAWING = {"matplotlib", "jinja2", "pc2dae.report"}
NOT_LOADED = {  # by command: what it does not need
    "--help": HEAVY | RESEARCH | DRAWING | {"rich.markdown", "importlib.metadata"},
    "denoise in.csv --suite x.toml -o clean.nc": RESEARCH
    | DRAWING
    | {"scipy.signal", "scipy.ndimage", "scipy.stats", "dask", "pywt"},
    "denoise flight.nc -o clean.nc": RESEARCH | DRAWING | {"scipy.signal", "dask", "pc2dae.logs", "pc2dae.filters"},
    "inspect flight.nc": RESEARCH | DRAWING | {"scipy.signal", "dask", "onnxruntime"},
    "plumes clean.nc": RESEARCH | DRAWING | {"scipy.signal", "dask", "onnxruntime"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain table, its suite, and the flight denoised from it."""
    place = tmp_path_factory.mktemp("imports")
    seconds = "\n".join(f"2026-08-01T00:{t // 60:02d}:{t % 60:02d}Z,{t % 7}" for t in range(300))
    (place / "in.csv").write_text(f"time,co\n{seconds}\n")
    (place / "x.toml").write_text('name = "x"\n[[family]]\nname = "gas"\nchannel = [{name = "co", units = "ppb"}]\n')
    run_command("ingest in.csv --suite x.toml -o flight.nc", place)
    run_command("denoise flight.nc -o clean.nc", place)
    return place


OPTIONAL = ("pyarrow", "matplotlib", "zarr", "paho", "fastapi", "IPython")


def test_a_flight_from_log_to_report_needs_only_the_base_install(folder: Path) -> None:
    base = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split("[>=<]", line)[0] for line in base} & set(OPTIONAL) == set()
    for command in (
        "ingest in.csv --suite x.toml -o base.nc",
        "inspect base.nc",
        "denoise base.nc -o base_clean.nc",
        "evaluate base_clean.nc",
        "plumes base_clean.nc",
        "report base_clean.nc -o base.html",
    ):
        run_command(command, folder, absent=OPTIONAL)
    assert "var uPlot" in (folder / "base.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("report clean.nc -o figures.html --pdf", "matplotlib is not installed; pip install 'pc2dae[figures]'"),
        ("inspect flight.nc --picture x.png", "matplotlib is not installed; pip install 'pc2dae[figures]'"),
        ("simulate x --draw", "matplotlib is not installed; pip install 'pc2dae[figures]'"),
        ("benchmark --quick -o x", "pyarrow is not installed; pip install 'pc2dae[benchmark]'"),
        ("serve", "fastapi is not installed; pip install 'pc2dae[serve]'"),
    ],
)
def test_an_extra_that_is_missing_is_named_before_any_work(command: str, answer: str, folder: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run_command(command, folder, absent=OPTIONAL)
    assert answer in failed.value.stderr
    assert not {"figures.html", "x"} & {path.name for path in folder.iterdir()}


def test_onnxruntime_keeps_no_record_to_send(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert "onnxruntime" in run_command("denoise flight.nc -o silent.nc", folder)
    assert list(tmp_path.rglob("*onnxruntime*")) == []


@pytest.mark.parametrize("command", NOT_LOADED)
def test_a_command_loads_only_what_it_uses(command: str, folder: Path) -> None:
    loaded = run_command(command, folder)
    packages = {name.rsplit(".", depth)[0] for name in loaded for depth in range(3)}
    assert packages & NOT_LOADED[command] == set()


def run_command(command: str, folder: Path, *, absent: tuple[str, ...] = ()) -> list[str]:
    """The modules that a command has loaded at its end, as if those `absent` were not installed."""
    code = f"import os, sys; sys.modules.update(dict.fromkeys({absent!r}))\n"
    code += f"os.chdir({str(folder)!r}); sys.argv[1:] = {command.split()!r}\nimport pc2dae.cli.entry\n"
    code += "try: pc2dae.cli.entry.main()\nexcept SystemExit as end: assert not end.code, end.code"
    show = "print('\\n'.join(name for name, module in sys.modules.items() if module is not None))"
    result = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def test_the_drone_needs_only_the_edge_requirements() -> None:
    """`stream` with every other dependency of the base install absent."""
    root = Path(__file__).parents[1]
    edge = set(re.findall(r"^([\w-]+)", (root / "deploy/edge-requirements.txt").read_text(), re.MULTILINE))
    base = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    absent = {re.split("[>=<]", line)[0] for line in base} - edge
    modules = {name.replace("PyWavelets", "pywt") for name in absent}
    sample = '{"flight":"f","seq":0,"time":"2026-08-01T00:00:00Z","values":{"co_a":100.0},"end":true}'
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(modules)!r}))\n"
    code += "sys.argv = ['pc2dae', 'stream', '--stdin']; from pc2dae.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], input=sample, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["estimate"]["co_a"] == pytest.approx(100.0, rel=0.05)


@pytest.mark.parametrize("name", pc2dae.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(pc2dae, name) is not None
    assert name in dir(pc2dae)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'denoize'"):
        _ = pc2dae.denoize  # type: ignore[attr-defined]


def test_the_version_is_a_number() -> None:
    assert all(part.isdigit() for part in pc2dae.__version__.split(".")[:2])
