"""`import pc2dae` is fast: heavy modules are loaded on first use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pc2dae

HEAVY = {
    "torch",
    "xarray",
    "pandas",
    "scipy",
    "matplotlib",
    "uplot",
    "IPython",
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


@pytest.mark.parametrize("command", [["--help"], ["denoise", "in.csv", "--suite", "x.toml", "-o", "out.csv"]])
def test_using_the_product_loads_no_research_code(command: list[str], tmp_path: Path) -> None:
    """Benchmark, baselines and ablations are loaded by `pc2dae benchmark` and by training them alone."""
    seconds = "\n".join(f"2026-08-01T00:{t // 60:02d}:{t % 60:02d}Z,{t % 7}" for t in range(300))
    (tmp_path / "in.csv").write_text(f"time,co\n{seconds}\n")
    (tmp_path / "x.toml").write_text('name = "x"\n[[family]]\nname = "gas"\nchannel = [{name = "co", units = "ppb"}]\n')
    code = f"import os, sys; os.chdir({str(tmp_path)!r}); sys.argv[1:] = {command!r}\nimport pc2dae.cli\n"
    code += "try: pc2dae.cli.main()\nexcept SystemExit as end: assert not end.code, end.code"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint('\\n'.join(sys.modules))"], capture_output=True, text=True, check=True
    )
    research = ("pc2dae.benchmark", "pc2dae.baselines", "pc2dae.model", "pc2dae.training", "torch")
    assert [name for name in result.stdout.splitlines() if name.startswith(research)] == []


@pytest.mark.parametrize("name", pc2dae.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(pc2dae, name) is not None
    assert name in dir(pc2dae)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'denoize'"):
        _ = pc2dae.denoize  # type: ignore[attr-defined]


def test_the_version_is_a_number() -> None:
    assert all(part.isdigit() for part in pc2dae.__version__.split(".")[:2])
