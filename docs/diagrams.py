"""Draw two diagrams from the code into docs/images: the data flow, and the architecture of lean and wide.

    python docs/diagrams.py

Rooms, functions, widths, dilations and parameter counts are read from the package: run it again after changing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from pc2dae.align.grid import align
from pc2dae.atomic import replacing
from pc2dae.benchmark.cases import FAMILIES
from pc2dae.calibration.compensate import compensate
from pc2dae.denoiser import WINDOW
from pc2dae.edge.runtime import denoiser_of
from pc2dae.flight.schema import LEVELS
from pc2dae.flight.store import SUFFIXES, write_flight
from pc2dae.logs import read_logs
from pc2dae.metrics import score_flight
from pc2dae.model.blocks import TCNBlock
from pc2dae.model.heads import FamilyHead
from pc2dae.model.noise_units import LOCAL, RANGE
from pc2dae.model.pc2dae import PC2DAE, build, count_parameters
from pc2dae.noise import noise_level
from pc2dae.plumes import survey
from pc2dae.qc import judge_families, screen
from pc2dae.report import report
from pc2dae.simulate import write_campaign
from pc2dae.suite import load_suite
from pc2dae.training.run import train
from pc2dae.web.app import create_app
from pc2dae.windows.arrays import arrays_of, with_estimate
from pc2dae.windows.scaling import Scaler

IMAGES = Path(__file__).parent / "images"
INK, SOFT, EDGE = "#1c2530", "#5b6773", "#9aa5b1"
LEAN, WIDE = "#00558c", "#a8460a"  # dark enough to read on every fill
SKIP, CONDITION = "#00704e", "#6a3d9a"  # lines
Networks = tuple[PC2DAE, PC2DAE]  # lean and wide
SIZE, HEIGHT = 13.8, 10.0  # of a box of the data flow
PLAIN, STEP, NETWORK, OUTPUT = "#f3f5f7", "#e3eff7", "#fdf0dc", "#e2f3ea"  # fills


class Sheet:
    """A drawing area [tenths of an inch], origin at the lower left."""

    def __init__(self, width: float, height: float) -> None:
        self.figure = Figure(figsize=(width / 10, height / 10))
        self.axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
        self.axes.axis("off")

    def text(self, x: float, y: float, words: str, **style: Any) -> None:
        """Text centred at a point unless styled otherwise."""
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5, "color": INK} | style
        self.axes.text(x, y, words, **look)

    def box(self, x: float, y: float, width: float, height: float, fill: str = PLAIN, **style: Any) -> None:
        """A rounded box with its lower left corner at (x, y)."""
        look: dict[str, Any] = {"facecolor": fill, "edgecolor": EDGE, "linewidth": 0.9} | style
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.8", **look))

    def arrow(self, *points: tuple[float, float], colour: str = SOFT, dash: str = "-") -> None:
        """A line through the points with a head at the last."""
        xs, ys = zip(*points, strict=True)
        self.axes.plot(xs[:-1], ys[:-1], color=colour, linewidth=1.2, linestyle=dash, solid_joinstyle="round")
        self.axes.add_patch(
            FancyArrowPatch(points[-2], points[-1], arrowstyle="-|>", mutation_scale=9, shrinkA=0, shrinkB=0,
                            color=colour, linewidth=1.2, linestyle=dash)
        )  # fmt: skip

    def pair(self, x: float, y: float, lean: str, wide: str, **style: Any) -> None:
        """The values of lean and wide, in their colours, on either side of x."""
        self.text(x - 0.7, y, lean, ha="right", color=LEAN, **style)
        self.text(x, y, "|", **style | {"color": EDGE})
        self.text(x + 0.7, y, wide, ha="left", color=WIDE, **style)

    def stack(self, x: float, y: float, values: Sequence[str]) -> None:
        """The values of lean and wide, in their colours, one below the other."""
        for i, (words, colour) in enumerate(zip(values, (LEAN, WIDE), strict=True)):
            self.text(x, y - 1.6 * i, words, fontsize=8, color=colour)

    def save(self, path: Path) -> None:
        """Write an SVG with its text as text; the same drawing gives the same file."""
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem}), replacing(path) as temporary:
            self.figure.savefig(temporary, format="svg", facecolor="white", metadata={"Date": None})


def data_flow() -> Sheet:
    """From instrument files to a denoised flight and what is made of it, by room and function."""
    suite = load_suite("black-kite")
    instruments = list(dict.fromkeys(source.key.partition("/")[0] for source in suite.sources.values()))
    raw, screened, compensated, denoised = (f"flight, {level}" for level in LEVELS)
    sheet = Sheet(84, 58)
    top, middle, lower, bottom = 46.5, 31.0, 16.0, 1.5
    columns = [7.0 + 15.4 * i for i in range(5)]
    first, last = columns[0] + SIZE / 2, columns[4] + SIZE / 2

    _stage(sheet, top, "pc2dae.ingest")
    files = [", ".join(instruments[i : i + 2]) for i in range(0, len(instruments), 2)]
    _steps(sheet, top, columns[:1], [("instrument files", files, "")], fill=PLAIN)
    sheet.arrow((columns[0] + SIZE, top + HEIGHT / 2), (columns[1], top + HEIGHT / 2))
    _steps(sheet, top, columns[1:], [
        (read_logs, ["one reader per", "instrument format"], "streams"),
        (align, ["one clock,", f"one {suite.rate_hz:g} Hz grid"], raw),
        (screen, ["flags per sample,", "no value changed"], screened),
        (compensate, ["sensor physics; then", "screened again"], compensated),
    ])  # fmt: skip
    turn = (top + middle + HEIGHT) / 2
    sheet.arrow((last, top), (last, turn), (first, turn), (first, middle + HEIGHT))

    _stage(sheet, middle, "pc2dae.denoise")
    _steps(sheet, middle, columns, [
        (noise_level, ["random noise of", "each channel"], "σ"),
        (judge_families, ["families kept or", "left raw, and why"], "suite"),
        (arrays_of, ["values, validity,", "environment"], "arrays"),
        (denoiser_of, ["a network (ONNX), or", "one of filters/"], "estimate"),
        (with_estimate, ["value, unbounded,", "uncertainty"], denoised),
    ])  # fmt: skip

    _stage(sheet, lower, "training")
    _steps(sheet, lower, columns[1:4], [
        (write_campaign, ["flights with", "known truth"], "logs, truth"),
        (train, ["networks of model/", "and paper/"], "checkpoint"),
        ("weights/", ["shipped networks", "and their cards"], "ONNX"),
    ], fill=NETWORK)  # fmt: skip
    sheet.arrow((columns[3] + SIZE / 2, lower + HEIGHT), (columns[3] + SIZE / 2, middle))

    _stage(sheet, bottom, "outputs")
    _steps(sheet, bottom, columns, [
        (write_flight, ["files:", " ".join(SUFFIXES)], ""),
        (survey, ["encounters, excess,", "emission ratios"], ""),
        (score_flight, ["scores, with truth", "or without"], ""),
        (report, ["pages of a flight", "or a campaign"], ""),
        (create_app, ["ground station,", "live view"], ""),
    ], fill=OUTPUT, is_chain=False)  # fmt: skip
    rail = (lower + bottom + HEIGHT) / 2
    sheet.arrow((last, middle), (last, bottom + HEIGHT))
    sheet.arrow((last, rail), (first, rail), (first, bottom + HEIGHT))
    for x in columns[1:4]:
        sheet.arrow((x + SIZE / 2, rail), (x + SIZE / 2, bottom + HEIGHT))
    return sheet


def _stage(sheet: Sheet, y: float, name: str) -> None:
    sheet.text(3.5, y + HEIGHT / 2, name, rotation=90, color=SOFT, weight="bold")


def _steps(
    sheet: Sheet,
    y: float,
    columns: Sequence[float],
    steps: Sequence[tuple[Callable[..., Any] | str, list[str], str]],
    *,
    fill: str = STEP,
    is_chain: bool = True,
) -> None:
    """Boxes from left to right: room, function, what it does, what comes out."""
    for i, (x, (source, words, result)) in enumerate(zip(columns, steps, strict=True)):
        middle = x + SIZE / 2
        sheet.box(x, y, SIZE, HEIGHT, fill)
        if isinstance(source, str):
            sheet.text(middle, y + 8.3, source, weight="bold", fontsize=9)
        else:
            sheet.text(middle, y + 8.3, _room(source), weight="bold", family="monospace", fontsize=9)
            sheet.text(middle, y + 6.5, source.__name__, family="monospace", fontsize=8)
        high, low = 7.3 if isinstance(source, str) else 5.6, 2.2 if result else 0.6
        sheet.text(middle, y + (high + low) / 2, "\n".join(words), fontsize=8, linespacing=1.3)
        if result:
            sheet.text(middle, y + 1.2, f"→ {result}", fontsize=8, color=LEAN)
        if is_chain and i:
            sheet.arrow((columns[i - 1] + SIZE, y + HEIGHT / 2), (x, y + HEIGHT / 2))


def _room(function: Callable[..., Any]) -> str:
    """The room a function lives in: a folder or a file of the package."""
    room = function.__module__.split(".")[1]
    return f"{room}/" if hasattr(import_module(f"pc2dae.{room}"), "__path__") else f"{room}.py"


def networks() -> Networks:
    """Lean and wide as built for the paper's channels; scales do not matter here."""
    suite = load_suite("black-kite").only(FAMILIES)
    ones = (1.0,) * len(suite.names)
    scaler = Scaler(ones, ones, ones, (0.0,) * 3, (1.0,) * 3)
    return build("lean", suite, scaler), build("wide", suite, scaler)


