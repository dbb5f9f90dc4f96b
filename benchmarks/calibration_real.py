"""Calibrations on real records by others, scored on what they have not seen: `python benchmarks/calibration_real.py`.

airsenseur_boxes: six boxes beside a station in January 2020, fitted before the 24th and scored after it; each box from
the calibrations of the other five; fasmee_span_gas: gains of two days and a record between them; elt_licor and
li840a_pairs: offset and drift against a reference. The records are in ../shared/data or $PC2DAE_REAL_DATA.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))
from real_data import ABSENT, DATA, RECORDS

import pc2dae
from pc2dae.arrays import Array
from pc2dae.calibration.calibrate import Colocation, pooled
from pc2dae.calibration.clocks import averages
from pc2dae.calibration.curve import Calibration
from pc2dae.calibration.fit import rms
from pc2dae.calibration.inverse import Inverse
from pc2dae.calibration.pairs import Pairs
from pc2dae.colocation import calibrate_in_gas, colocate
from pc2dae.flight.schema import observed
from pc2dae.suite import load_suite

_TO = "2020-01-24T00:00Z"
_GASES = {"co": ("co_cell", "co_ref_ppm:ppm"), "no2": ("no2_cell", "no2_ref_ppb:ppb"),
          "o3": ("ox_cell", "o3_ref_ppb:ppb"), "no": ("no_cell", "no_ref_ppb:ppb")}  # fmt: skip
_GOALS = {"o3": 3.4, "no2": 4.2, "no": 6.8, "co": 62.0}  # ppb: the best of plain linear fits
_FROM_MT = np.timedelta64(6, "h")  # to UTC
# What the best plain linear fit takes besides the cell itself (README of the data).
_PLAIN = {"co": (), "no2": ("t",), "o3": ("no2", "t", "no"), "no": ("t",)}


def boxes() -> list[Path]:
    """The files of the boxes."""
    return sorted((DATA / "airsenseur_boxes").glob("*.csv.gz"))


def suite_text() -> str:
    """The suite of a box: four cells in arbitrary units and the temperature inside."""
    channels = "\n".join(
        f'[[family.channel]]\nname = "{name}"\nunits = "1"\ncolumn = "{cell}"\nlower_bound = -1e6'
        for name, (cell, _) in _GASES.items()
    )
    return (
        'name = "airsenseur"\nrate_hz = 0.016666666666666666\n'
        f'[environment]\nair_temperature = "t_box_degC"\n[[family]]\nname = "gas"\n{channels}\n'
    )


def calibrated_boxes(folder: Path) -> Iterator[tuple[str, Colocation]]:
    """Each box, fitted before 24 January and scored from then on."""
    suite = folder / "box.toml"
    suite.write_text(suite_text())
    pairs = {name: column for name, (_, column) in _GASES.items()}
    for path in boxes():
        yield path.name[:6], colocate(path, path, pairs, suite=suite, test_from=_TO)


def show_boxes(found: dict[str, Colocation]) -> None:
    """Each species, median over the boxes, before the lower bound, beside plain linear fits of the same days.

    z compares the squared errors of both, box by box; that of the bias is against 0, in stated standard uncertainties.
    """
    print(f"airsenseur_boxes, fitted before {_TO[:10]}, scored after, median (range) of {len(found)} boxes, ppb")
    print("gas  hand  RMSE                   plain  better in   z    bias   z    of RMSE  plain bias  in 90 %     "
          "            cut at 0: RMSE bias plain")  # fmt: skip
    for gas, goal in _GOALS.items():
        rows = [next(r for r in c.calibration.scores if r["channel"] == gas) for c in found.values()]
        factor = 1000.0 if rows[0]["units"] == "ppm" else 1.0
        rmse, bias, cut, cut_bias = (
            factor * np.array([r[k] for r in rows]) for k in ("rmse", "bias", "rmse_bounded", "bias_bounded")
        )
        plain, plain_bias, plain_cut = factor * np.array([_plain(c.pairs, c.scored, gas) for c in found.values()]).T
        better = rmse**2 - plain**2
        z = better.mean() / better.std(ddof=1) * len(rows) ** 0.5
        in_sigma = bias / (factor * np.array([np.nanmedian(c.sigma[gas]) for c in found.values()]))
        covered, count = _spread([r["coverage_90"] for r in rows]), f"{(rmse < plain).sum()} of {len(rows)}"
        share = np.median(np.abs(bias) / rmse)
        print(f"{gas:4s} {goal:4.1f}  {_spread(rmse):22s} {np.median(plain):5.2f}  {count}  "
              f"{z:+5.1f}  {np.median(bias):+6.2f} {np.median(in_sigma):+5.1f}  {share:5.2f}   "
              f"{np.median(plain_bias):+6.2f}      {covered:22s}  {np.median(cut):5.2f} {np.median(cut_bias):+6.2f} "
              f"{np.median(plain_cut):5.2f}")  # fmt: skip


def show_others(found: dict[str, Colocation]) -> None:
    """Each box with the mean calibration of the other five: what an uncalibrated box gains from them.

    With a check, its zero is set in the last hour before the scored days, as a zero check in the field does.
    """
    print("\neach box with the calibrations of the other five, scored on the same days, median (range), ppb")
    print(
        "gas  RMSE                 bias                 in 90 %              RMSE with one hour's zero check   constant"
    )
    errors: dict[str, list[tuple[float, ...]]] = {gas: [] for gas in _GOALS}
    for name, own in found.items():
        others = pooled([c.calibration for n, c in found.items() if n != name])
        inverse = Inverse(others, list(_GASES))
        air = inverse.air(own.scored.readings, own.scored.terms)
        for gas in _GOALS:
            factor = 1000.0 if own.scored.units[gas] == "ppm" else 1.0
            budget = inverse.budget(gas, own.scored.terms, age_days=3.0)
            sigma = np.sqrt(sum(p**2 for p in budget.parts(air[gas], air).values()))
            error = air[gas] - own.scored.air[gas]
            known = error[np.isfinite(error)]
            inside = 100 * np.mean(np.abs(known) <= 1.645 * sigma[np.isfinite(error)])
            constant = own.scored.air[gas] - np.nanmean(own.pairs.air[gas])
            known_before = inverse.air(own.pairs.readings, own.pairs.terms)[gas] - own.pairs.air[gas]
            hour = int(3600 / own.pairs.step_s)
            checked = air[gas] - np.mean(known_before[np.isfinite(known_before)][-hour:])
            after = rms(checked - own.scored.air[gas])
            figures = (rms(error), float(known.mean()), inside / factor, after, rms(constant))
            errors[gas].append(tuple(factor * x for x in figures))
    for gas, rows in errors.items():
        a = np.array(rows)
        spreads = "  ".join(f"{_spread(a[:, k]):20s}" for k in range(4))
        print(f"{gas:4s} {spreads}              {np.median(a[:, 4]):.1f}")


def _plain(fitted: Pairs, scored: Pairs, gas: str) -> tuple[float, float, float]:
    """RMSE and bias of the best ordinary linear fit of the reference on the cell and other columns; RMSE cut at 0."""

    def design(pairs: Pairs) -> Array:
        others = [pairs.terms["temperature"] if k == "t" else pairs.readings[k] for k in _PLAIN[gas]]
        return np.stack([np.ones(len(pairs.time)), pairs.readings[gas], *others], axis=1)

    x, y = design(fitted), fitted.air[gas]
    some = np.isfinite(x).all(axis=1) & np.isfinite(y)
    line = np.linalg.lstsq(x[some], y[some], rcond=None)[0]
    estimate = design(scored) @ line
    error = estimate - scored.air[gas]
    return rms(error), float(np.nanmean(error)), rms(np.maximum(estimate, 0.0) - scored.air[gas])


def _spread(values: Sequence[float] | Array) -> str:
    x = np.asarray(values, np.float64)
    return f"{np.median(x):.2f} ({x.min():.2f} … {x.max():.2f})"


def show_span_gas(folder: Path) -> None:
    """Gains and zeros of both days of the GreenBox payload, and what a record between them gets."""
    place = DATA / "fasmee_span_gas"
    days = {"8 October": place / "ambient10082023.txt.gz", "9 October": place / "100923_B5B6_check.txt.gz"}
    between = place / "100923_morning_Ambient.txt.gz"
    print("\nfasmee_span_gas, gains and zeros from span gas; by hand CO 1/1.20, as the data's README says")
    found: list[Calibration] = []
    for day, path in days.items():
        flight = pc2dae.open_flight(path)
        rows = _plateaus(place / "calibration_intervals.txt", flight)
        target = folder / f"{day[0]}.csv"
        with target.open("w", newline="") as file:
            csv.writer(file).writerows([("start", "end", "channel", "value", "uncertainty"), *rows])
        done = calibrate_in_gas(path, target)
        found.append(done.calibration)
        for name, curve in done.calibration.channels.items():
            gain, u = curve.terms["gain"], curve.sigma("gain")
            by_hand = f" (by hand {1 / 1.20:.3f}, z {(gain - 1 / 1.20) / u:+.1f})" if name == "co" else ""
            reads = ", ".join(f"{p.interval.value:.0f}: {p.reading:.1f}" for p in done.plateaus[name])
            print(f"{day}: {name} gain {gain:.3f} ± {u:.3f}{by_hand}, zero {curve.terms['zero']:.1f} ± "
                  f"{curve.sigma('zero'):.1f} {curve.reading_units} at {curve.centre['air']:.0f}, scatter "
                  f"{curve.residual:.1f} {curve.units}; plateaus {reads}")  # fmt: skip
    for name in found[0].channels:
        (first, u), (second, v) = ((c.channels[name].terms["gain"], c.channels[name].sigma("gain")) for c in found)
        print(f"{name}: gain of both days {first:.3f} and {second:.3f}, z {(second - first) / np.hypot(u, v):+.1f}")
    clean = pc2dae.denoise(pc2dae.open_flight(between, calibration=()), calibration=found)
    for name in found[0].channels:
        raw, value, sigma = (clean[n].values for n in (f"{name}_uncalibrated", name, f"{name}_uncertainty"))
        seen = observed(clean, name)
        middle, found_value, doubt = (float(np.nanmedian(x[seen])) for x in (raw, value, sigma))
        units = clean[name].attrs["units"]
        print(f"morning of 9 October, between both: {name} {middle:.1f} → {found_value:.1f} ± {doubt:.1f} {units}")


def _plateaus(path: Path, flight: object) -> list[tuple[str, str, str, str, str]]:
    """The stated plateaus (Mountain Time) that lie in a record, by channel, in the middle of each: 2 % of the value."""
    import xarray as xr

    assert isinstance(flight, xr.Dataset)
    first, last = flight["time"].values[[0, -1]]
    names = {"calib_CO2_ppm": "co2", "calib_CO_ppm": "co"}
    rows = []
    lines = [[cell.strip() for cell in line.split(",")] for line in path.read_text().splitlines() if line.strip()]
    for cells in lines[1:]:
        row = dict(zip(lines[0], cells, strict=True))
        start, end = (np.datetime64(row[f"{k}Time_MT"].replace(" ", "T")) + _FROM_MT for k in ("Start", "End"))
        if start < first or end > last:
            continue
        rows += [
            (f"{start}Z", f"{end}Z", name, row[column], str(0.02 * float(row[column])))
            for column, name in names.items()
            if row[column] != "NA"
        ]
    return rows


def show_ndir(folder: Path) -> None:
    """Low-cost NDIR sensors beside an LI-7810, fitted on the first half of each day and scored on the second.

    Nobody states their t90; `denoise` then undoes the one that the co-location showed.
    """
    print(
        "\nelt_licor, fitted on the first half of each record, scored on the second; goal: RMSE 7 ppm, t90 by hand 92 s"
    )
    logs = {r.file: r for r in RECORDS if r.folder == "elt_licor"}
    for day, record, reference in (("27 March", "03_27_23_BLUE_WHITE.daq", "03_27_23_BLUE_YELLOW.licor"),
                                   ("16 April", "04_16_24_X_X.daq", "04_16_24_X_X.licor")):  # fmt: skip
        paths = [logs[name].write(_made(folder / name), whole=True) for name in (record, reference)]
        suite = load_suite(logs[record].suite_path or "")
        flight = pc2dae.open_flight(paths[0], suite=suite)
        time = flight["time"].values
        middle = f"{np.datetime_as_string(time[len(time) // 2], unit='s')}Z"
        found = colocate(paths[0], paths[1], dict.fromkeys(suite.names, "CO2:ppm"), suite=suite, test_from=middle)
        _show_channels(day, found)
        laser = pc2dae.open_flight(paths[1], suite=load_suite(logs[reference].suite_path or ""))
        moved = time - np.timedelta64(round(found.pairs.offset_s), "s")
        air = averages(laser["time"].values, laser["co2"].values.astype(np.float64), moved, 5.0)
        late = time >= np.datetime64(middle[:-1])
        without = {n: c.model_copy(update={"response": None}) for n, c in found.calibration.channels.items()}
        both = (found.calibration, found.calibration.model_copy(update={"channels": without}))
        clean, lagging = (pc2dae.denoise(flight, calibration=[c]) for c in both)
        for name, response in found.pairs.responses.items():
            t90, u = response.t90_s or 0.0, response.t90_uncertainty_s
            whole, puffs = (
                " → ".join(f"{rms((x[name].values - air)[late & (air > least)]):.1f}" for x in (lagging, clean))
                for least in (0.0, 570.0)
            )
            print(f"{day}: {name} t90 {t90:.0f} ± {u:.0f} s (z {(t90 - 92) / u:+.1f}); denoised against the laser: "
                  f"without and with it: RMSE {whole}, above 570 ppm {puffs} ppm")  # fmt: skip


def show_pair() -> None:
    """Two analysers of one air over three days: offset, gain and drift of one against the other."""
    print("\nli840a_pairs, the second analyser against the first, fitted on two days, scored on the third")
    path = DATA / "li840a_pairs" / "2018-05-06_Licor_comparison.zip"
    found = colocate(path, path, {"co2_2": "co2_1:ppm"}, zone="-07:00", test_from="2018-05-08T19:00Z")
    _show_channels("6 to 9 May", found)
    curve = found.calibration.channels["co2_2"]
    offset, u = curve.terms["zero"] - curve.centre["air"], np.hypot(curve.sigma("zero"), curve.slow)
    z_gain = (curve.terms["gain"] - 1) / curve.sigma("gain")
    print(f"by hand offset -6.8 ppm (z {(offset + 6.8) / u:+.1f}) and gain 1 (z {z_gain:+.1f})")


def _show_channels(day: str, found: Colocation) -> None:
    for row in found.calibration.scores:
        curve = found.calibration.channels[row["channel"]]
        before = found.scored.readings[row["channel"]] - found.scored.air[row["channel"]]
        drift, doubt = curve.drift_per_day
        moving = f"drift {drift:+.2f} ± {doubt:.2f} ppm a day, " if doubt else ""
        sigma = float(np.nanmedian(found.sigma[row["channel"]]))
        print(f"{day}: {row['channel']} gain {curve.terms['gain']:.3f} ± {curve.sigma('gain'):.3f}, "
              f"offset {curve.terms['zero'] - curve.centre['air']:+.1f} ppm at {curve.centre['air']:.0f}, "
              f"{moving}clock {found.pairs.offset_s:+.0f} s; RMSE "
              f"{rms(before):.1f} → {row['rmse']:.1f}, bias {np.nanmean(before):+.1f} → {row['bias']:+.1f} ppm "
              f"(z {row['bias'] / sigma:+.1f}), in 90 %: {row['coverage_90']:.0f} %")  # fmt: skip


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main() -> None:
    """Print all tables."""
    if not boxes():
        sys.exit(ABSENT)
    with tempfile.TemporaryDirectory() as folder:
        found = dict(calibrated_boxes(Path(folder)))
        show_boxes(found)
        show_others(found)
        show_span_gas(Path(folder))
        show_ndir(Path(folder))
        show_pair()


if __name__ == "__main__":
    main()
