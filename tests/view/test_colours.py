"""Lines, flags and text can be distinguished without colour: in greyscale, by colour-blind people, in both themes."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from pc2dae.arrays import Array
from pc2dae.view.assets import STATIC

LINES = ("raw", "estimate", "truth", "response", "other")
# Linear RGB as seen without the cones for long and for middle wavelengths: Machado et al. 2009,
# doi:10.1109/TVCG.2009.113.
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])  # sRGB, D65


def palette(theme: str) -> dict[str, Array]:
    """Linear RGB of every plain colour of a theme."""
    style = (STATIC / "view.css").read_text("utf-8")
    blocks = re.findall(r":root(?:\[data-theme=\"dark\"\])? \{(.*?)\}", style, re.DOTALL)
    found = re.findall(r"--([\w-]+): #(\w{6});", blocks[theme == "dark"])
    values = {name: np.array([int(code[i : i + 2], 16) for i in (0, 2, 4)]) / 255 for name, code in found}
    return {name: np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4) for name, v in values.items()}


def lab(linear: Array) -> Array:
    """CIE L*a*b*."""
    share = TO_XYZ @ np.clip(linear, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(a: Array, b: Array) -> float:
    """Ratio of two colours by WCAG 2."""
    low, high = sorted(float(TO_XYZ[1] @ c) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def test_the_measures_are_right() -> None:
    assert lab(np.ones(3)) == pytest.approx([100, 0, 0], abs=0.1)
    assert contrast(np.zeros(3), np.ones(3)) == pytest.approx(21)
    red, green = np.array([0.4, 0, 0]), np.array([0.05, 0.12, 0])  # a pair that colour-blind people confuse
    seen = np.array(BLIND["deuteranopia"])
    assert np.linalg.norm(lab(seen @ red) - lab(seen @ green)) < 0.6 * np.linalg.norm(lab(red) - lab(green))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_differ_in_greyscale_and_for_the_colour_blind(theme: str) -> None:
    colours = palette(theme)
    for a, b in combinations(LINES, 2):
        assert abs(lab(colours[a])[0] - lab(colours[b])[0]) > 8, (a, b)
        for kind, matrix in BLIND.items():
            seen = [lab(np.array(matrix) @ colours[name]) for name in (a, b)]
            assert np.linalg.norm(seen[0] - seen[1]) > 12, (a, b, kind)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_graphics_have_contrast(theme: str) -> None:
    colours = palette(theme)
    for ground in (colours["card"], colours["ground"]):
        for text in ("ink", "soft", "accent", "good", "bad", "alarm"):
            assert contrast(colours[text], ground) >= 4.5, text
    for drawn in (*LINES, "plume", "flag1", "flag2", "flag3", "flag4"):
        assert contrast(colours[drawn], colours["card"]) >= 3.0, drawn
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5


def test_lines_differ_in_dashes_or_width_and_flags_in_hatch_and_height() -> None:
    text = (STATIC / "styles.js").read_text("utf-8")
    lines = re.findall(r'\{ key: "(\w+)", role: "\w+", width: ([\d.]+)(?:, dash: (\[[\d, ]+\]))? \}', text)
    assert {name for name, *_ in lines} == {*LINES, "unbounded"}
    assert len({(dash or float(width)) for _, width, dash in lines}) == len(lines)
    hatches = re.findall(r'\d: \{ height: (\d+),(?: isTall: (true),)? path: "([^"]+)" \}', text)
    assert len({path for *_, path in hatches}) == len(hatches) == 4