def architecture() -> Sheet:
    """Lean and wide as built: blocks, environment encoder, heads, and the parameters of each."""
    both = networks()
    totals = [sum(n for _, n in count_parameters(network)) for network in both]
    sheet = Sheet(84, 83)
    sheet.pair(42, 81, *(f"{name}: {n:,} parameters" for name, n in zip(("lean", "wide"), totals, strict=True)),
               weight="bold", fontsize=10)  # fmt: skip
    _inputs(sheet, sum(both[0].families))
    _encoder(sheet, both)
    _trunk(sheet, both)
    _heads(sheet, both)
    sheet.arrow((60.8, 43), (62.6, 43), (62.6, 33.2), (9.2, 33.2), (9.2, 26))
    sheet.text(10, 32.1, "features h", fontsize=8, ha="left")
    sheet.arrow((74, 63), (74, 31.4), (22.4, 31.4), (22.4, 26), colour=CONDITION)
    sheet.text(23.2, 30.3, "embedding e", fontsize=8, ha="left", color=CONDITION)
    sheet.arrow((35, 66.5), (64.5, 66.5), (64.5, 29.6), (48.8, 29.6), (48.8, 26), colour=SKIP)
    sheet.text(50, 67.7, "skip: the measurement x", fontsize=8, color=SKIP)
    return sheet


