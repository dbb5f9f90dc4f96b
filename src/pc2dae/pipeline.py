"""The pipeline: from files to a flight, from a flight to clean concentrations, and their evaluation."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pc2dae.ambient import accepted_estimate, for_air
from pc2dae.arrays import Mask
from pc2dae.denoiser import Denoiser, Estimate
from pc2dae.edge.adaptive import AdaptiveDenoiser, lag_attributes
from pc2dae.edge.limits import raise_to_limits
from pc2dae.errors import FlightError, LogError, ModelError, nearest
from pc2dae.flags import SATURATED
from pc2dae.flight.schema import LEVELS, add_history, channel_arrays, check_flight, level_of, suite_of
from pc2dae.flight.stream import Stream
from pc2dae.noise import Noise, noise_level
from pc2dae.registry import Progress, load_model
from pc2dae.suite import Channel, Suite, load_suite, parse_suite
from pc2dae.windows.arrays import arrays_of, at_centres, blend, with_estimate

if TYPE_CHECKING:
    import pandas as pd

    from pc2dae.align.ingest_report import IngestReport
    from pc2dae.calibration.curve import Calibration
    from pc2dae.calibration.intervals import Interval
    from pc2dae.logs.sniff import Period
    from pc2dae.qc import Verdict
    from pc2dae.response.payload import PayloadResponse
    from pc2dae.response.pooling import FlightEvidence
    from pc2dae.response.steps import Exposure
    from pc2dae.training.fit import Look, TrainingSettings

PathText = str | PathLike[str]
Paths = Iterable[PathText]
TARGETS = ("ambient", "response")
_CHANGES = ("taken as missing (", "not corrected: no", "corrected for pressure", "to dry mole", "loading corrected",
            "calibrated ", "zero set in known air", "re-zeroed", " given at ")  # fmt: skip
PROFILES = ("flight", "live")  # noise level from the whole flight, or as in a stream


def open_flight(
    path: str | PathLike[str],
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    calibration: PathText | Sequence[PathText] = (),
    response: PathText | PayloadResponse | None = None,
    offsets: Mapping[str, float] | None = None,
    metadata: Mapping[str, str] | None = None,
    salvage: bool = False,
) -> xr.Dataset:
    """Open a flight from a pc2dae file (.nc, .zarr, .ict, .csv), a plain CSV, an instrument log or a folder of logs.

    A plain CSV needs a suite and keeps its rows: see `align.grid`. Logs are ingested: one clock, flags, compensation.
    A damaged compressed log is an error; with `salvage`, the whole lines that can be unpacked are used. `offsets` and
    `metadata` are as in `ingest`, `response` as in `denoise`.
    """
    from pc2dae.flight.store import is_flight, read_flight
    from pc2dae.suite.metadata import checked_metadata

    if is_flight(path):
        if offsets:
            raise FlightError(f"{path} is a flight: its clocks are aligned already", hint="state offsets of its logs")
        flight = read_flight(path, _suite(suite)).assign_attrs(checked_metadata(metadata or {}))
        return _with_response(calibrate_flight(prepare(flight), calibration) if calibration else flight, response)
    flight, _ = ingest(
        [path],
        suite=suite,
        zone=zone,
        calibration=calibration,
        offsets=offsets,
        metadata=metadata,
        salvage=salvage,
    )
    return _with_response(flight, response)


def ingest(
    paths: Paths,
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    calibration: PathText | Sequence[PathText] = (),
    compensation: str | None = None,
    correct_loading: bool = False,
    offsets: Mapping[str, float] | None = None,
    metadata: Mapping[str, str] | None = None,
    salvage: bool = False,
    period: Period = (None, None),
) -> tuple[xr.Dataset, IngestReport]:
    """Read logs, align them to one clock and grid, flag and compensate; also return a report of each file.

    `calibration` takes factory sheets and files of `pc2dae calibrate`. `compensation` overrides the suite's: `aan-803`,
    or `equation-1` as in the paper. With `correct_loading`, black carbon is corrected for the loading of its filter.
    `offsets` say how far an instrument's clock is ahead [s] (`{"stap": 95.0}`), instead of searching it; `metadata` are
    ACDD attributes (`creator_name`, `institution`, …) that override the suite's. `period` selects one of several
    flights in a file: rows from its first stamp (inclusive) to its second (exclusive), as logged, in UTC.
    """
    from pc2dae.align.clock_faults import repair_stamps
    from pc2dae.align.clocks import find_clocks
    from pc2dae.align.delays import response_delays
    from pc2dae.align.gaps import check_gaps
    from pc2dae.align.grid import align
    from pc2dae.align.ingest_report import IngestReport, source_reports
    from pc2dae.calibration.compensate import compensate
    from pc2dae.calibration.curve import is_calibration
    from pc2dae.logs import read_logs
    from pc2dae.logs.infer_suite import suite_for
    from pc2dae.qc import screen
    from pc2dae.suite.metadata import checked_metadata

    attributes = checked_metadata(metadata or {})
    given = [Path(path) for path in paths]
    book = read_logs(given, zone=zone, suite=_suite(suite), salvage=salvage, period=period)
    files = [calibration] if isinstance(calibration, str | PathLike) else calibration
    curves = [path for path in files if is_calibration(path)]
    streams = book.streams
    for path in files:
        streams = streams if path in curves else _with_sheet(streams, path)
    payload = _suite(suite) or streams[0].notes.get("suite") or suite_for(streams)
    if compensation is not None:
        table = payload.model_dump(mode="json", exclude_defaults=True) | {"compensation": compensation}
        payload = parse_suite(json.dumps(table), where=payload.name)
    _check_sources(streams, payload)
    streams = [repair_stamps(stream, payload.rate_hz) for stream in streams]
    clocks = find_clocks(streams, offsets)
    aligned = [clock.corrected(stream) for clock, stream in zip(clocks, streams, strict=True)]
    check_gaps(aligned, payload.rate_hz)
    flight, placed = align(aligned, payload, flight_id=given[0].stem if given[0].stem else "flight")
    flight.attrs["clock_offset_s"] = json.dumps({c.key: round(c.offset_s, 3) for c in clocks if c.found})
    ignored = tuple((i.file, i.reason) for i in book.ignored)
    intake = IngestReport(payload.name, source_reports(aligned, clocks, placed), ignored)
    for line in (*intake.repair_lines(), *(_stated(key, ahead) for key, ahead in (offsets or {}).items())):
        flight = add_history(flight, line)
    logged = flight = flight.assign_attrs(payload.metadata.stated() | attributes)
    ready = screen(compensate(screen(flight)))
    flight = calibrate_flight(_unloaded(ready) if correct_loading else ready, curves)
    delays = response_delays(flight)
    for name, delay in delays.items():
        flight.variables[name].attrs["response_delay_s"] = delay
    return flight, replace(intake, notes=(*_notes(flight), *change_lines(logged, flight)), response_delay_s=delays)


def prepare(flight: xr.Dataset) -> xr.Dataset:
    """The flight with flags and compensated channels, in its suite's units and grid, from any processing level."""
    from pc2dae.calibration.compensate import compensate
    from pc2dae.flight.conform import conform
    from pc2dae.qc import screen

    flight = conform(flight)
    level = LEVELS.index(level_of(flight))
    if level >= LEVELS.index("compensated"):
        return flight
    screened = flight if level >= LEVELS.index("screened") else screen(flight)
    return screen(compensate(screened))  # again, to flag the compensated values


