"""Every command and Python example in the documentation is run on a small flight, or at least parsed."""

from __future__ import annotations

import argparse
import os
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from pc2dae.cli import app, main
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite

ROOT = Path(__file__).parents[1]
FIRST = ["README.md", "CONTRIBUTING.md", "docs/quick-start.md"]
PAGES = [*FIRST, *sorted({str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md")} - set(FIRST))]
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")

# Added to a command, so that it does the same with less; of an option given twice the last counts.
SMALLER = {
    "pc2dae simulate campaign": "--flights 1 --minutes 3 --seed 3 --workers 1",
    "pc2dae archive denoise": "--model bayesshrink",
    "pc2dae serve": "--port 0 --data served",
}

EXIT_CODES = {"pc2dae simulate --check campaign": 1}  # three minutes do not have the statistics of a campaign

# What is not run here, and why. Names and options are checked all the same.
NOT_RUN = {
    "make": "sets up .venv or is what CI runs; its target exists",
    "pip": "needs a network; the extra exists",
    "source .venv/bin/activate": "the environment of `make install`",
    "sudo": "changes the system",
    "systemctl": "changes the system",
    "ssh": "needs a second machine",
    "dask ssh": "needs a cluster",
    "curl": "needs a running server, as tests/web has one; its route exists",
    "mosquitto": "test_the_live_commands_run_beside_a_broker starts one",
    "pc2dae stream --mqtt": "test_the_live_commands_run_beside_a_broker",
    "pc2dae replay flight_001.nc --mqtt": "test_the_live_commands_run_beside_a_broker",
    "pc2dae plumes clean.nc --clean-air": "needs times of the flight; tests/cli/test_evaluate_plumes.py states them",
    "pc2dae demo": "a minute; tests/cli/test_demo.py",
    "pc2dae benchmark": "minutes to hours; tests/benchmark runs each part of it",
    "pc2dae train": "tests/cli/test_denoise.py types it on a smaller table",
    "pc2dae export": "tests/cli/test_denoise.py types it after a shorter training",
    "pc2dae archive train": "minutes; tests/archive/test_validation.py runs one trial",
    "python": "a benchmark, a training or a test of its own; its options are parsed",
    "from dask_jobqueue": "needs a SLURM cluster",
    "from dask_kubernetes.operator": "needs a Kubernetes cluster",
    "OZONE_MONITOR =": "tests/test_docs.py::test_the_ten_line_reader_of_contributing_reads",
}

BLOCK_OR_SPAN = r"^```(\w*)\n(.*?)^```|(?<!`)`((?:OMP_NUM_THREADS=1 )?(?:pc2dae|python|make|pip|dask) [^`\n]+)`"


@dataclass(frozen=True)
class Printed:
    """A command line, a Python example, or a command within a sentence."""

    page: str
    line: int
    kind: str  # bash, console, python or inline
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text.splitlines()[0]}"

    @property
    def not_run(self) -> str | None:
        """The entry of NOT_RUN that it falls under."""
        return next((start for start in NOT_RUN if f"{self.text} ".startswith((f"{start} ", f"{start}\n"))), None)


def printed(page: str) -> Iterator[Printed]:
    """All commands and examples of a page in order; commands joined by && are separate."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in re.finditer(BLOCK_OR_SPAN, text, re.MULTILINE | re.DOTALL):
        kind, block, inline = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        if inline is not None:
            yield Printed(page, line, "inline", inline.removeprefix("OMP_NUM_THREADS=1 "))
        elif kind in ("python", "console"):
            yield Printed(page, line + 1, kind, block)
        elif kind in ("bash", "sh", "shell", ""):
            joined = re.sub(r"\\\n\s*", "", block)
            for n, command in enumerate(joined.splitlines()):
                for part in re.sub(r"\s+#.*", "", command).split(" && "):
                    yield Printed(page, line + 1 + n, "bash", part.strip().removesuffix(" &"))


ALL = [one for page in PAGES for one in printed(page)]


def run_main(words: list[str], *, stdin: Path | None = None, stdout: Path | None = None) -> tuple[object, str]:
    """Exit code and output of `pc2dae WORDS` in this process, with files in place of the terminal where given."""
    output = StringIO()
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["pc2dae", *words])
        if stdin is not None:
            patch.setattr(sys, "stdin", stack.enter_context(stdin.open(encoding="utf-8")))
        stack.enter_context(redirect_stderr(output))
        out = output if stdout is None else stack.enter_context(stdout.open("w", encoding="utf-8"))
        stack.enter_context(redirect_stdout(out))
        with pytest.raises(SystemExit) as done:
            main()
    return done.value.code or 0, output.getvalue()


def run(one: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run it in the working directory."""
    if one.kind == "python":
        exec(compile(one.text, one.page, "exec"), {})
    elif one.kind == "console":
        command, _, answer = one.text.partition("\n")
        assert run_main(shlex.split(command)[2:])[1] == answer
    elif one.text.startswith("pc2dae "):
        more = next((f" {more}" for start, more in SMALLER.items() if one.text.startswith(start)), "")
        pipe, _, target = (one.text + more).partition(" > ")
        stdin = None
        for n, part in enumerate(parts := pipe.split(" | ")):
            stdout = Path(target) if n == len(parts) - 1 and target else Path("pipe") if n < len(parts) - 1 else None
            code, output = run_main(shlex.split(part)[1:], stdin=stdin, stdout=stdout)
            assert code == EXIT_CODES.get(one.text, 0), output
            assert stdout is None or stdout.stat().st_size > 0
            stdin = stdout
    elif one.text.startswith("export "):
        name = one.text.removeprefix("export ").partition("=")[0]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        script = f'{one.text}; echo -n "${name}"'
        given = subprocess.check_output(["bash", "-c", script], text=True, env=os.environ | {"PATH": path})
        monkeypatch.setenv(name, given)
    else:
        subprocess.run(one.text.replace("/etc/", "etc/"), shell=True, check=True, capture_output=True)


def parse(words: list[str], *, whole: bool) -> None:
    """Fail on a command or option that `pc2dae` does not have; unless `whole`, arguments may be left out."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("pc2dae", words)
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        try:
            context = command.make_context(name, rest, parent=context)
        except typer.TyperException as error:
            if whole or type(error).__name__ != "MissingParameter":
                raise


class Understood(Exception):
    """Raised instead of running a script whose options are valid."""


def parse_script(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a script is missing, cannot be loaded or has unknown options."""
    if words[0] == "-m":
        spec = find_spec(words[1])
        assert spec is not None
        path, words = Path(str(spec.origin)), words[2:]
    else:
        path, words = ROOT / words[0], words[1:]
    if "parse_args" not in path.read_text(encoding="utf-8"):
        return
    known = argparse.ArgumentParser.parse_args

    def only_parse(parser: argparse.ArgumentParser) -> None:
        known(parser)
        raise Understood

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", only_parse)
    monkeypatch.setattr(sys, "argv", [str(path), *(word.strip("[]") for word in words)])
    monkeypatch.syspath_prepend(str(path.parent))
    with pytest.raises(Understood):
        runpy.run_path(str(path), run_name="__main__")


def check(one: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Syntax, names and options of what is not run."""
    if one.kind == "python":
        compile(one.text, one.page, "exec")
        return
    words = shlex.split(one.text)
    if words[0] == "pc2dae":
        parse(words[1:], whole=one.kind == "bash")
    elif words[0] == "python":
        parse_script(words[1:], monkeypatch)
    elif words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif words[0] == "pip" and (extra := re.search(r"\[(\w+)\]", one.text)):
        assert extra[1] in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    elif words[0] == "curl":
        from pc2dae.web import compare, flights_api, server_api
        from pc2dae.web.live import live_api

        sent = "POST" if {"-F", "-d"} & set(words) else "GET"  # every GET also answers HEAD (-I)
        method = words[words.index("-X") + 1] if "-X" in words else sent
        path = re.sub("[A-Z]+", "x", re.sub(r".*localhost:8000([^ ?']+).*", r"\1", one.text))
        rooms = (compare, flights_api, live_api, server_api)
        routes: Any = [route for room in rooms for route in room.routes.routes]
        assert any(route.path_regex.match(path) and method in route.methods for route in routes)


def without_a_cluster(patch: pytest.MonkeyPatch) -> None:
    """`archive denoise` as a plain loop: tests/archive/test_run.py shows that a cluster makes the same bytes."""
    patch.setattr("pc2dae.archive.cluster.connected", lambda **_: nullcontext())
    patch.setattr("pc2dae.archive.run.each", lambda _, work, jobs: ((name, work(*given)) for name, given in jobs))


def take_for_granted() -> None:
    """Create the files that pages mention but no command creates."""
    from pc2dae.flight.store import read_flight
    from pc2dae.flight.zarr import write_zipped

    suite = re.search(r"```toml\n(name = .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert suite is not None
    Path("mypayload.toml").write_text(suite[1])
    rows = (f"2025-10-01 12:00:{second:02d},{0.4 + second % 3 / 100}" for second in range(60))
    Path("mydrive.csv").write_text("\n".join(["DateTime_cdt,CO_ppm", *rows]) + "\n")
    shutil.copytree("campaign/flight_001", "flight_001")
    write_zipped(read_flight(Path("clean.nc")), Path("clean.zarr/day_2/flight_007.zarr.zip"))
    shutil.copy(ROOT / "src/pc2dae/weights/lean.onnx", "new.onnx")
    Path("etc/pc2dae").mkdir(parents=True)


@pytest.mark.timeout(900)  # a minute of processor time
@pytest.mark.slow
def test_every_printed_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one folder, empty for the README; results are shared between pages, and no command is run twice."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("pc2dae.web.server.serve", lambda settings, listener: listener.close())
    without_a_cluster(monkeypatch)
    done = set()
    for one in ALL:
        if one.kind == "inline" or one.not_run is not None or one.text in done:
            continue
        if one.page != "README.md" and not Path("etc").exists():
            take_for_granted()
        try:
            run(one, monkeypatch)
        except BaseException as error:
            error.add_note(str(one))
            raise
        done.add(one.text)


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_is_understood(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in printed(page):
        if one.kind == "inline" or one.not_run is not None:
            with monkeypatch.context() as patch:
                check(one, patch)


def test_every_exception_is_needed() -> None:
    assert {one.not_run for one in ALL} - {None} == set(NOT_RUN)
    assert all(any(one.text.startswith(start) for one in ALL) for start in (*SMALLER, *EXIT_CODES))


@pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed: make system")
def test_the_live_commands_run_beside_a_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's three commands, one right after the other; port and speed are changed."""
    monkeypatch.chdir(tmp_path)
    suite = load_suite("black-kite").only(["gas"])
    time = np.datetime64("2025-10-01T12:00:00", "ns") + np.arange(90) * np.timedelta64(1, "s")
    write_flight(new_flight(time, {name: np.arange(90) % 7.0 for name in suite.names}, suite), Path("flight_001.nc"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    first = next(n for n, one in enumerate(ALL) if one.text.startswith("mosquitto"))
    broker, gateway, sender = (shlex.split(one.text.replace("1883", port))[1:] for one in ALL[first : first + 3])
    with subprocess.Popen([str(MOSQUITTO), *broker], stderr=subprocess.DEVNULL) as server:
        command = [sys.executable, "-m", "pc2dae", *gateway]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as stream:
            try:
                code, output = run_main([*sender, "--speed", "1000"])
                assert (code, output.splitlines()[-1]) == (0, "flight_001: 90 samples sent and acknowledged")
            finally:
                stream.terminate()
                server.kill()
            assert '"samples":90' in stream.communicate(timeout=20)[1]
