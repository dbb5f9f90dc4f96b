"""What a worker stores of a flight and its runs for the API: facts, flags, plumes, scores, the view and columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pc2dae.atomic import write_text
from pc2dae.suite import Channel
from pc2dae.view.flight_view import FlightView, json_text
from pc2dae.view.plumes import plume_facts
from pc2dae.web.series import write_columns


def write_json(path: Path, data: Any) -> None:
    """Write JSON; numbers that are not finite become null."""
    write_text(path, json_text(data))


def write_flight_facts(folder: Path, view: FlightView) -> None:
    """`facts`, `flags`, `sensors`, `suite` and `view` as JSON and `columns.npz` of a flight as measured."""
    suite, seen = view.suite, view.inspection
    write_columns(folder / "columns.npz", view.measured)
    write_text(folder / "suite.json", suite.model_dump_json(exclude_defaults=True))
    write_json(folder / "flags.json", view.flags)
    write_json(folder / "sensors.json", view.sensors)
    _write_view(folder, view)
    facts = {
        "suite": suite.name,
        "start": view.time[0],
        "end": view.time[-1],
        "span_s": seen["duration_s"],
        "rate_hz": suite.rate_hz,
        "channels": [_channel(seen["channels"][c.name], c) for c in suite.channels],
        "verdicts": seen["families"],
        "motion": seen["motion"],
        "environment": seen["environment"],
        "gaps": seen["gaps"],
        "has_track": "track east" in view.measured,
        "has_truth": view.truth is not None,
    }
    write_json(folder / "facts.json", facts)


def write_run_facts(folder: Path, view: FlightView) -> None:
    """`facts`, `plumes`, `scores`, `sensors` and `view` as JSON and `columns.npz` of a denoised flight."""
    write_columns(folder / "columns.npz", view.done)
    write_json(folder / "plumes.json", plume_facts(view.flight, view.suite, view.plumes))
    _write_view(folder, view)
    write_json(folder / "sensors.json", view.sensors)
    if view.scores is not None:
        means = view.scores[view.scores["channel"] == "all"]
        write_json(folder / "scores.json", means[["method", "family", "metric", "value"]].to_dict("records"))
    left = str(view.flight.attrs["pc2dae_left_raw"])
    facts = {
        "model": str(view.flight.attrs.get("pc2dae_model", "")),
        "lead": view.lead,
        "channels": {f.name: {"uncertainty": f.uncertainty, "below": f.below_after} for f in view.channels
                     if f.denoised},
        "left_raw": [] if left == "none" else left.split("; "),
        "has_band": any(name.endswith(" high") for name in view.done),
    }  # fmt: skip
    write_json(folder / "facts.json", facts)


def _write_view(folder: Path, view: FlightView) -> None:
    """The view without what only the report draws."""
    write_json(folder / "view.json", {key: part for key, part in view.as_json().items() if key != "spectra"})


def _channel(seen: dict[str, Any], channel: Channel) -> dict[str, Any]:
    return {
        "name": channel.name,
        "long_name": channel.long_name or channel.name,
        "family": seen["family"],
        "units": seen["units"],
        "lower_bound": channel.lower_bound,
        "noise": seen["noise_sigma"],
        "lag1": seen["noise_lag1"],
        "t90_s": seen["t90_s"],
        "blur_m": seen.get("blur_mean_m"),
        "below": seen["below_bound"],
        **{key: seen[key] for key in ("negative", "observed", "missing", "stale")},
    }