def denoise(
    flight: xr.Dataset,
    *,
    model: str | Path | Denoiser | None = None,
    suite: str | Path | Suite | None = None,
    target: str | None = None,
    calibration: PathText | Calibration | Sequence[PathText | Calibration] = (),
    response: PathText | PayloadResponse | None = None,
    zero: Sequence[Interval] = (),
    rezero: bool = False,
    strength: float = 1.0,
    profile: str = "flight",
    correct_loading: bool = False,
    standard_conditions: bool = False,
    keep: Sequence[str] = (),
    exclude: Sequence[str] = (),
    progress: Progress | None = None,
) -> xr.Dataset:
    """Denoise a flight: channels hold clean values at or above their bound, the input is kept as `<name>_raw`.

    `calibration`, `zero` (air of known concentration) and `rezero` (to the suite's background) are applied first.
    `response` is what is known of the payload's response, from `find_response` or a file of it.

    `target` is `ambient` (the air, without the sensor's lag where that is known; the default of adaptive models) or
    `response` (the noise-free reading, the only one that other models estimate).

    `model` is a shipped name (default `adaptive`, live `adaptive-short`), a checkpoint folder, an ONNX file, a filter's
    name or a denoiser; `suite` overrides the flight's own; `strength` blends from 0 (raw, bounded) to 1; profile `live`
    reproduces a stream; `correct_loading` corrects black carbon for the loading of its filter; `standard_conditions`
    gives concentrations per volume at 273.15 K and 1013.25 hPa instead of those of the air. The quality verdict
    decides whether a family is denoised or left raw, unless `keep` or `exclude` name it. A channel without a usable
    sample becomes NaN.
    """
    from pc2dae.calibration.apply import with_reading_flags
    from pc2dae.calibration.compensate import corrected_as_live
    from pc2dae.flight.conditions import at_standard_conditions
    from pc2dae.plumes.combined import with_species
    from pc2dae.qc import screen, without_observation
    from pc2dae.response.t90 import sampling_offset_s

    if not 0.0 <= strength <= 1.0:
        raise ModelError(f"strength {strength:g} is not between 0 and 1", hint="1 is the model's estimate, 0 is raw")
    if profile not in PROFILES:
        raise ModelError(f"unknown profile '{profile}'", hint=nearest(profile, PROFILES))
    if flight.attrs.get("level") == "denoised":
        raise FlightError("the flight is denoised already", hint="pass the flight it was made from")
    if suite is not None:
        chosen = suite if isinstance(suite, Suite) else load_suite(suite)
        flight = flight.assign_attrs(suite=chosen.model_dump_json(exclude_defaults=True))
    chosen_model = model if model is not None else "adaptive-short" if profile == "live" else "adaptive"
    if isinstance(chosen_model, str | Path):
        denoiser = load_model(chosen_model, profile=profile, progress=progress)
    else:
        denoiser = chosen_model
    check_estimable(denoiser, target=target, strength=strength)
    ready = _unloaded(prepare(flight)) if correct_loading else prepare(flight)
    if profile == "live" and any(c.is_ndir for c in suite_of(ready).channels):
        ready = with_reading_flags(screen(corrected_as_live(ready)), ready)
    ready = _with_response(calibrate_flight(ready, calibration, zero=zero, rezero=rezero), response)
    if standard_conditions:
        ready = at_standard_conditions(ready)
    measured = suite_of(ready)
    noise = _noise(ready, measured)
    kept, unusable, left_raw = choose_families(ready, denoiser, noise=noise, keep=keep, exclude=exclude)
    noise = noise.rows([measured.names.index(name) for name in kept.names])
    values, environment, valid = arrays_of(ready, kept)
    if isinstance(denoiser, AdaptiveDenoiser) and strength == 1.0 and target != "response":
        denoiser, left = for_air(denoiser, ready, kept)
        estimate, denoiser, left = accepted_estimate(denoiser, left, ready, kept, noise)
    else:
        estimate, left = denoiser.prepare(ready, kept)(values, environment, valid), {}
    estimate = blend(estimate, values, valid, noise=noise.sigma[:, None], strength=strength)
    del values, environment, valid  # of a day, a tenth of the memory
    lags = lag_attributes(denoiser, kept, estimate, noise) if isinstance(denoiser, AdaptiveDenoiser) else {}
    if profile == "flight" and strength == 1.0:  # a stream, and a blend with raw data, are as sampled
        offsets = np.array([sampling_offset_s(ready, kept, name) for name in kept.names])
        estimate = at_centres(estimate, offsets, np.array([name in lags for name in kept.names]), kept.rate_hz)
    estimate = _at_limits(estimate, ready, kept, denoiser)
    kept_lags = {name: lag.attributes for name, lag in left.items()}
    clean = with_estimate(ready, kept, estimate, noise, lags=lags, left=kept_lags, unusable=unusable)
    empty = without_observation(ready, [*kept.names, *(channel.name for channel in unusable)])
    left_raw += [f"{name} (no usable sample: {why})" for name, why in empty.items()]
    clean.attrs |= {
        "pc2dae_model": denoiser.name,
        "pc2dae_model_sha256": getattr(denoiser, "sha256", "") or "none",
        "pc2dae_strength": strength,
        "pc2dae_left_raw": "; ".join(left_raw) or "none",
        "pc2dae_lag_not_corrected": "; ".join(f"{n} ({lag.reason})" for n, lag in left.items()) or "none",
    }
    line = f"denoised {', '.join(f.name for f in kept.family)} with {denoiser.name}, strength {strength:g}"
    line += f"; left raw: {'; '.join(left_raw)}" if left_raw else ""
    return with_species(add_history(clean, line, level="denoised"))


