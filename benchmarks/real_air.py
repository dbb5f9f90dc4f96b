"""What the default estimate does to every real record: response, limit of falls, peaks, areas, clean air, roughness.

    python benchmarks/real_air.py [FOLDER ...] [--short] [--stated FACTOR] [--response FILE] [--docs docs]

A line per record and channel: the t90 that was used and its source, or why none was; the largest t90 that the falls of
the reading allow; peak, area above clean air and roughness (sum of first differences) of the estimate relative to the
reading; the share of samples more than 4 uncertainties below clean air. `--short` takes the shortened records of the
tests. With `--stated`, each channel is stated to respond in FACTOR times the limit of its falls: what is physically
possible may be undone, what is not must be refused. `--response` takes a file of `pc2dae response`. The records are in
../shared/data or PC2DAE_REAL_DATA.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))
from real_checks import denoised_names
from real_data import ABSENT, DATA, RECORDS, RealRecord

import pc2dae
from pc2dae.flight.schema import observed, suite_of
from pc2dae.noise import noise_level, sum_variance
from pc2dae.response.falls import falls_of
from pc2dae.response.payload import ChannelResponse, with_response

CLEAN = 0.05  # quantile of the reading that is taken as clean air
DEEP = 4.0  # uncertainties below it
RESULTS = "results/2026-11-18-real-air.md"
TITLE = "# The default estimate of every real record (18 November 2026)"
COMMAND = "```bash\npython benchmarks/real_air.py --docs docs\n```"
MEANING = (
    "No response is stated, so most channels keep their lag (explained in [ambient](../ambient.md)). Peak, area above"
    " clean air and roughness are relative to the reading; *below* is the share of samples more than 4 uncertainties"
    " below clean air. Means of a few counts of particles have areas no better than a tenth of a count per sample."
)
HEAD = (f"{'record':52}{'channel':29}{'t90 [s]':>12} {'source':16}{'limit':>7}{'peak':>7}{'area':>8}{'rough':>7}"
        f"{'below':>8}  not corrected because")  # fmt: skip


@dataclass(frozen=True)
class Effect:
    """An estimate of one channel beside its reading."""

    peak: float  # highest 3-sample median above clean air, relative to that of the reading
    area: float  # above clean air, likewise
    area_noise: float  # what noise, and a tenth of the resolution, leave unknown of it
    roughness: float
    below: float  # share of samples far below clean air


def effect(clean: xr.Dataset, name: str) -> Effect:
    """How a channel's estimate differs from its reading."""
    raw, air = (clean[n].values.astype(np.float64) for n in (f"{name}_raw", f"{name}_unbounded"))
    both = observed(clean, name) & np.isfinite(raw) & np.isfinite(air)
    raw, air, sigma = raw[both], air[both], clean[f"{name}_uncertainty"].values[both]
    floor = float(np.quantile(raw, CLEAN))
    peaks, areas, rough = ([f(x) for x in (air, raw)] for f in (
        lambda x: np.max(np.median(np.lib.stride_tricks.sliding_window_view(x, 3), axis=1)) - floor,
        lambda x: np.sum(x - floor), lambda x: np.sum(np.abs(np.diff(x)))))  # fmt: skip
    noise = noise_level(raw[None], np.ones((1, len(raw)), bool))
    sigma_n, lag1, step = (float(x[0]) for x in (noise.sigma, noise.lag1, noise.step))
    spread = float(np.hypot(np.sqrt(sum_variance(sigma_n, lag1) * len(raw)), step / 10 * len(raw)))
    deep = air < min(floor, float(raw.min())) - DEEP * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        peak, area, roughness = (float(np.divide(*pair)) for pair in (peaks, areas, rough))
        return Effect(peak, area, float(np.divide(spread, areas[1])), roughness, float(np.mean(deep)))


def limits(flight: xr.Dataset) -> dict[str, float]:
    """The largest t90 [s] that each channel's falls allow; NaN where they allow any."""
    suite = suite_of(flight)
    names = [n for n in suite.names if observed(flight, n).any()]
    values = np.array([flight[n].values for n in names], np.float64)
    seen = np.array([observed(flight, n) for n in names]) & np.isfinite(values)
    levels = noise_level(values, seen).sigma
    return {n: falls_of(v, s, sigma=float(u), rate_hz=suite.rate_hz).limit_s
            for n, v, s, u in zip(names, values, seen, levels, strict=True)}  # fmt: skip


def lines(record: RealRecord, flight: xr.Dataset, factor: float | None, response: Path | None) -> Iterator[str]:
    """A line per channel of a record."""
    at_most = limits(flight)
    if factor is not None:
        stated = {n: ChannelResponse(t90_s=factor * s, t90_uncertainty_s=0.1 * factor * s, source="stated")
                  for n, s in at_most.items() if np.isfinite(s)}  # fmt: skip
        if not stated:
            return
        suite = with_response(suite_of(flight), stated)
        flight = flight.assign_attrs(suite=suite.model_dump_json(exclude_defaults=True))
    clean = pc2dae.denoise(flight, response=response)
    for name in denoised_names(clean):
        attrs, e = clean[name].attrs, effect(clean, name)
        t90 = f"{attrs['t90_s']:.1f} ± {attrs['t90_uncertainty_s']:.1f}" if "t90_s" in attrs else "–"
        yield (f"{record.id:52.51}{name:29}{t90:>12} {attrs.get('t90_source', ''):16}{at_most.get(name, np.nan):7.1f}"
               f"{e.peak:7.2f}{e.area:8.4f}{e.roughness:7.2f}{100 * e.below:7.2f} %  "
               f"{attrs.get('lag_not_corrected', '')}")  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="only these folders, or parts of a record's name")
    parser.add_argument("--short", action="store_true", help="the shortened records of the tests")
    parser.add_argument("--stated", type=float, help="state this multiple of each limit as t90")
    parser.add_argument("--response", type=Path, help="file of `pc2dae response`, for all records")
    parser.add_argument("--docs", type=Path, help="folder of the documentation to be refreshed")
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(ABSENT)
    warnings.simplefilter("ignore")
    print(HEAD)
    table = [HEAD]
    for record in RECORDS:
        if options.folders and not any(word in record.id for word in options.folders):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = record.write(Path(folder), whole=not options.short)
            flight = pc2dae.open_flight(path, suite=record.suite_path, zone=record.zone)
        for line in lines(record, flight, options.stated, options.response):
            print(line, flush=True)
            table.append(line)
    if options.docs is not None:
        parts = (TITLE, COMMAND, MEANING, "```text\n" + "\n".join(table) + "\n```\n")
        (options.docs / RESULTS).write_text("\n\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
