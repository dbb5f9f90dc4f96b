"""The documentation agrees with the code."""

from __future__ import annotations

import importlib
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pc2dae
from pc2dae.flags import FLAGS, INDETERMINATE
from pc2dae.suite import parse_suite

ROOT = Path(__file__).parents[1]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_nomenclature_lists_every_flag() -> None:
    page = text_of("docs/nomenclature.md")
    for name, bit in FLAGS.items():
        assert f"| {bit} | `{name}` | {'Indeterminate' if bit & INDETERMINATE else 'Bad'} |" in page


def test_contributing_is_short_enough_to_be_read() -> None:
    assert len(text_of("CONTRIBUTING.md").splitlines()) < 80


def test_the_ten_line_reader_of_contributing_reads(tmp_path: Path) -> None:
    from pc2dae.logs.files import LogFile, head_lines
    from pc2dae.logs.instruments import Instrument
    from pc2dae.logs.reader import Column, Declared, Head
    from pc2dae.suite import Channel

    match = re.search(r"```python\n(.*?)```", text_of("CONTRIBUTING.md"), re.DOTALL)
    assert match is not None
    made: dict[str, Any] = {"Instrument": Instrument, "Column": Column, "Declared": Declared, "Channel": Channel}
    exec(match[1], made)
    reader = made["OZONE_MONITOR"]
    path = tmp_path / "log.csv"
    path.write_text(
        "Ozone Monitor 12\nDate,Ozone (ppb),Cell Temp\n2025-10-01T12:00:00,31.5,40\n2025-10-01T12:00:01,-0.5,41\n"
    )
    file = LogFile(path)
    head = Head(file.head(), head_lines(file))
    assert reader.recognises(head)
    (stream,) = reader.read(file, head, zone="-06:00", suite=None)
    assert stream.columns["o3"].tolist() == [31.5, -0.5]
    assert stream.units == {"o3": "ppb", "cell_temperature": "degC"}
    assert stream.time[0] == np.datetime64("2025-10-01T18:00:00")


def test_the_example_suite_is_a_suite() -> None:
    match = re.search(r"```toml\n(name = .*?)```", text_of("docs/suite.md"), re.DOTALL)
    assert match is not None
    assert parse_suite(match[1], where="docs/suite.md").names == ("co",)


def test_every_filter_and_its_look_ahead_is_listed() -> None:
    from pc2dae.filters import FILTERS

    page = text_of("docs/commands.md")
    for name, denoiser in FILTERS.items():
        assert f"`{name}`" in page
        if 0 < denoiser.latency_s < np.inf:
            row = next(line for line in page.splitlines() if line.startswith("| `") and f"`{name}`" in line)
            assert f"{denoiser.latency_s:g} s" in row


def test_the_version_is_the_same_everywhere() -> None:
    assert f"## [{pc2dae.__version__}]" in text_of("CHANGELOG.md")
    assert f"version: {pc2dae.__version__}" in text_of("CITATION.cff")


def test_every_link_between_pages_leads_somewhere() -> None:
    """mkdocs checks the pages in docs/; these are the others."""
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text_of(page)):
            assert target.startswith("https://") or (ROOT / target).exists(), f"{page}: {target}"


def diagrams() -> ModuleType:
    spec = spec_from_file_location("diagrams", ROOT / "docs" / "diagrams.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_architecture_shows_what_is_built() -> None:
    texts = {text.get_text() for text in diagrams().architecture().axes.texts}
    assert {"lean: 21,481 parameters", "wide: 204,461 parameters", "6 blocks see 57 samples"} <= texts
    assert {"15 → 20", "64 → 96", "1,880", "37,248", "bc: n = 4", "1,145", "9,497"} <= texts


@pytest.mark.parametrize("name", ["data_flow", "architecture"])
def test_the_diagrams_are_drawn_from_the_present_code(name: str, tmp_path: Path) -> None:
    """If this fails: run `python docs/diagrams.py` and look at the pictures."""
    getattr(diagrams(), name)().save(tmp_path / "drawn.svg")
    drawn, kept = (re.findall(r"<text[^>]*>(.*?)</text>", path.read_text("utf-8"), re.DOTALL)
                   for path in (tmp_path / "drawn.svg", ROOT / "docs" / "images" / f"{name}.svg"))  # fmt: skip
    assert drawn == kept
    assert f"images/{name}.svg" in text_of("docs/concepts.md")


def test_what_the_api_reference_names_is_there() -> None:
    for page in (ROOT / "docs" / "api").glob("*.md"):
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, attribute = name.rpartition(".")
            assert hasattr(importlib.import_module(module), attribute), f"{page.name}: {name}"