def _noise(flight: xr.Dataset, suite: Suite) -> Noise:
    """The noise of the channels; a clipped plume has none."""
    values, seen = channel_arrays(flight, suite)
    return noise_level(values, seen & ~_is_saturated(flight, suite))


def _is_saturated(flight: xr.Dataset, suite: Suite) -> Mask:
    return np.stack([(flight.variables[f"qc_{name}"].values & SATURATED) != 0 for name in suite.names])


def _at_limits(estimate: Estimate, flight: xr.Dataset, suite: Suite, denoiser: Denoiser) -> Estimate:
    """The estimate at or above saturated samples, which are lower limits."""
    values, seen = channel_arrays(flight, suite)
    is_limit = seen & _is_saturated(flight, suite)
    delay = denoiser.lags(suite).whole if isinstance(denoiser, AdaptiveDenoiser) else np.zeros(len(seen), np.intp)
    return raise_to_limits(estimate, suite, values, is_limit, delay)


def calibrate_flight(
    flight: xr.Dataset,
    calibrations: PathText | Calibration | Sequence[PathText | Calibration] = (),
    *,
    zero: Sequence[Interval] = (),
    rezero: bool = False,
) -> xr.Dataset:
    """A compensated flight with calibrations and zero checks applied, as far as there are any."""
    from pc2dae.calibration.apply import calibrated, with_reading_flags
    from pc2dae.calibration.curve import Calibration, read_calibration
    from pc2dae.calibration.zero import rezeroed, zeroed
    from pc2dae.qc import screen

    done = flight
    given = [calibrations] if isinstance(calibrations, str | PathLike | Calibration) else calibrations
    if given:
        done = calibrated(done, [c if isinstance(c, Calibration) else read_calibration(Path(c)) for c in given])
    if zero:
        done = zeroed(done, zero)
    if rezero:
        done = rezeroed(done)
    return done if done is flight else with_reading_flags(screen(done), flight)


