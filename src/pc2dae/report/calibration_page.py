"""The page of a calibration: its curves, what they are worth on data they have not seen, and the data behind them."""

from __future__ import annotations

import os
from itertools import zip_longest
from typing import Any

import numpy as np

from pc2dae.calibration.calibrate import Colocation
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.calibration.fit import FOLDS
from pc2dae.calibration.intervals import GasCalibration
from pc2dae.calibration.scores import EU_REMARK
from pc2dae.calibration.terms import CROSS
from pc2dae.errors import is_installed
from pc2dae.report import calibration_figures as figures
from pc2dae.report.drawing import Drawing
from pc2dae.report.page import unescaped, write_page
from pc2dae.view.formatting import Row, Table, counted, duration, number, plus_minus, units

REMARK = f"EPA targets are for hourly means at fixed sites; {EU_REMARK}"
_TERMS = {
    "temperature": ("temperature", "degC"),
    "humidity": ("relative humidity", "%"),
    "pressure": ("pressure", "hPa"),
    "temperature_change": ("change of temperature", "degC"),
    "humidity_change": ("change of humidity", "%"),
}
_METHODS = {"co-location": "beside a reference", "intervals": "in known gas", "pooled": "from payloads of its kind"}
_CAPTIONS = {
    "series": ("Estimate beside the reference", "Held-out part, with the stated 90 % interval of the estimate."),
    "scatter": ("Estimate against reference", "Each dot is one mean; the dashed line is equality."),
    "uncertainty": (
        "Expanded uncertainty",
        "Relative, k = 2, from an orthogonal regression of the estimate on the reference. The EU's objective for"
        " indicative measurements is made for fixed sites and holds at the limit value.",
    ),
    "residuals": (
        "Residuals",
        "Estimate minus reference of the held-out part. The line joins medians of bins: where it leaves zero, the"
        " calibration misses something.",
    ),
    "plateaus": (
        "Plateaus of known gas",
        "Left: mean readings and the fitted line. Right: what the line leaves of each plateau. Bars are 90 %"
        " intervals of reading and gas.",
    ),
}


def write_calibration_page(
    source: Calibration | Colocation | GasCalibration, path: str | os.PathLike[str], *, name: str
) -> None:
    """Write the page of a calibration called `name`; figures need the data behind it and matplotlib."""
    calibration = source if isinstance(source, Calibration) else source.calibration
    drawn = {channel: _drawn(source, channel) for channel in calibration.channels}
    context = {
        "title": f"Calibration {name}",
        "lead": _lead(source, calibration),
        "scores": score_table(calibration) if calibration.scores else None,
        "plateaus": _plateau_table(source) if isinstance(source, GasCalibration) else None,
        "curves": _curve_table(calibration),
        "remainders": _remainder_table(calibration) if calibration.method != "intervals" else None,
        "facts": _facts(source, calibration),
        "channels": [
            (channel, [(f.id, *_CAPTIONS[f.id.partition("-")[0]], unescaped(f.svg)) for f in group])
            for channel, group in drawn.items()
            if group
        ],
    }
    write_page("calibration.html.j2", path, context)


def term_rows(calibration: Calibration, name: str) -> list[tuple[str, str, str]]:
    """The coefficients of a channel's curve, then its response: term, value ± standard uncertainty, unit."""
    curve = calibration.channels[name]
    reading, air = units(curve.reading_units), units(curve.units)
    rows = []
    for term, value in curve.terms.items():
        text = plus_minus(value, curve.sigma(term))
        if term == "gain":
            rows.append(("gain", text, f"{reading} per {air}"))
        elif term == "zero":
            rows.append((f"reading at {number(curve.centre['air'])} {air}", text, reading))
        else:
            words, unit = _term(calibration, term)
            rows.append((words, text, f"{reading} per {unit}" if unit else reading))
    if (response := curve.response) is not None and response.t90_s is not None:
        rows.append(("t90", plus_minus(response.t90_s, response.t90_uncertainty_s), "s"))
        if response.delay_s:
            rows.append(("delay", plus_minus(response.delay_s, response.delay_uncertainty_s), "s"))
    return rows


