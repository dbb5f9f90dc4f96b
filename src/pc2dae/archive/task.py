"""The task of a worker for one flight: open, denoise, write, mark as done."""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from pc2dae.archive.index_row import row_of
from pc2dae.archive.layout import DONE, FAILED, Archive, FlightRecord
from pc2dae.archive.sources import FlightSource, digest, open_source, stamp
from pc2dae.calibration.curve import Calibration, read_calibration
from pc2dae.denoiser import Denoiser, estimates_air
from pc2dae.denoising import denoise
from pc2dae.errors import ModelError, explain
from pc2dae.ingestion import prepare
from pc2dae.registry import SHIPPED, load_model
from pc2dae.response.payload import parse_response, read_response
from pc2dae.response.pooling import FlightEvidence, evidence_of
from pc2dae.suite import Suite, parse_suite

_EPOCH = "SOURCE_DATE_EPOCH"


@dataclass(frozen=True)
class Order:
    """Everything except the flight itself that determines the result."""

    model: str = "adaptive"
    model_sha256: str = ""  # of the client's copy of the weights
    suite: str | None = None  # JSON
    zone: str | None = None
    target: str | None = None
    calibration: tuple[str, ...] = ()  # the content of each file: workers need not see it
    response: str | None = None  # likewise

    @property
    def payload(self) -> Suite | None:
        """The suite, if one overrides those of the flights."""
        return None if self.suite is None else parse_suite(self.suite, where="the suite")

    @property
    def corrects_lag(self) -> bool:
        """Whether a response makes a difference."""
        return estimates_air(_model(self.model), target=self.target)

    @property
    def key(self) -> str:
        """A fingerprint of the order; if it changes, flights are denoised again."""
        decides = self.model_sha256 if self.model_sha256 not in ("", "none") else self.model
        settings = (decides, self.suite, self.zone, self.target, *self.calibration, self.response)
        return sha256(repr(settings).encode()).hexdigest()[:16]


def order_of(
    model: str | Path,
    *,
    suite: Suite | None = None,
    zone: str | None = None,
    target: str | None = None,
    calibration: Sequence[str | Path] = (),
    response: str | Path | None = None,
) -> Order:
    """The order for a model, which must be loadable and able to estimate the target, and for files of the payload."""
    known = None if response is None else read_response(response).content.decode()
    curves = tuple(read_calibration(path).model_dump_json() for path in calibration)
    name = str(model)
    denoiser = _model(name)
    estimates_air(denoiser, target=target)  # refuses a target that the model does not estimate
    if name not in SHIPPED and Path(name).exists():
        name = str(Path(name).resolve())  # workers may run in another folder
    text = None if suite is None else suite.model_dump_json(exclude_defaults=True)
    return Order(name, _sha256(denoiser), text, zone, target, curves, known)


def is_done(source: FlightSource, order: Order, archive: Archive) -> bool:
    """Whether the flight is done with this order and its files' names, sizes and times are unchanged."""
    record = archive.record(source.name)
    return (
        record is not None
        and record["status"] == DONE
        and record["order"] == order.key
        and record["stamp"] == stamp(source)
        and archive.output(source.name).exists()
    )


def denoise_one(source: FlightSource, order: Order, archive: Archive, epoch: str | None = None) -> FlightRecord:
    """Denoise one flight and write its marker; any error becomes one line of its record.

    `epoch` is the client's SOURCE_DATE_EPOCH.
    """
    started = time.perf_counter()
    record: FlightRecord = {"flight": source.name, "source": str(source.place), "order": order.key}
    try:
        record |= {"stamp": stamp(source), "source_sha256": digest(source.place)}
        before = archive.record(source.name)
        if before is not None and _is_same(before, record, archive):
            record = before | {"stamp": record["stamp"], "source": record["source"]}
            if record == before:  # marked by a worker that died before it answered
                return record
        else:
            with _dated(epoch):
                record |= _made(source, order, archive, record)
            record["seconds"] = round(time.perf_counter() - started, 3)
    except Exception as error:  # noqa: BLE001 (no error in one flight may stop the run)
        record = failed(source, order, str(explain(error)), seconds=time.perf_counter() - started)
        archive.remove(source.name)
    archive.mark(record)
    return record