def check_estimable(denoiser: Denoiser, *, target: str | None, strength: float = 1.0) -> None:
    """Refuse an unknown target, and `ambient` from what estimates the reading."""
    if target not in (None, *TARGETS):
        raise ModelError(f"unknown target '{target}'", hint=nearest(str(target), TARGETS))
    if target == "ambient" and not (isinstance(denoiser, AdaptiveDenoiser) and strength == 1.0):
        what = f"'{denoiser.name}'" if strength == 1.0 else f"strength {strength:g}"
        raise ModelError(f"{what} estimates the reading, not the air", hint="leave out --target, or use adaptive")


def choose_families(
    flight: xr.Dataset,
    denoiser: Denoiser,
    *,
    noise: Noise | None = None,
    keep: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> tuple[Suite, list[Channel], list[str]]:
    """The channels to denoise, those without any usable value, and a line for each family left raw."""
    from pc2dae.edge.runtime import matching
    from pc2dae.qc import judge_families

    suite = suite_of(flight)
    suite.only([*keep, *exclude])  # an unknown family is an error
    verdicts = judge_families(flight, noise=noise, keep=keep, exclude=exclude)
    excluded = {v.family: v.reason for v in verdicts if not v.kept and (v.family in exclude or _is_decisive(v, suite))}
    kept = [family.name for family in suite.family if family.name not in excluded]
    if not kept:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in excluded.items())
        raise FlightError(f"no family of this flight is usable ({reasons})", hint="run `pc2dae inspect`")
    logged = {
        f.name for f in suite.family if any(np.isfinite(flight.variables[c.name].values).any() for c in f.channel)
    }
    unmeasured = {v.family for v in verdicts if v.figures.get("observed") == 0} - set(exclude)
    unusable = [n for n in excluded if n in unmeasured & logged]
    chosen = suite.only(kept)
    trained: Suite | None = getattr(denoiser, "suite", None)
    if trained is not None:
        chosen = matching(chosen, trained, model=denoiser.name)
        known = {family.name for family in chosen.family}
        excluded |= {name: f"'{denoiser.name}' was not trained for it" for name in kept if name not in known}
    channels = {family.name: family.channel for family in suite.family}
    left_raw = [
        f"{', '.join(channel.name for channel in channels[name])} ({reason})"
        for name, reason in excluded.items()
        if name not in unusable
    ]
    return chosen, [channel for name in unusable for channel in channels[name]], left_raw


