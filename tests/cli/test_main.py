"""Errors on the command line: one line, exit code 2, a traceback only on request."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

import pc2dae
from pc2dae import cli
from pc2dae.errors import SuiteError

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in its own process, as the console script runs it."""
    code = "import sys; sys.argv[0] = 'pc2dae'; from pc2dae.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def run_here(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, str, object]:
    """Output, errors and exit code of the command line in this process, which has imported everything."""
    monkeypatch.setattr(sys, "argv", ["pc2dae", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return *capsys.readouterr(), end.value.code


def page() -> ModuleType:
    """docs/refresh.py, which knows all commands."""
    spec = spec_from_file_location("refresh", ROOT / "docs" / "refresh.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMMANDS: dict[str, Any] = dict(page().commands())


def test_version() -> None:
    result = run("--version")
    assert (result.stdout, result.stderr, result.returncode) == (f"pc2dae {pc2dae.__version__}\n", "", 0)


def test_nothing_said_is_answered_with_the_help() -> None:
    result = run()
    assert "Usage: pc2dae" in result.stdout
    assert result.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["simulate"], "missing argument 'DIR'; see `pc2dae simulate --help`"),
        (["simulte"], "no such command 'simulte'. Did you mean 'simulate'?; see `pc2dae --help`"),
        (
            ["simulate", "x", "--flihts", "1"],
            "no such option: --flihts (Possible options: --flights); see `pc2dae simulate --help`",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: list[str], line: str) -> None:
    result = run(*arguments)
    assert (result.stdout, result.stderr, result.returncode) == ("", f"pc2dae: {line}\n", 2)


def test_a_suite_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "pc2dae: no instruments are simulated for suite 'blck-kite'; did you mean 'black-kite'?\n"
    assert run_here(["simulate", "x", "--suite", "blck-kite"], monkeypatch, capsys) == ("", line, 2)


@pytest.mark.parametrize(
    "arguments", [["--debug", "simulate", "x", "--suite", "y"], ["simulate", "x", "--suite", "y", "--debug"]]
)
def test_debug_anywhere_lets_the_error_through(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pc2dae", *arguments])
    with pytest.raises(SuiteError):
        cli.main()


def test_debug_shows_the_traceback() -> None:
    result = run("simulate", "x", "--suite", "y", "--debug")
    assert "Traceback (most recent call last)" in result.stderr
    assert "SuiteError" in result.stderr
    assert result.returncode != 0


def told(error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[str, int]:
    """Output and exit code of `main` if a command raises `error`."""

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    _, line, code = run_here([], monkeypatch, capsys)
    assert isinstance(code, int)
    return line, code


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (SuiteError("two\nlines", hint="one hint"), "two lines; one hint", 2),
        (FileNotFoundError(2, "No such file or directory", "a.nc"), "a.nc: No such file or directory", 2),
        (OSError("NetCDF: HDF error"), "NetCDF: HDF error", 2),
        (
            ModuleNotFoundError("No module named 'torch'", name="torch"),
            "torch is not installed; pip install 'pc2dae[train]'",
            2,
        ),
        (ModuleNotFoundError("…", name="paho.mqtt"), "paho.mqtt is not installed; pip install 'pc2dae[stream]'", 2),
        (MemoryError(), "not enough memory; use a shorter record, or allow more memory", 2),
        (
            ZeroDivisionError("division by zero"),
            "internal error, ZeroDivisionError: division by zero; run again with --debug and report it",
            1,
        ),
        (KeyboardInterrupt(), "stopped", 130),
        (typer.Abort(), "stopped", 130),
    ],
)
def test_every_error_is_one_line(
    error: BaseException, line: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(error, monkeypatch, capsys) == (f"pc2dae: {line}\n", code)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_in_its_help(name: str) -> None:
    assert f"Example: pc2dae {name}" in " ".join((COMMANDS[name].help or "").split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_and_option_says_what_it_is(name: str) -> None:
    silent = [parameter.name for parameter in COMMANDS[name].params if not parameter.help]
    assert silent == []


def test_every_command_is_documented() -> None:
    """If this fails: run `python docs/refresh.py` and look at docs/commands.md."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"\n## {name}\n" in text, f"docs/commands.md has no section '{name}'; run python docs/refresh.py"
    assert page().refreshed(text) == text, "docs/commands.md is out of date; run python docs/refresh.py"


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_on_a_page_exists_with_its_options(path: Path) -> None:
    """Lines of code blocks that start with pc2dae, `$ ` before it or not."""
    blocks = re.findall(r"```(?:bash|console|sh)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    for part in (part.strip() for line in lines for part in re.split(r"&&|\|", line.partition("  #")[0])):
        if not part.startswith("pc2dae ") or "--version" in part or part == "pc2dae --help":
            continue
        words = shlex.split(part)[1:]
        name = next((n for n in (" ".join(words[:2]), words[0]) if n in COMMANDS), None)
        assert name is not None, f"{path.name} shows a command that does not exist: {part}"
        known = {
            option for parameter in COMMANDS[name].params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[A-Za-z][\w-]*(=.*)?", word)}
        assert used <= known | {"--help", "--debug"}, f"{path.name}: {part}"
