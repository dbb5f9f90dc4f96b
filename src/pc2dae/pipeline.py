"""The whole story, each step a function of its own.

    flight, intake = ingest(logs)          files to a flight on one clock and grid, flagged, in physical units
    flight = open_flight(path)             the same, or a flight that was written before
    response = find_response(flights)      how the payload's sensors follow the air, from all its flights
    clean = denoise(flight)                noise removed and lag undone, at or above each channel's bound
    scores = evaluate(clean, truth=truth)  how good it is, with and without truth
    model = fit(flights)                   a network of one's own

The stages are in `ingestion.py`, `denoising.py` and `ambient.py`, training in `training/flights.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from pc2dae.denoiser import Denoiser
from pc2dae.denoising import denoise
from pc2dae.ingestion import PathText, ingest, open_flight, prepare
from pc2dae.registry import load_model
from pc2dae.suite import Suite
from pc2dae.training.flights import fit

if TYPE_CHECKING:
    import pandas as pd

    from pc2dae.response.payload import PayloadResponse
    from pc2dae.response.pooling import FlightEvidence
    from pc2dae.response.steps import Exposure

__all__ = ["denoise", "evaluate", "find_evidence", "find_response", "fit", "ingest", "open_flight", "prepare"]


def evaluate(
    clean: xr.Dataset, *, truth: xr.Dataset | None = None, model: str | Path | Denoiser | None = None
) -> pd.DataFrame:
    """Scores of a denoised flight as a tidy table (method, channel, family, metric, value), with reference rows.

    With `truth`, errors are included; with the `model` that made it, `pair_agreement` and `leakage`, which rerun it.
    """
    import pandas as pd

    from pc2dae.metrics import score_flight, score_rerun

    table = score_flight(clean, truth=truth)
    if model is None:
        return table
    denoiser = load_model(model) if isinstance(model, str | Path) else model
    return pd.concat([table, score_rerun(clean, denoiser)], ignore_index=True)


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
