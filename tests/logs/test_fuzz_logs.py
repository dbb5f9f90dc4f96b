"""A fixed sample of `benchmarks/fuzz_logs.py`: damaged logs are rejected in one line, or read as pandas reads them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from fuzz_logs import BINARY, Fuzzer


def test_no_log_is_misread(tmp_path: Path) -> None:
    rng, verdicts = np.random.default_rng(1), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about stamps that it cannot read
        fuzzer = Fuzzer(tmp_path)
        assert set(fuzzer.twins) == set(fuzzer.names) - set(BINARY)
        for number in range(90):
            name, content = fuzzer.damage(number, rng)
            verdicts.append((number, name, *fuzzer.verdict(name, content, deep=number % 7 == 0)))
    assert [verdict for verdict in verdicts if verdict[-1] is not None] == []
    assert {what for _, _, what, _ in verdicts} == {"read", "compared", "refused"}
