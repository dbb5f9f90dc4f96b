"""Figures of a campaign: when was flown, how the flights scored, what the smoke was made of."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pc2dae.report.drawing import BOXES, INK, LOOKS, Drawing, new_figure, styled

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
RATIOS = {"bc_co": "ΔBC/ΔCO", "nox_co": "ΔNOₓ/ΔCO", "co_co2": "ΔCO/ΔCO₂", "mce": "MCE"}


def calendar(flights: pd.DataFrame) -> Drawing:
    """Minutes flown on each day: a column for every week, a row for every weekday."""
    minutes = flights.groupby(flights["start"].dt.tz_localize(None).dt.normalize())["span_s"].sum() / 60
    first = minutes.index.min() - pd.Timedelta(days=int(minutes.index.min().weekday()))
    days = (minutes.index - first).days.to_numpy()
    grid = np.full((len(DAYS), int(days.max()) // 7 + 1), np.nan)
    grid[days % 7, days // 7] = minutes.to_numpy(dtype=np.float64)
    weeks = range(grid.shape[1])
    mondays = [str((first + pd.Timedelta(weeks=week)).date()) for week in weeks]
    figure = new_figure(12.0, 2.6)
    axes = figure.subplots()
    mesh = axes.pcolormesh(np.ma.masked_invalid(grid), cmap="viridis_r", vmin=0, edgecolors="white", linewidth=1.5)
    axes.invert_yaxis()
    step = -(-len(mondays) // 12)
    axes.set_xticks([w + 0.5 for w in weeks][::step], mondays[::step])
    axes.set_yticks(np.arange(7) + 0.5, DAYS)
    styled(figure.colorbar(mesh, ax=axes, pad=0.01).ax, ylabel="minutes").grid(visible=False)
    styled(axes, xlabel="week from Monday").grid(visible=False)
    return Drawing("calendar", figure)


def distribution(flights: pd.DataFrame, metric: str, unit: str) -> Drawing | None:
    """A blind metric over all flights, a box for every family."""
    families = [c.removeprefix(f"{metric}_") for c in flights.columns if c.startswith(f"{metric}_")]
    values = {family: flights[f"{metric}_{family}"].dropna().astype(float).to_numpy() for family in families}
    known = {family: found for family, found in values.items() if len(found)}
    if not known:
        return None
    figure = new_figure()
    axes = figure.subplots()
    outliers = {"markersize": 3, "markeredgecolor": INK}
    boxes = axes.boxplot(list(known.values()), tick_labels=list(known), patch_artist=True, flierprops=outliers, **BOXES)
    for box, (colour, _) in zip(boxes["boxes"], LOOKS * 3, strict=False):
        box.set(facecolor=colour, alpha=0.6)
    styled(axes, ylabel=unit)
    return Drawing(metric, figure)


def ratio_over_time(flights: pd.DataFrame, ratio: str) -> Drawing | None:
    """An emission ratio of every flight that has one, with one sigma, at the time it began."""
    rows = flights[flights[ratio].notna()]
    if rows.empty:
        return None
    sigma = rows[f"{ratio}_sigma"].astype(float).fillna(0.0)
    values = rows[ratio].astype(float)
    low, high = np.quantile(values, [0.02, 0.98])
    room = max(high - low, 0.1 * abs(high), 1e-6)
    figure = new_figure()
    axes = figure.subplots()
    times = rows["start"].dt.tz_localize(None).to_numpy()
    axes.errorbar(times, values, yerr=sigma, fmt="o", markersize=4, linewidth=1, color=LOOKS[0][0])
    styled(axes, ylim=(low - 0.3 * room, high + 0.3 * room)).tick_params(axis="x", rotation=20)
    return Drawing(f"ratio-{ratio}", figure)