def change_lines(before: xr.Dataset, after: xr.Dataset) -> list[str]:
    """History lines added since `before` about values taken as missing or corrected."""
    old, new = (str(flight.attrs.get("history", "")).splitlines() for flight in (before, after))
    return [line.partition(" pc2dae: ")[2] for line in new[len(old) :] if any(word in line for word in _CHANGES)]


def evaluate(
    clean: xr.Dataset, *, truth: xr.Dataset | None = None, model: str | Path | Denoiser | None = None
) -> pd.DataFrame:
    """Scores of a denoised flight as a tidy table (method, channel, family, metric, value), with reference rows.

    With `truth`, errors are included; with the `model` that made it, `pair_agreement` and `leakage`, which rerun it.
    """
    import pandas as pd

    from pc2dae.metrics import leakage_scores, pair_scores, score_flight
    from pc2dae.metrics.flight import denoised_suite, raw_arrays

    table = score_flight(clean, truth=truth)
    if model is None:
        return table
    denoiser = load_model(model) if isinstance(model, str | Path) else model
    suite = denoised_suite(clean)
    values, valid = raw_arrays(clean, suite)
    environment = arrays_of(clean, suite)[1]
    job = denoiser.prepare(clean.assign({f"{n}": clean[f"{n}_raw"] for n in suite.names if f"{n}_raw" in clean}), suite)
    extra = pd.concat([run(job, values, environment, valid, suite) for run in (pair_scores, leakage_scores)])
    extra.insert(0, "method", table["method"].iloc[0])
    return pd.concat([table, extra], ignore_index=True)


