"""Self-contained pages of a flight, benchmark or campaign; the module itself is callable: `pc2dae.report(…)`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

RESULTS = "results.parquet"  # marks a folder of benchmark results


def report(
    flight: xr.Dataset,
    path: str | os.PathLike[str],
    *,
    truth: xr.Dataset | None = None,
    scores: pd.DataFrame | None = None,
) -> None:
    """Write the report of a flight as one HTML page; a simulated flight's `truth` is drawn and scored too.

    `scores` replace those of `pipeline.evaluate`, to show more methods than the flight's own.
    """
    from pc2dae.report.flight_page import write_flight_page

    write_flight_page(flight, path, truth=truth, scores=scores)


def is_benchmark(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds the results of `pc2dae benchmark`."""
    return (Path(folder) / RESULTS).is_file()


def report_benchmark(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Write the report of a benchmark's folder as one HTML page."""
    from pc2dae.errors import require
    from pc2dae.report.benchmark_page import write_benchmark_page

    require("pyarrow", extra="benchmark")
    write_benchmark_page(Path(folder) / RESULTS, path)


def slides(flight: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a flight's figures as a PDF, one page per family, then map and spectra."""
    from pc2dae.report.pdf import write_slides

    write_slides(flight, path)


class _Room(ModuleType):
    """A callable module: `pc2dae.report` is both this package and its main function."""

    def __call__(self, *arguments: Any, **options: Any) -> None:
        report(*arguments, **options)


sys.modules[__name__].__class__ = _Room
