"""`pc2dae response`: t90 and delay of a payload's channels, pooled over its flights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.console import table_of
from pc2dae.cli.options import SUITE, ZONE
from pc2dae.cli.output import FORCE, check_output

if TYPE_CHECKING:
    from pc2dae.response.payload import ChannelResponse
    from pc2dae.response.pooling import FlightEvidence
    from pc2dae.response.steps import Exposure
    from pc2dae.suite import Suite

_STEP = re.compile(r"(?P<channel>\w+)@(?P<start>[^/]+)/(?P<end>.+)")


@app.command()
def response(
    flights: list[Path] = typer.Argument(..., metavar="FLIGHT...", help="Flights of one payload, or folders of them."),
    out: Path | None = typer.Option(None, "-o", "--out", help="The response file, for --response of other commands."),
    suite_out: Path | None = typer.Option(None, "--suite-out", metavar="FILE", help="The suite with it, a TOML file."),
    suite: str | None = SUITE,
    zone: str | None = ZONE,
    step: list[str] = typer.Option(
        [], metavar="CHANNEL@START/END", help="When the inlet was in other air, such as span gas; repeatable."
    ),
    intervals: Path | None = typer.Option(None, help="The same as a CSV (start, end, channel, value), as of span gas."),
    plot: Path | None = typer.Option(None, metavar="FILE", help="Figure of the falls and of each flight (PNG)."),
    force: bool = FORCE,
) -> None:
    """Find how fast each channel of a payload follows the air, from all its flights together.

    Example: pc2dae response campaign -o response.json
    """
    from pc2dae.errors import require
    from pc2dae.pipeline import find_evidence
    from pc2dae.response.payload import with_response
    from pc2dae.response.pooling import pool
    from pc2dae.suite import load_suite

    for path in (out, suite_out, plot):
        if path is not None:
            check_output(path, inputs=[*flights, *([intervals] if intervals is not None else [])], force=force)
    if plot is not None:
        require("matplotlib", extra="figures")
    if suite_out is not None:
        require("tomli_w", extra="serve")
    exposures = _exposures(step, intervals)
    payload = None if suite is None else load_suite(suite)
    files = _files(flights, payload)
    evidence = find_evidence(files, suite=payload, zone=zone, steps=exposures)
    _check_covered(exposures, evidence)
    found = pool(evidence)
    _show(found.channels, len(found.flights))
    for line in (f"{s.channel}: {s.reason}" for e in evidence for s in e.steps if s.reason):
        typer.echo(line)
    if plot is not None:
        from pc2dae.report.response_figure import draw_response

        draw_response(evidence, found, plot)
    if suite_out is not None:
        from pc2dae.atomic import write_text
        from pc2dae.web.suites import as_toml

        described = f"# Responses measured by pc2dae in {len(found.flights)} flights.\n"
        write_text(suite_out, described + as_toml(with_response(payload or evidence[0].suite, found.channels)))
    if out is not None:
        found.write(out)
    if written := [str(path) for path in (out, suite_out, plot) if path is not None]:
        typer.echo(f"written: {', '.join(written)}")
    if out is not None:
        typer.echo(f"next: pc2dae denoise {files[0]}{again(suite=suite, zone=zone)} --response {out} -o clean.nc")


def _files(paths: list[Path], suite: Suite | None) -> list[Path]:
    """The flights among files and folders; a folder of logs is one."""
    from pc2dae.archive.sources import find_sources

    return [s.place for path in paths for s in find_sources(path, suite=suite)]


def _exposures(texts: list[str], intervals: Path | None) -> list[Exposure]:
    from pc2dae.calibration.intervals import read_intervals, stamp
    from pc2dae.errors import ResponseError
    from pc2dae.response.steps import Exposure

    found = [] if intervals is None else [Exposure(i.channel, i.start, i.end) for i in read_intervals(intervals)]
    for text in texts:
        where, parts = f"--step {text}", _STEP.fullmatch(text.strip())
        if parts is None:
            raise ResponseError(f"{where} is not CHANNEL@START/END",
                                hint="as in co@2025-10-06T16:00Z/2025-10-06T16:03Z")  # fmt: skip
        one = Exposure(parts["channel"], stamp(parts["start"], where), stamp(parts["end"], where))
        if one.end <= one.start:
            raise ResponseError(f"{where} ends before it starts")
        found.append(one)
    return found


def _check_covered(exposures: list[Exposure], evidence: list[FlightEvidence]) -> None:
    from pc2dae.errors import ResponseError

    seen = {step.channel for e in evidence for step in e.steps}
    if missing := next((one for one in exposures if one.channel not in seen), None):
        period = f"{str(missing.start)[:19]}Z/{str(missing.end)[:19]}Z"
        raise ResponseError(f"no flight covers the step {missing.channel}@{period}", hint="check its date and zone")


def _show(channels: Mapping[str, ChannelResponse], flights: int) -> None:
    """Print a row per channel, then why the lag of some is not corrected."""
    from rich.console import Console

    from pc2dae.view.formatting import plus_minus

    heads = ("channel", "t90 [s]", "delay [s]", "kernel", "limit [s]", "flights", "falls", "steps", "from")
    table = table_of(*heads, left=("channel", "kernel", "from"), wrapped=("from",), lined=False)
    for name, c in channels.items():
        t90 = "–" if c.t90_s is None else plus_minus(c.t90_s, c.t90_uncertainty_s)
        limit = "–" if c.limit_s is None else f"{c.limit_s:.1f}"
        counts = (str(count) for count in (c.flights, c.falls, c.steps))
        delay = plus_minus(c.delay_s, c.delay_uncertainty_s)
        table.add_row(name, t90, delay, c.kernel.replace("_", " "), limit, *counts, c.source or "–")
    console = Console(highlight=False)
    console.print(f"{flights} flight{'' if flights == 1 else 's'}")
    console.print(table)
    for name, c in channels.items():
        if c.rise_s is not None and c.fall_s is not None:
            console.print(f"{name}: t90 {c.rise_s:.3g} s up, {c.fall_s:.3g} s down", soft_wrap=True, markup=False)
        if not c.is_usable:
            console.print(f"{name}: lag not corrected: {c.reason}", soft_wrap=True, markup=False)