def fit(
    flights: Sequence[xr.Dataset],
    *,
    variant: str = "lean",
    objective: str | None = None,
    begin: str | None = None,
    truths: Sequence[xr.Dataset] | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    mass: float = 0.0,
    spectral: float = 0.0,
    literal_sums: bool = False,
    steps: int | None = None,
    settings: TrainingSettings | None = None,
    report: Callable[[Look], None] | None = None,
) -> Denoiser:
    """Train a network on flights (needs pc2dae[train]) and return it; with `out`, the run's folder is kept there.

    The same call on the same `out` resumes an interrupted run. The default objective is `recorrupted`, which needs no
    truth, and `paper` for the networks of the paper; `truths` are needed by objective `truth`. Variants `lean`, `wide`
    and `adaptive` begin with the shipped weights (`pretrained`) if there are any for these channels, which are kept
    unless the gain on held-out stretches is clear; others begin from `scratch`. `steps` limits the run. `mass` and
    `spectral` weigh the optional terms of the loss, which the paper did not use; `literal_sums` takes the paper's own
    terms as the sums it prints instead of means per family.
    """
    from pc2dae.training.finetune import finetune
    from pc2dae.training.networks import in_noise_units
    from pc2dae.training.run import TrainingPlan, settings_for, train
    from pc2dae.training.shipped import TUNING, shipped_network
    from pc2dae.windows.slicing import record_of

    if truths is not None and len(truths) != len(flights):
        raise ModelError(f"{len(truths)} truths for {len(flights)} flights", hint="pass one truth per flight, in order")
    ready = [prepare(flight) for flight in flights]
    suite = shared_suite(ready)
    known: Sequence[xr.Dataset | None] = truths if truths is not None else [None] * len(ready)
    records = [record_of(flight, suite, truth=truth) for flight, truth in zip(ready, known, strict=True)]
    begin = begin or ("pretrained" if shipped_network(variant, suite) is not None else "scratch")
    pace = replace(settings or (TUNING if begin == "pretrained" else settings_for(variant)), seed=seed)
    pace = pace if steps is None else replace(pace, steps=steps)
    objective = objective or ("recorrupted" if in_noise_units(variant) else "paper")
    plan = TrainingPlan(
        variant, objective, begin, mass=mass, spectral=spectral, literal_sums=literal_sums, settings=pace
    )
    with tempfile.TemporaryDirectory() as elsewhere:
        folder = Path(out) if out is not None else Path(elsewhere) / variant
        if variant == "adaptive":
            finetune(records, suite, folder=folder, settings=pace, report=report)
        else:
            train(records, suite, plan, folder=folder, report=report)
        return load_model(folder)


def shared_suite(flights: Sequence[xr.Dataset]) -> Suite:
    """The flights' common suite, reduced to the families kept in at least half of them."""
    from pc2dae.qc import judge_families

    if not flights:
        raise ModelError("there is no flight to train on", hint="pass one or more flights")
    suites = [check_flight(flight, level="screened") for flight in flights]
    for suite in suites[1:]:
        if suite.names != suites[0].names:
            odd = sorted(set(suite.names) ^ set(suites[0].names))
            raise ModelError(f"the flights do not share one suite: '{odd[0] if odd else suite.name}' differs")
    votes = [v.family for f in flights for v in judge_families(f) if v.kept or not _is_decisive(v, suites[0])]
    kept = [family.name for family in suites[0].family if 2 * votes.count(family.name) >= len(flights)]
    if not kept:
        raise ModelError("no family is usable in half of the flights", hint="run `pc2dae inspect` on them")
    return suites[0].only(kept)


def _is_decisive(verdict: Verdict, suite: Suite) -> bool:
    """A suite without instruments describes a user's table: only channels that were never measured are omitted."""
    return bool(suite.sources) or verdict.figures.get("observed") == 0


def find_response(
    flights: Sequence[PathText | xr.Dataset],
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    steps: Sequence[Exposure] = (),
) -> PayloadResponse:
    """The response of a payload, pooled over its flights: falls, plumes that a faster channel saw too, and steps.

    `steps` say when a channel was exposed to other air.
    """
    from pc2dae.response.pooling import pool

    return pool(find_evidence(flights, suite=suite, zone=zone, steps=steps))


def find_evidence(
    flights: Sequence[PathText | xr.Dataset],
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    steps: Sequence[Exposure] = (),
) -> list[FlightEvidence]:
    """What each flight shows of its payload's response, in their order."""
    from pc2dae.response.pooling import evidence_of

    opened = (f if isinstance(f, xr.Dataset) else open_flight(f, suite=suite, zone=zone) for f in flights)
    return [evidence_of(prepare(flight), steps) for flight in opened]


