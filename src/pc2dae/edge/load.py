"""Which network a name means, with numpy and onnxruntime alone: a shipped model, a training run's folder, a file."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from pc2dae.calibration.curve import read_calibration
from pc2dae.calibration.series import CalibrationSeries
from pc2dae.edge import adaptive
from pc2dae.edge.adaptive import AdaptiveDenoiser, adaptive_of
from pc2dae.edge.card import Card, digest, parse_card
from pc2dae.edge.engine import Engine
from pc2dae.edge.onnx_check import card_of, read_limited, read_onnx
from pc2dae.edge.runtime import WindowedDenoiser, denoiser_of
from pc2dae.errors import ModelError, nearest
from pc2dae.response.payload import read_response, with_response
from pc2dae.response.stated import lags_left_s, stated_responses
from pc2dae.suite import Suite, load_suite, presets
from pc2dae.weights import SHIPPED

DEFAULT_SUITE = "black-kite"
_log = logging.getLogger(__name__)


def open_network(
    source: str | Path, *, profile: str = "flight"
) -> tuple[AdaptiveDenoiser | WindowedDenoiser, Card] | None:
    """Denoiser and card of a network in an ONNX file, whose digest is checked first; None if `source` names none."""
    name, path = str(source), Path(source)
    if name in SHIPPED:
        if path.exists():
            _log.warning("'%s' is the shipped model; write ./%s for the folder of that name", name, name)
        with as_file(files("pc2dae.weights") / f"{name}.onnx") as shipped:
            return _open(shipped, name, profile)
    if path.is_dir():
        digests = parse_card(read_limited(path / "card.json"), where=f"{path.name}/card.json")["sha256"]
        if "model.onnx" not in digests:
            return None
        return _open(path / "model.onnx", path.name, profile, sha256=digests["model.onnx"])
    return _open(path, path.stem, profile) if path.is_file() else None


def live_engine(
    source: str | Path,
    *,
    suite: str | Path | None = None,
    exclude: Sequence[str] = (),
    calibration: Sequence[str | Path] = (),
    response: str | Path | None = None,
) -> tuple[Engine, Card]:
    """Engine and card of a model for a suite without the families excluded; default: the suite it was trained for.

    `calibration` are files for the readings that the suite describes, `response` is one of its channels' responses.
    """
    calibrations = [read_calibration(path) for path in calibration]
    known = None if response is None else read_response(response)
    found = open_network(source, profile="live")
    if found is None:
        hint = "export it with `pc2dae export`" if Path(source).is_dir() else nearest(str(source), SHIPPED)
        raise ModelError(f"model '{source}' cannot run live: only shipped networks and ONNX files can", hint=hint)
    denoiser, card = found
    own: Suite | None = getattr(denoiser, "suite", None)
    if suite is None and own is not None and own.name not in presets():
        chosen = own
    else:
        chosen = load_suite(suite if suite is not None else DEFAULT_SUITE if own is None else own.name)
    if exclude:
        chosen.only(list(exclude))  # an unknown name is an error
    if known is not None:
        chosen = with_response(chosen, known.channels)
    series = CalibrationSeries(calibrations, chosen) if calibrations else None
    payload = chosen if series is None else series.suite
    reasons: dict[str, str] = {}
    if isinstance(denoiser, AdaptiveDenoiser):
        cross = {} if series is None else {name: series.latest_cross(name) for name in series.own}
        responses, reasons = stated_responses(payload, cross)
        denoiser = denoiser.undoing(responses, lags_left_s(payload, responses))
    used = payload.only([f.name for f in payload.family if f.name not in exclude])
    engine, card = denoiser.engine(used), card | {"payload": _described(used, reasons)}
    if known is not None:
        engine.identity = f"{engine.identity} {known.digest[:12]}"
        card |= {"response_sha256": known.digest}
    if series is None:
        engine.ignored = frozenset(chosen.names) - frozenset(engine.suite.names)
        return engine, card
    engine.calibration = series
    engine.identity = f"{engine.identity} {series.key}"
    return engine, card | {"calibration": series.label}


def _described(suite: Suite, reasons: Mapping[str, str]) -> dict[str, object]:
    """The payload for a card: a page that watches the stream needs no suite."""
    channels = [
        {"name": c.name, "units": c.units, "family": family.name, "lower_bound": c.lower_bound}
        | ({"lag_not_corrected": reasons[c.name]} if c.name in reasons else {})
        for family in suite.family
        for c in family.channel
    ]
    return {"suite": suite.name, "rate_hz": suite.rate_hz, "channels": channels}


def _open(
    path: Path, name: str, profile: str, *, sha256: str | None = None
) -> tuple[AdaptiveDenoiser | WindowedDenoiser, Card]:
    data, facts = read_onnx(path, sha256=sha256)
    card = {"model": name, "model_sha256": digest(data), **card_of(facts, where=path.name)}
    if facts.inputs == adaptive.INPUTS:
        return adaptive_of(data, facts, name=name, profile=profile), card
    return denoiser_of(data, name=name, profile=profile), card