def _inputs(sheet: Sheet, channels: int) -> None:
    """Values, noise and environment; values in noise units; what the trunk sees of them."""
    for x, width, words in (
        (2.0, 19.0, f"values, validity\n{channels} channels × {WINDOW} samples"),
        (23.0, 12.0, f"noise σ of\n{channels} channels"),
        (66.0, 16.0, f"temperature, RH,\npressure × {WINDOW}"),
    ):
        sheet.box(x, 73, width, 5)
        sheet.text(x + width / 2, 75.5, words, fontsize=8, linespacing=1.3)
    sheet.arrow((11.5, 73), (11.5, 70))
    sheet.arrow((29, 73), (29, 70))
    sheet.arrow((74, 73), (74, 70))
    sheet.box(2, 63, 33, 7, STEP)
    sheet.text(18.5, 68.4, "noise units", weight="bold")
    sheet.text(18.5, 65.4, "x = (value − bound) / σ\nmissing and stale samples hold the last value", fontsize=8,
               linespacing=1.3)  # fmt: skip
    sheet.arrow((18.5, 63), (18.5, 60))
    sheet.box(2, 54, 33, 6, STEP)
    sheet.text(18.5, 58.4, "compression", weight="bold")
    sheet.text(18.5, 55.9, f"asinh(x − mean of {LOCAL}) + asinh(mean of {LOCAL} − median)", fontsize=7.5)


def _encoder(sheet: Sheet, both: Networks) -> None:
    sheet.box(66, 63, 16, 7, NETWORK)
    sheet.text(74, 68.4, "environment encoder", weight="bold", fontsize=8)
    encoders = [network.environment for network in both]
    shapes = (f"{e.first.in_channels} → {e.first.out_channels} → {e.second.out_channels}" for e in encoders)
    sheet.pair(74, 66.4, *shapes, fontsize=7.5)
    sheet.pair(74, 64.5, *_counts(both, "environment"), fontsize=8)


