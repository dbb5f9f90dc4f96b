"""A finding of pip-audit fails `make audit`; an unreachable advisory service does not."""

from __future__ import annotations

import json
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
verdict = runpy.run_path(str(ROOT / ".ci" / "audit.py"))["verdict"]

FINE = {"name": "numpy", "version": "2.4.6", "vulns": []}
BAD = {"name": "pillow", "version": "9.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["9.1"], "aliases": []}]}
UNKNOWN = {"name": "torch", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([FINE], 0, "pip-audit: 0 findings in 1 packages"),
        ([FINE, UNKNOWN], 0, "pip-audit: 0 findings in 1 packages; not known: torch"),
        ([FINE, BAD], 1, "pillow 9.0: PYSEC-1, fixed in 9.1\npip-audit: 1 findings in 2 packages"),
        ([UNKNOWN], 0, "pip-audit skipped: the advisory service knows none of 1 packages"),
    ],
)
def test_what_pip_audit_found(packages: list[dict[str, Any]], code: int, words: str) -> None:
    assert verdict(json.dumps({"dependencies": packages, "fixes": []}), "") == (code, words)


def test_without_a_network_it_is_skipped_in_one_line() -> None:
    code, words = verdict("", "Traceback\n…\nConnectionError: Failed to resolve 'pypi.org'\n")
    assert (code, words) == (0, "pip-audit skipped, no advisory service: ConnectionError: Failed to resolve 'pypi.org'")


@pytest.mark.parametrize(
    ("package", "vulnerable"),
    [("torch", "2.9"), ("onnx", "1.20"), ("starlette", "0.47.1"), ("python-multipart", "0.0.25")],
)
def test_versions_with_known_vulnerabilities_are_not_installed(package: str, vulnerable: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [Requirement(line) for lines in project["optional-dependencies"].values() for line in lines]
    (floor,) = (one.specifier for one in asked if one.name == package)
    assert vulnerable not in floor
    tested = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    assert tested[package] in floor
