"""From the noisy logs of cheap sensors on drones in wildfire smoke to concentrations a scientist can publish."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pc2dae.errors import Pc2daeError

# Before any import of onnxruntime, which from 1.31 on reports sessions to its maker, with an identifier of the machine.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    __version__: str
    from pc2dae.colocation import calibrate
    from pc2dae.denoising import denoise
    from pc2dae.ingestion import ingest, open_flight
    from pc2dae.pipeline import evaluate, find_response
    from pc2dae.registry import load_model
    from pc2dae.report import report
    from pc2dae.suite import load_suite
    from pc2dae.training.flights import fit

_LAZY = {
    "calibrate": "pc2dae.colocation",
    "denoise": "pc2dae.denoising",
    "evaluate": "pc2dae.pipeline",
    "find_response": "pc2dae.pipeline",
    "fit": "pc2dae.training.flights",
    "ingest": "pc2dae.ingestion",
    "load_model": "pc2dae.registry",
    "load_suite": "pc2dae.suite",
    "open_flight": "pc2dae.ingestion",
    "report": "pc2dae.report",
}
__all__ = [
    "Pc2daeError",
    "__version__",
    "calibrate",
    "denoise",
    "evaluate",
    "find_response",
    "fit",
    "ingest",
    "load_model",
    "load_suite",
    "open_flight",
    "report",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pc2dae")
    if name in _LAZY:
        package = import_module(_LAZY[name])
        # The subpackage `report` is itself callable.
        return package if _LAZY[name] == f"pc2dae.{name}" else getattr(package, name)
    raise AttributeError(f"module 'pc2dae' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
