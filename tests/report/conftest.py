"""The page of the flight made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import xarray as xr
from hand_made import clean, measured, suite  # noqa: F401

from pc2dae import report


@pytest.fixture(scope="session")
def page(clean: xr.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    path = tmp_path_factory.mktemp("page") / "report.html"
    report(clean, path)
    return path
