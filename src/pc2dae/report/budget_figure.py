"""The error budget of a flight as bars: noise, lag and calibration of every channel before, and what is left after."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from pc2dae.metrics.budget import budget_table

WHERE = {"": "Whole flight", "_plume": "In plumes"}  # ending of the metrics → title
# Part → colour and label; the same calibration error ends both bars of a channel.
_LOOKS = {
    "noise": ("#56b4e9", "noise"),
    "lag": ("#d55e00", "lag"),
    "left": ("#0072b2", "left of noise and lag"),
    "calibration": ("#b8bec6", "calibration"),
}
_BARS = (("noise", "lag", "calibration"), ("left", "calibration"))  # before above after
_WIDTH, _ROW, _BAR, _LETTER = 350, 24, 9, 7  # of all bars, a channel, a bar, a letter [px]


def error_budget(scores: pd.DataFrame, where: str) -> str:
    """Two bars per channel, before and after, in per cent of the parts before, as SVG; `where` is a key of `WHERE`."""
    table = budget_table(scores)
    table = table[table.index.get_level_values("channel") != "all"]
    names = [escape(str(name)) for name in table.index.get_level_values("channel")]
    sizes = {part: table[f"budget_{part}{where}"].to_numpy(np.float64) for part in _LOOKS}
    whole = sizes["noise"] + sizes["lag"] + sizes["calibration"]
    shares = {part: 100 * np.nan_to_num(size / np.where(whole > 0, whole, np.nan)) for part, size in sizes.items()}
    left = _LETTER * (2 + max(map(len, names), default=0))
    longest = max(100.0, *(float(np.max(sum(shares[part] for part in parts), initial=0.0)) for parts in _BARS))
    step = 25 if longest <= 150 else 50 * int(np.ceil(longest / 300))
    scale, bottom = _WIDTH / longest, _ROW * len(names)
    drawn = [
        f'<path d="M{left + scale * tick:.1f} 0V{bottom}" stroke="var(--line)"/>'
        f'<text x="{left + scale * tick:.1f}" y="{bottom + 14}" text-anchor="middle">{tick}</text>'
        for tick in range(0, int(longest) + 1, step)
    ]
    for row, name in enumerate(names):
        drawn.append(f'<text x="{left - 6}" y="{_ROW * row + 16}" text-anchor="end">{name}</text>')
        if not np.isfinite(whole[row]):
            why = "no encounter" if where else "no truth"
            drawn.append(f'<text x="{left + 4}" y="{_ROW * row + 16}" opacity="0.6">{why}</text>')
            continue
        for bar, parts in enumerate(_BARS):
            start = float(left)
            for part in parts:
                (colour, words), share = _LOOKS[part], shares[part][row]
                drawn.append(
                    f'<rect x="{start:.1f}" y="{_ROW * row + 3 + bar * _BAR}" width="{scale * share:.1f}"'
                    f' height="{_BAR}" fill="{colour}"><title>{name}: {words} {share:.0f} %</title></rect>'
                )
                start += scale * share
    middle = left + _WIDTH / 2
    drawn.append(
        f'<text x="{middle}" y="{bottom + 32}" text-anchor="middle">% of noise + lag + calibration before</text>'
    )
    for place, (colour, words) in zip((0, 60, 105, 256), _LOOKS.values(), strict=True):
        drawn.append(f'<rect x="{left + place}" y="{bottom + 44}" width="12" height="{_BAR}" fill="{colour}"/>')
        drawn.append(f'<text x="{left + place + 16}" y="{bottom + 53}">{words}</text>')
    size = f"0 0 {left + _WIDTH + 20} {bottom + 62}"
    label = f"Error budget: {WHERE[where].lower()}"
    head = f'<svg viewBox="{size}" font-size="12" fill="currentColor" role="img" aria-label="{label}">'
    return f"{head}{''.join(drawn)}</svg>"
