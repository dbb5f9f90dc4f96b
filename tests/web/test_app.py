from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ground import Ground
from typer.testing import CliRunner

from pc2dae.cli import app, main
from pc2dae.filters import FILTERS
from pc2dae.registry import SHIPPED
from pc2dae.web.methods import METHODS


def test_every_method_has_words() -> None:
    assert set(METHODS) == {*SHIPPED, *FILTERS, "live"}
    assert next(iter(METHODS)) == "adaptive"


def test_every_route_is_described(ground: Ground) -> None:
    for path, operations in ground.get("/openapi.json")["paths"].items():
        for verb, operation in operations.items():
            assert operation.get("description"), (verb, path)
            assert "4XX" in operation["responses"]


def test_uplot_comes_from_its_wheel_and_is_revalidated(ground: Ground) -> None:
    answer = ground.client.get("/static/uplot/uPlot.iife.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["content-encoding"] == "gzip"
    assert b"var uPlot" in answer.content
    again = ground.client.get("/static/uplot/uPlot.iife.js", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


def test_scripts_and_styles_come_from_our_own_files_alone(ground: Ground) -> None:
    page = ground.client.get("/")
    assert "unsafe" not in page.headers["content-security-policy"]
    for path in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
        assert ground.client.get(path).status_code == 200, path


def test_the_server_needs_neither_torch_nor_pandas() -> None:
    """The server process does not load the modules that parse untrusted files."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pc2dae.web.app import create_app; from pc2dae.web.settings import Settings\n"
        "import tempfile, pathlib; create_app(Settings(data=pathlib.Path(tempfile.mkdtemp())))\n"
        "print([m for m in ('pandas', 'xarray', 'netCDF4', 'onnxruntime', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_worker_needs_no_torch() -> None:
    code = "import sys, pc2dae.web.tasks, pc2dae.web.live.live_processes; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_open_address_without_a_token_is_refused_in_one_line(monkeypatch: Any, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.delenv("PC2DAE_TOKEN", raising=False)
    monkeypatch.setattr(sys, "argv", ["pc2dae", "serve", "--host", "0.0.0.0", "--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    said = capsys.readouterr().err
    assert said == (
        "pc2dae: 0.0.0.0 can be reached by others, so a token is required; add --token, or set PC2DAE_TOKEN\n"
    )


def test_help_says_what_it_is_for() -> None:
    shown = CliRunner().invoke(app, ["serve", "--help"]).output
    assert "pc2dae serve --port 8000" in shown