def _with_response(flight: xr.Dataset, response: PathText | PayloadResponse | None) -> xr.Dataset:
    from pc2dae.response.payload import PayloadResponse, read_response
    from pc2dae.response.pooling import completed

    if response is None:
        return flight
    return completed(flight, response if isinstance(response, PayloadResponse) else read_response(Path(response)))


def _suite(suite: str | Path | Suite | None) -> Suite | None:
    return suite if suite is None or isinstance(suite, Suite) else load_suite(suite)


def _with_sheet(streams: list[Stream], calibration: str | PathLike[str]) -> list[Stream]:
    """The streams, with the given factory sheet replacing the one beside its board's log."""
    from pc2dae.logs.afe import read_sheet, with_sheet

    sheet = read_sheet(Path(calibration))
    boards = [s.key for s in streams if s.instrument == "afe" and sheet.get("unit", s.unit) == s.unit]
    if len(boards) != 1:
        there = ", ".join(s.key for s in streams if s.instrument == "afe") or "none"
        raise LogError(f"{Path(calibration).name}: for unit '{sheet.get('unit', '')}', which fits {len(boards)} boards",
                       hint=f"boards in these logs: {there}")  # fmt: skip
    return [with_sheet(s, sheet) if s.key == boards[0] else s for s in streams]


def _unloaded(flight: xr.Dataset) -> xr.Dataset:
    from pc2dae.calibration.aethalometer import correct_loading
    from pc2dae.qc import screen

    return screen(correct_loading(flight))


def _check_sources(streams: list[Stream], suite: Suite) -> None:
    """Refuse a suite that has no channel in the logs, or that is ambiguous between several instruments of a kind."""
    from pc2dae.logs.join import ONE_OF

    keys = {stream.key for stream in streams}
    if "csv" in keys:
        return
    for name, source in suite.sources.items():
        if several := [stream for stream in streams if stream.notes.get(ONE_OF) == source.key]:
            files = ", ".join(stream.source for stream in several)
            example = f'[sources] {name} = "{several[0].key}.{source.column}"'
            raise LogError(
                f"{len(several)} instruments log as {source.key} ({files}), but suite '{suite.name}' reads only one",
                hint=f"keep one of them, or name it in the suite: {example}",
            )
    if not any(source.key in keys for name, source in suite.sources.items() if name in suite.names):
        raise LogError(f"suite '{suite.name}' has no channel in these logs ({', '.join(sorted(keys))})",
                       hint='say where channels come from: [sources] co2 = "li830.co2"')  # fmt: skip


def _stated(key: str, ahead_s: float) -> str:
    return f"clock of {key}: stated to be {abs(ahead_s):g} s {'ahead' if ahead_s >= 0 else 'behind'}"


def _unread_cells(flight: xr.Dataset) -> list[str]:
    """Cells with logged electrodes of which the suite has no channel, as those of an ARISense."""
    suite = suite_of(flight)
    read = {source.variable() for name, source in suite.sources.items() if name in suite.names}
    electrodes = [str(name) for name in flight.data_vars if str(name).endswith("_we")]
    return [
        name[:-3] for name in electrodes if name[:-3] not in read and np.isfinite(flight.variables[name].values).any()
    ]


def _notes(flight: xr.Dataset) -> tuple[str, ...]:
    from pc2dae.calibration.compensate import without_sheet
    from pc2dae.qc import loaded_filters

    notes = []
    if absent := without_sheet(flight):
        notes.append(f"no calibration sheet: {', '.join(absent)} remain missing, the millivolts are kept")
    if cells := _unread_cells(flight):
        notes.append(f"no calibration sheet: {', '.join(cells)} kept in millivolts only, see pc2dae calibrate")
    if loaded := loaded_filters(flight):
        notes.append(f"filter loaded (black carbon reads too low, see --correct-loading): {loaded} of samples")
    return tuple(notes)
