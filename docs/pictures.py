"""Draw into docs/images a simulated flight as logged and denoised beside its truth, and its map and height profile.

    python docs/pictures.py [--model NAME] [--seed 3]

The flight goes the whole way a user's does: instrument files, ingest, denoise. Same seed, same picture.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import pc2dae
from pc2dae.atomic import replacing
from pc2dae.flight.schema import suite_of
from pc2dae.report.map_figure import draw_map
from pc2dae.simulate import plan_campaign, write_campaign
from pc2dae.view.plumes import plumes_of

IMAGES = Path(__file__).parent / "images"
LOGGED, CLEAN, TRUTH = "#8a949e", "#0b7285", "#e8590c"
CHANNELS = ("bc_uv_2", "co_a", "no2_b")
SECONDS = 480


def fly(seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """One simulated flight ingested from its instrument files, and its truth."""
    with tempfile.TemporaryDirectory() as folder:
        (logs,) = write_campaign(plan_campaign(seed, flights=1), folder)
        return pc2dae.open_flight(logs), xr.load_dataset(f"{logs}.truth.nc")


def stretch(flight: xr.Dataset) -> slice:
    """The first stretch that holds as much smoke as most: plumes with clean air between them."""
    smoke = np.clip(np.nan_to_num(flight["bc_uv_2"].values), 0, None)
    total = np.convolve(np.minimum(smoke, np.quantile(smoke, 0.98)), np.ones(SECONDS), mode="valid")
    start = int(np.argmax(total >= np.quantile(total, 0.8)))
    return slice(start, start + SECONDS)


def draw(clean: xr.Dataset, truth: xr.Dataset, path: Path) -> None:
    """Left what was logged, right what comes out with its band of two sigma, and what the simulation knows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    part = clean.isel(time=stretch(clean))
    known = truth.reindex(time=part["time"], method="nearest", tolerance=np.timedelta64(1, "s"))
    minutes = np.arange(part.sizes["time"]) / 60
    axes = figure.subplots(len(CHANNELS), 2, sharex=True, sharey="row")
    for (before, after), name in zip(axes, CHANNELS, strict=True):
        _before(before, minutes, part, name)
        _after(after, minutes, part, known[f"{name}_instant"].values, name)
        for axis in (before, after):
            axis.axhline(0, color="black", lw=0.6)
            axis.spines[["top", "right"]].set_visible(False)
            axis.margins(x=0)
    axes[0, 1].legend(frameon=False, loc="upper left", fontsize=9)
    figure.supxlabel("minutes", fontsize=10)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, metadata={"Software": None})


def draw_flight_map(clean: xr.Dataset, path: Path) -> None:
    """Map and height profile of one channel."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    suite = suite_of(clean)
    figure = Figure(figsize=(10, 4.2))
    FigureCanvasAgg(figure)
    draw_map(figure, clean, suite, CHANNELS[0], plumes_of(clean))
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, metadata={"Software": None})


def _before(axis: Any, minutes: Any, part: xr.Dataset, name: str) -> None:
    raw = part[f"{name}_raw"].values
    axis.plot(minutes, raw, color=LOGGED, lw=0.8)
    low, high = np.nanquantile(raw, [0.002, 0.985])
    axis.set_ylim(low - 0.05 * (high - low), high + 0.5 * (high - low))
    share = 100 * np.mean(raw[np.isfinite(raw)] < 0)
    axis.set_title(f"{name} [{part[name].attrs['units']}]", loc="left", fontsize=9)
    axis.set_title(f"as logged: {share:.0f} % below zero", loc="right", fontsize=9, color=LOGGED)


def _after(axis: Any, minutes: Any, part: xr.Dataset, air: Any, name: str) -> None:
    value = part[name].values
    if f"{name}_uncertainty" in part:
        sigma = part[f"{name}_uncertainty"].values
        axis.fill_between(
            minutes, np.maximum(value - 2 * sigma, 0), value + 2 * sigma, color=CLEAN, alpha=0.25, lw=0, label="± 2 σ"
        )
    axis.plot(minutes, value, color=CLEAN, lw=1.3, label="estimate of the air")
    axis.plot(minutes, air, color=TRUTH, lw=0.9, ls="--", label="truth, without noise and lag")
    share = 100 * np.mean(value[np.isfinite(value)] < 0)
    axis.set_title(f"noise and lag removed: {share:.0f} % below zero", loc="right", fontsize=9, color=CLEAN)


def main() -> None:
    """Draw them and say where they are."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="adaptive")
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    flight, truth = fly(options.seed)
    clean = pc2dae.denoise(flight, model=options.model)
    draw(clean, truth, IMAGES / "before_after.png")
    draw_flight_map(clean, IMAGES / "map.png")
    print(f"{IMAGES / 'before_after.png'}, map.png: model {clean.attrs['pc2dae_model']}, seed {options.seed}")


if __name__ == "__main__":
    main()
