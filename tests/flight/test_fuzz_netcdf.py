"""A fixed sample of `benchmarks/fuzz_netcdf.py`: damaged files are rejected in one line, or read as xarray does."""

from __future__ import annotations

import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_netcdf.py"


def test_no_file_is_misread(tmp_path: Path) -> None:
    spec = spec_from_file_location("fuzz_netcdf", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    fuzz = module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    verdicts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of xarray, when it writes and reads what is not netCDF by the book
        for number, (path, is_foreign) in enumerate(fuzz.cases(tmp_path, files=60, seed=1)):
            verdicts.append(fuzz.verdict(path, is_foreign=is_foreign, deep=number % 20 == 0))
    assert [verdict for verdict in verdicts if verdict[0] not in fuzz.GOOD] == []
    assert {what for what, _ in verdicts} == set(fuzz.GOOD)
