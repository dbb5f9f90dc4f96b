"""`pc2dae denoise`: noisy flights in, clean ones out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.options import (
    EXCLUDE,
    KEEP,
    LOADING,
    META,
    OFFSET,
    RESPONSE,
    SALVAGE,
    SUITE,
    ZONE,
    parse_metadata,
    parse_offsets,
)
from pc2dae.cli.output import FORCE, check_output

if TYPE_CHECKING:
    import xarray as xr

    from pc2dae.calibration.intervals import Interval


@app.command()
def denoise(
    inputs: list[Path] = typer.Argument(..., metavar="INPUT...", help="Flights (.nc), plain CSVs or folders of logs."),
    out: Path = typer.Option(
        ...,
        "-o",
        "--out",
        help="The clean flight: .nc, .csv, .ict, .zarr; for other tools .geojson, .kml; a folder for several.",
    ),
    model: str | None = typer.Option(
        None,
        help="adaptive (default), adaptive-short (default live), adaptive-causal, lean, wide, "
        "a trained MODEL, an .onnx file, a filter.",
    ),
    target: str | None = typer.Option(
        None,
        help="ambient: the air, without the sensor's lag where that is known (default of adaptive models); "
        "response: the noise-free reading (all other models).",
    ),
    suite: str | None = SUITE,
    zone: str | None = ZONE,
    calibration: list[Path] = typer.Option(
        [], help="File of `pc2dae calibrate`; with several, interpolated in time; a factory sheet for logs."
    ),
    response: Path | None = RESPONSE,
    zero: list[str] = typer.Option(
        [], help="Zero check, CHANNEL=VALUE@START/END, or a CSV of them (start,end,channel,value,uncertainty)."
    ),
    rezero: bool = typer.Option(False, "--rezero", help="Set the zero by clean air and the suite's background."),
    strength: float = typer.Option(1.0, help="0: raw data, 1: the model's estimate, between: a blend."),
    profile: str = typer.Option("flight", help="flight: noise level of the whole flight; live: as a stream would."),
    correct_loading: bool = LOADING,
    standard_conditions: bool = typer.Option(
        False, "--standard-conditions", help="Give masses per volume at 273.15 K and 1013.25 hPa, not as in the air."
    ),
    keep: list[str] = KEEP,
    exclude: list[str] = EXCLUDE,
    offset: list[str] = OFFSET,
    meta: list[str] = META,
    salvage: bool = SALVAGE,
    force: bool = FORCE,
) -> None:
    """Denoise flights: clean values at or above each channel's bound, raw values and flags kept beside them.

    Example: pc2dae denoise flight_001.nc -o clean.nc
    """
    import time

    import pc2dae
    from pc2dae.cli.console import progress_bar
    from pc2dae.flight.store import WRITE_ONLY, check_target, write_flight
    from pc2dae.ingestion import change_lines
    from pc2dae.response.payload import read_response
    from pc2dae.suite import load_suite

    outputs = _outputs(inputs, out)
    for output in outputs:
        check_target(output)
        check_output(output, inputs=inputs, force=force)
    curves = _curves(calibration)
    sheets = [path for path in calibration if path not in curves]
    checks = _checks(zero)
    known = None if response is None else read_response(response)
    offsets, metadata = parse_offsets(offset), parse_metadata(meta)
    if suite is not None:
        load_suite(suite).only([*keep, *exclude])  # report an unknown family before any log is read
    for source, output in zip(inputs, outputs, strict=True):
        flight = pc2dae.open_flight(
            source, suite=suite, zone=zone, calibration=sheets, offsets=offsets, metadata=metadata, salvage=salvage,
            report=typer.echo,
        )  # fmt: skip
        started = time.perf_counter()
        with progress_bar(f"denoising {source.name}", flight.sizes["time"]) as update:
            clean = pc2dae.denoise(
                flight,
                model=model,
                target=target,
                calibration=curves,
                response=known,
                zero=checks,
                rezero=rezero,
                strength=strength,
                profile=profile,
                correct_loading=correct_loading,
                standard_conditions=standard_conditions,
                keep=keep,
                exclude=exclude,
                progress=lambda done, _: update(done),
            )
        seconds = time.perf_counter() - started
        write_flight(clean, output)
        for line in change_lines(flight, clean):
            typer.echo(line)
        _summarise(clean, source, output, seconds)
    described = again(suite=suite) if outputs[0].suffix.lower() == ".csv" else ""  # a CSV does not contain its suite
    if outputs[0].suffix.lower() not in WRITE_ONLY:
        typer.echo(f"next: pc2dae report {outputs[0]}{described} -o report.html")


def _curves(paths: list[Path]) -> list[Path]:
    """Those of the calibration files that are curves, not factory sheets."""
    if not paths:
        return []
    from pc2dae.calibration.curve import is_calibration

    return [path for path in paths if is_calibration(path)]


def _checks(texts: list[str]) -> list[Interval]:
    """Zero checks from options: intervals, or files of them."""
    from pc2dae.calibration.intervals import parse_interval, read_intervals

    return [i for text in texts for i in ([parse_interval(text)] if "=" in text else read_intervals(text))]


def _outputs(inputs: list[Path], out: Path) -> list[Path]:
    """The output of each input: `out` itself for one, a file of the same stem inside it for several."""
    from pc2dae.errors import Pc2daeError

    if len(inputs) == 1 and out.suffix:
        return [out]
    if out.suffix or out.is_file():
        raise Pc2daeError(f"{len(inputs)} inputs cannot go into one file {out}", hint="name a folder: -o clean/")
    outputs = [out / f"{path.stem}{'.csv' if path.suffix.lower() == '.csv' else '.nc'}" for path in inputs]
    if len(set(outputs)) < len(outputs):
        twice = next(t.name for t in outputs if outputs.count(t) > 1)
        raise Pc2daeError(f"two inputs would both become {twice}", hint="denoise them into different folders")
    return outputs


def _summarise(clean: xr.Dataset, source: Path, output: Path, seconds: float) -> None:
    """Print what was denoised, the share of negative values, low zeros, what was left raw, and the output."""
    import numpy as np

    from pc2dae.flight.schema import suite_of
    from pc2dae.plumes.combined import warnings_of
    from pc2dae.qc import has_low_zero, without_observation

    suite = suite_of(clean)
    replaced = [name for name in suite.names if f"{name}_raw" in clean]
    empty = without_observation(clean, replaced)
    names = [name for name in replaced if name not in empty]
    shares = []
    for suffix in ("_raw", "") if names else ():
        columns = [(clean.variables[f"{name}{suffix}"].values, suite[name].lower_bound) for name in names]
        shares.append(np.mean([100 * np.mean(x[np.isfinite(x)] < bound) for x, bound in columns]))
    families = sorted({suite.family_of(name) for name in names})
    strength = "" if clean.attrs["pc2dae_strength"] == 1 else f", strength {clean.attrs['pc2dae_strength']:g}"
    typer.echo(
        f"{source.name}: {len(names)} channel{'' if len(names) == 1 else 's'} of {', '.join(families)},"
        f" {clean.sizes['time']:,} samples in {seconds:.1f} s with {clean.attrs['pc2dae_model']}{strength}"
    )
    for line in _lag_lines(clean, names):
        typer.echo(line)
    if shares:
        typer.echo(f"below the bound: {shares[0]:.1f} % of values before, {shares[1]:.1f} % after")
    if low := [name for name in names if has_low_zero(clean.variables[f"qc_{name}"].values)]:
        typer.echo(f"zero below the bound: {', '.join(low)}; clean air lies at the bound, see <name>_unbounded")
    if empty:
        reasons = ", ".join(f"{name} ({why})" for name, why in empty.items())
        typer.echo(f"no usable sample: {reasons}; no estimate, logged values are in <name>_raw")
    for line in warnings_of(clean):
        typer.echo(f"warning: {line}")
    why = {f.name: clean.variables[f.channel[0].name].attrs.get("not_denoised") for f in suite.family}
    left = [f"{', '.join(c.name for c in f.channel)} ({why[f.name]})" for f in suite.family if why[f.name]]
    typer.echo(f"written: {output}" + (f"; left raw: {'; '.join(left)}" if left else ""))


def _lag_lines(clean: xr.Dataset, names: list[str]) -> list[str]:
    """What was estimated: channels corrected for their lag, those that are not with the reason, and warnings."""
    from pc2dae.view.summary import lag_not_corrected

    attrs = {name: clean.variables[name].attrs for name in names}
    corrected = [name for name in names if attrs[name]["target"] == "ambient"]
    sharing: dict[str, list[str]] = {}  # reason: channels
    for name, why in lag_not_corrected(clean).items():
        sharing.setdefault(why, []).append(name)
    if not corrected and not sharing:
        return []
    done = ", ".join(f"{name} (t90 {attrs[name]['t90_s']:.1f} s)" for name in corrected)
    left = ", ".join(f"{', '.join(group)} ({why})" for why, group in sharing.items())
    parts = [f"lag corrected: {done or 'none'}", *([f"not corrected: {left}"] if left else [])]
    notes = {name: attrs[name]["t90_note"] for name in corrected if "t90_note" in attrs[name]}
    advice = ["to correct it, measure the payload's response once: pc2dae response FLIGHT... -o response.json"]
    is_open = not corrected and "pc2dae_response_sha256" not in clean.attrs
    return ["; ".join(parts), *(advice if is_open else []), *(f"warning: {n}: {note}" for n, note in notes.items())]