def score_table(calibration: Calibration) -> Table:
    """The figures of every channel on held-out data."""
    head = ["channel", "unit", "slope", "intercept", "R²", "RMSE", "NRMSE\n[%]", "MAE", "bias", "RMSE,\nbounded",
            "bias,\nbounded", "in 90 %\ninterval [%]", "EPA\ntargets", "EU uncertainty\n(objective)"]  # fmt: skip
    rows = []
    for score in calibration.scores:
        unit = units(score["units"])
        known = {k: np.nan if v is None else v for k, v in score.items()}
        lines = [plus_minus(known[k], known[f"{k}_interval"]) for k in ("slope", "intercept")]
        figures_ = [number(known[k]) for k in ("r2", "rmse", "nrmse", "mae", "bias", "rmse_bounded", "bias_bounded")]
        eu = score["eu"]
        if "eu_level" in score:
            eu = f"{known['eu_uncertainty_percent']:.0f} % ({eu.removeprefix('objective ')})"
        cells = [score["channel"], unit, *lines, *figures_, number(known["coverage_90"])]
        rows.append(Row([*cells, score["epa"], eu]))
    note = (
        "Of data that the fit has not seen. Slope and intercept are of a regression of the estimate on the reference,"
        f" ± their 90 % interval; bias is estimate minus reference. All are of the estimate before its lower bound, as"
        f" integrals use it, except those called bounded. {REMARK};"
        " below it, the uncertainty is that of the highest concentration."
    )
    return Table(head, rows, (0, 1, 12, 13), note=note)


def _lead(source: Calibration | Colocation | GasCalibration, calibration: Calibration) -> str:
    """The calibration in a few sentences."""
    start, end = (when.strftime("%Y-%m-%d %H:%M") for when in calibration.period)
    length = (calibration.period[1] - calibration.period[0]).total_seconds()
    span = f"{length / 86_400:.1f} days" if length >= 2 * 86_400 else duration(length)
    text = f"{counted(len(calibration.channels), 'channel')} calibrated {_METHODS[calibration.method]},"
    text += f" {start} to {end} UTC ({span})."
    return f"{text} {_held_out(source)}" if isinstance(source, Colocation) else text


def _held_out(found: Colocation) -> str:
    """Which data the figures are of."""
    if found.scored is found.pairs:
        return f"Scored on {FOLDS} blocks of this period, each estimated from a fit to other blocks."
    first, last = (str(t)[:16].replace("T", " ") for t in found.scored.time[[0, -1]])
    return f"Scored on {first} to {last} UTC, which the fit has not seen."


def _term(calibration: Calibration, term: str) -> tuple[str, str]:
    """A term in words, and its unit."""
    if term.startswith(CROSS):
        other = term.removeprefix(CROSS)
        known = calibration.channels.get(other)
        return f"cross-sensitivity to {other}", "" if known is None else units(known.units)
    words, unit = _TERMS[term]
    return words, units(unit)


def _curve_table(calibration: Calibration) -> Table:
    """Every term of every channel, with where it is counted from and the range in which it is known."""
    rows = []
    for name, curve in calibration.channels.items():
        for term, (words, value, unit) in zip_longest(curve.terms, term_rows(calibration, name)):
            centre, known = _centre_and_range(calibration, curve, term) if term not in ("zero", None) else ("", "")
            rows.append(Row([name if term == "gain" else "", words, value, unit, centre, known]))
    note = (
        "reading = reading at the centre + gain · (air − centre) + Σ coefficient · (term − centre); ± is one standard"
        " uncertainty. A change is the difference from the mean over the last 30 minutes (temperature) or minute"
        " (humidity). Outside the range a flight's samples are flagged."
    )
    return Table(["channel", "term", "coefficient", "unit", "counted from", "known range"], rows, (0, 1, 3, 4, 5),
                 note=note)  # fmt: skip