def denoise_within(
    limit_s: float, source: FlightSource, order: Order, archive: Archive, epoch: str | None = None
) -> FlightRecord:
    """`denoise_one`, but this process exits after `limit_s` seconds: code that hangs in C cannot be interrupted.

    The cluster then assigns the flight to another worker, which reads the reported limit and marks it as failed.
    """
    attempt = archive.attempts / f"{source.name}.txt"
    if attempt.exists() and attempt.stat().st_size:
        line = f"not finished after {limit_s / 60:g} min; check the flight, or raise --limit-min"
        record = failed(source, order, line, seconds=limit_s)
        archive.remove(source.name)
        archive.mark(record)
        return record
    attempt.parent.mkdir(parents=True, exist_ok=True)
    with attempt.open("w") as file:
        faulthandler.dump_traceback_later(limit_s, exit=True, file=file)
        try:
            return denoise_one(source, order, archive, epoch)
        finally:
            faulthandler.cancel_dump_traceback_later()
            attempt.unlink()


def evidence_within(limit_s: float, source: FlightSource, order: Order) -> FlightEvidence:
    """What a flight shows of its payload's response; this process exits after `limit_s` seconds."""
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(limit_s, exit=True, file=nowhere)
        try:
            return evidence_of(prepare(open_source(source, suite=order.payload, zone=order.zone)))
        finally:
            faulthandler.cancel_dump_traceback_later()


def failed(source: FlightSource, order: Order, line: str, *, seconds: float = 0.0) -> FlightRecord:
    """The record of a flight that could not be done."""
    return {"flight": source.name, "source": str(source.place), "order": order.key, "stamp": "", "status": FAILED,
            "error": line, "seconds": round(seconds, 3)}  # fmt: skip


def _is_same(before: FlightRecord, now: FlightRecord, archive: Archive) -> bool:
    """Whether the output was made from the same bytes with the same order, so that only file times have changed."""
    is_made = before["status"] == DONE and archive.output(now["flight"]).exists()
    return is_made and all(before.get(key) == now[key] for key in ("source_sha256", "order"))


def _made(source: FlightSource, order: Order, archive: Archive, record: FlightRecord) -> FlightRecord:
    denoiser = _model(order.model)
    if _sha256(denoiser) != order.model_sha256:
        raise ModelError(f"'{order.model}' of this worker differs from the client's", hint="install the same version")
    archive.marker(source.name).unlink(missing_ok=True)  # the present output is about to be replaced
    curves = [Calibration.model_validate_json(text) for text in order.calibration]
    clean = denoise(  # alone holds the raw flight: a day of it need not stay in memory until the clean one is written
        open_source(source, suite=order.payload, zone=order.zone),
        model=denoiser, target=order.target, calibration=curves,
        response=None if order.response is None else parse_response(order.response, name="the response"),
    )  # fmt: skip
    clean.attrs |= {"pc2dae_source": source.name, "pc2dae_source_sha256": record["source_sha256"]}
    row = row_of(clean)
    return row | {"output_sha256": archive.write(clean, source.name), "status": DONE, "error": None}


@lru_cache(maxsize=1)
def _model(name: str) -> Denoiser:
    return load_model(name)


def _sha256(denoiser: Denoiser) -> str:
    return getattr(denoiser, "sha256", "") or "none"


@contextmanager
def _dated(epoch: str | None) -> Iterator[None]:
    """Set SOURCE_DATE_EPOCH to the client's value, for the time stamps in attributes."""
    before = os.environ.get(_EPOCH)
    if epoch is not None:
        os.environ[_EPOCH] = epoch
    try:
        yield
    finally:
        if epoch is not None and before is None:
            del os.environ[_EPOCH]
        elif before is not None:
            os.environ[_EPOCH] = before
