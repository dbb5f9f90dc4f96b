"""The page of the flight made by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import xarray as xr

from pc2dae import report

sys.path.insert(0, str(Path(__file__).parents[1] / "view"))
from hand_made import clean, measured, suite  # noqa: F401


@pytest.fixture(scope="session")
def page(clean: xr.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    path = tmp_path_factory.mktemp("page") / "report.html"
    report(clean, path)
    return path