def _centre_and_range(calibration: Calibration, curve: Curve, term: str) -> tuple[str, str]:
    key, unit = ("air", units(curve.units)) if term == "gain" else (term, _term(calibration, term)[1])
    low_high = curve.range.get(key)
    known = "" if low_high is None else f"{number(low_high[0])} to {number(low_high[1])} {unit}"
    return f"{number(curve.centre[key])} {unit}", known


def _remainder_table(calibration: Calibration) -> Table:
    """What each curve of a co-location leaves: scatter, wander of the zero, drift, in units of the air."""
    rows = []
    for name, curve in calibration.channels.items():
        gain = abs(curve.terms["gain"])
        slope, doubt = curve.drift_per_day
        cells = [number(x, 2) for x in (curve.residual, *(z / gain for z in (curve.slow, curve.wander, curve.ageing)))]
        rows.append(Row([name, units(curve.units), *cells, plus_minus(slope, doubt) if doubt else "–"]))
    head = ["channel", "unit", "residual", "zero,\nunchecked", "zero, half an hour\nafter a check",
            "ageing of the zero\nper √day", "drift\nper day"]  # fmt: skip
    note = (
        "Standard uncertainties. The zero wanders: without a zero check a flight carries that of its hourly means,"
        " which grows with the days since the calibration; after a check only what it wanders since. A trend of the"
        " residuals is given from one day on."
    )
    return Table(head, rows, (0, 1), note=note)


def _plateau_table(source: GasCalibration) -> Table:
    """Every plateau: when, what gas, mean reading, and what the line leaves."""
    rows = []
    for name, group in source.plateaus.items():
        curve = source.calibration.channels[name]
        for k, p in enumerate(group):
            left = curve.centre["air"] + (p.reading - curve.terms["zero"]) / curve.terms["gain"] - p.interval.value
            start, end = str(p.interval.start)[:19].replace("T", " "), str(p.interval.end)[11:19]
            gas = f"{plus_minus(p.interval.value, p.interval.uncertainty)} {units(curve.units)}"
            reading = f"{plus_minus(p.reading, p.sigma)} {units(curve.reading_units)}"
            rows.append(Row([name if k == 0 else "", f"{start} to {end}", gas, reading,
                             f"{number(left, 2)} {units(curve.units)}"]))  # fmt: skip
    head = ["channel", "time, UTC", "known gas", "mean reading", "calibrated − known"]
    return Table(head, rows, (0, 1), note="± is one standard uncertainty.")


def _facts(source: Calibration | Colocation | GasCalibration, calibration: Calibration) -> list[tuple[str, str]]:
    """Where the calibration comes from."""
    facts = [
        ("method", calibration.method),
        ("period", " to ".join(f"{t:%Y-%m-%d %H:%M:%S} UTC" for t in calibration.period)),
    ]
    if isinstance(source, Colocation):
        pairs, scored = source.pairs, source.scored
        steps, offsets = (
            ", held-out part ".join(dict.fromkeys(f"{number(getattr(x, key))} s" for x in (pairs, scored)))
            for key in ("step_s", "offset_s")
        )
        facts += [
            ("held-out part", _held_out(source)),
            ("averaging step", steps),
            ("record's clock minus reference's", offsets),
            ("reference", ", ".join(f"{n}: {c.removeprefix('ref_')}" for n, c in pairs.gas.items())),
        ]
    facts += [(f"SHA-256 of {file}", digest) for file, digest in calibration.data.items()]
    return [*facts, ("SHA-256 of the calibration", calibration.digest)]


def _drawn(source: Any, channel: str) -> list[Drawing]:
    if not is_installed("matplotlib"):
        return []
    if isinstance(source, Colocation):
        return [draw(source, channel)
                for draw in (figures.series, figures.scatter, figures.uncertainty, figures.residuals)]  # fmt: skip
    if isinstance(source, GasCalibration):
        return [figures.plateaus(channel, source.calibration.channels[channel], source.plateaus[channel])]
    return []