def _trunk(sheet: Sheet, both: Networks) -> None:
    """The blocks with dilation, widths and parameters, what one consists of, and how far they see together."""
    blocks = [cast(Sequence[TCNBlock], network.trunk) for network in both]
    one = blocks[0][0]
    kernel, groups = one.convolution.kernel_size[0], one.normalisation.num_groups
    for y, words in ((45.6, "dilation"), (42.8, "widths"), (38.6, "parameters")):
        sheet.text(8.4, y, words, fontsize=8, color=SOFT, ha="right")
    for i, (lean, wide) in enumerate(zip(*blocks, strict=True)):
        x = 9.0 + 8.8 * i
        sheet.box(x, 36.8, 7.8, 12.4, NETWORK)
        sheet.text(x + 3.9, 47.7, f"block {i + 1}", weight="bold")
        sheet.text(x + 3.9, 45.6, f"{lean.convolution.dilation[0]}", fontsize=8)
        widths = [f"{block.convolution.in_channels} → {block.convolution.out_channels}" for block in (lean, wide)]
        sheet.stack(x + 3.9, 43.6, widths)
        sheet.stack(x + 3.9, 39.4, _counts(both, f"trunk {i + 1}"))
        if i:
            sheet.arrow((x - 1, 46), (x, 46))
    half = len(blocks[0]) // 2
    for first, words in ((0, "encoder"), (half, "decoder")):
        left, right = 9.0 + 8.8 * first, 9.0 + 8.8 * (first + half) - 1
        sheet.axes.plot([left, left, right, right], [36.3, 35.7, 35.7, 36.3], color=EDGE, linewidth=1)
        sheet.text((left + right) / 2, 34.6, words, fontsize=8, color=SOFT)
    sheet.arrow((12.9, 54), (12.9, 49.2))
    reach = 1 + sum((b.convolution.kernel_size[0] - 1) * b.convolution.dilation[0] for b in blocks[0])
    sheet.box(37.5, 53, 25, 10.5, "white", linestyle="--")
    sheet.text(50, 61.7, f"{len(blocks[0])} blocks see {reach} samples", weight="bold")
    words = f"each: convolution over {kernel} samples,\ndilated → GroupNorm ({groups} groups)\n"
    words += "→ ELU, plus the block's input\n(by 1×1 where widths differ)"
    sheet.text(50, 57.0, words, fontsize=8, linespacing=1.3)


def _heads(sheet: Sheet, both: Networks) -> None:
    """The parts of a head in order, the heads there are, and the way back to physical units."""
    sheet.box(2, 8.5, 80, 19.5, "white")
    parts = [cast(FamilyHead, network.heads[0]) for network in both]
    reach = parts[0].smoothing.logits.shape[1]
    attention = [h.attention for h in parts]
    steps: Sequence[tuple[str, list[str] | str]] = (
        ("attention", [f"{a.first.in_features} → {a.first.out_features} → {a.second.out_features}" for a in attention]),
        ("+ embedding e", [f"{h.environment.in_channels} → {h.environment.out_channels}" for h in parts]),
        ("projection", [f"{h.projection.in_channels} → n" for h in parts]),
        ("+ skip x", "in noise units"),
        ("softplus", [f"β = {h.beta:g}" for h in parts]),
        ("smoothing", f"over {reach} samples,\nblended by α"),
    )
    for i, (name, words) in enumerate(steps):
        x = 3.2 + 13.2 * i
        sheet.box(x, 19.3, 12, 6.7, NETWORK)
        sheet.text(x + 6, 24.6, name, weight="bold")
        if isinstance(words, str):
            sheet.text(x + 6, 21.7, words, fontsize=8, linespacing=1.3)
        else:
            sheet.stack(x + 6, 22.6, words)
        if i:
            sheet.arrow((x - 1.2, 22.7), (x, 22.7))
    words = "one such head for each family of n channels, with its parameters:"
    sheet.text(3.2, 17.4, words, fontsize=8, ha="left", color=SOFT)
    for i, (name, n) in enumerate(zip(FAMILIES, both[0].families, strict=True)):
        x = 3.2 + 20 * i
        sheet.box(x, 9.8, 18.5, 6, NETWORK)
        sheet.text(x + 9.25, 14.2, f"{name}: n = {n}", weight="bold")
        sheet.pair(x + 9.25, 11.7, *_counts(both, f"heads {i + 1}"), fontsize=8)
    sheet.box(2, 1, 80, 5, OUTPUT)
    words = f"kept within {RANGE:g} σ of the window's range → physical units, at or above each channel's bound"
    sheet.text(42, 3.5, words, fontsize=8)
    sheet.arrow((75.2, 19.3), (75.2, 6))


def _counts(both: Networks, part: str) -> list[str]:
    return [f"{dict(count_parameters(network))[part]:,}" for network in both]


def main() -> None:
    """Draw both and say where they are."""
    for name, draw in (("data_flow", data_flow), ("architecture", architecture)):
        draw().save(IMAGES / f"{name}.svg")
        print(IMAGES / f"{name}.svg")


if __name__ == "__main__":
    main()
