from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pc2dae.web.series import read_columns, write_columns


def test_columns_come_back_and_objects_do_not(tmp_path: Path) -> None:
    write_columns(tmp_path / "c.npz", {"time": np.arange(3), "co a": np.array([1.5, np.nan, 2.0])})
    back = read_columns(tmp_path / "c.npz")
    assert back["time"].tolist() == [0, 1, 2]
    assert back.get("no") is None
    with pytest.raises(ValueError, match="Object arrays"):
        write_columns(tmp_path / "d.npz", {"x": np.array([{}], dtype=object)})
