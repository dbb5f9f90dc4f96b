"""From a folder of flights to an archive; finished flights are skipped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pc2dae.archive.cluster import each
from pc2dae.archive.layout import Archive, FlightRecord
from pc2dae.archive.sources import FlightSource, find_sources
from pc2dae.archive.task import Order, denoise_within, evidence_within, failed, is_done
from pc2dae.atomic import write_text
from pc2dae.errors import Pc2daeError, explain
from pc2dae.response.payload import read_response
from pc2dae.response.pooling import FlightEvidence, pool

if TYPE_CHECKING:
    from distributed import Client

_POOLED = 24  # flights: more would hardly change a response
ORDER = ".order.json"  # in the archive: the last order


def pending(root: Path, archive: Archive, order: Order) -> tuple[list[FlightSource], list[FlightSource]]:
    """The flights under `root` still to be processed, and all flights."""
    sources = find_sources(root.resolve(), suite=order.payload, leave_out=archive.root)
    for source in sources:
        if archive.output(source.name).resolve() == source.place.resolve():
            raise Pc2daeError(f"{source.place} is the input and would be overwritten",
                              hint="name another folder for the archive")  # fmt: skip
    content = json.dumps({"source": str(root.resolve()), "order": order.key, "suite": order.suite})
    write_text(archive.root / ORDER, content + "\n")
    return [source for source in sources if not is_done(source, order, archive)], sources


def with_pooled_response(
    root: Path, archive: Archive, order: Order, client: Callable[[], Client], *, limit_s: float = 600.0
) -> Order:
    """The order with the response that an earlier run kept in the archive, or with one pooled now and kept there.

    Of many flights `_POOLED`, evenly spread, are pooled. Adding flights later does not change the response, which would
    make every flight out of date: without the file, the next run pools again.
    """
    if order.response is not None or not order.corrects_lag:
        return order
    if not archive.response.exists():
        sources = find_sources(root.resolve(), suite=order.payload, leave_out=archive.root)
        chosen = [sources[i] for i in sorted({k * len(sources) // _POOLED for k in range(_POOLED)})]
        found = dict(each(client(), evidence_within, ((s.name, (limit_s, s, order)) for s in chosen)))
        evidence = [replace(e, flight=name) for name, e in sorted(found.items()) if isinstance(e, FlightEvidence)]
        if not evidence:
            return order
        pool(evidence).write(archive.response)
    return replace(order, response=read_response(archive.response).content.decode())


def denoise_all(
    todo: Sequence[FlightSource], archive: Archive, order: Order, client: Client, *, limit_s: float = 600.0
) -> Iterator[FlightRecord]:
    """Denoise the flights on the cluster and yield each record when done; a flight over the time limit has failed."""
    known, epoch = {source.name: source for source in todo}, os.environ.get("SOURCE_DATE_EPOCH")
    jobs = ((source.name, (limit_s, source, order, archive, epoch)) for source in todo)
    for name, answer in each(client, denoise_within, jobs):
        if isinstance(answer, BaseException):
            answer = failed(known[name], order, _lost(answer))
            archive.mark(answer)
        yield answer


def _lost(error: BaseException) -> str:
    """Why a flight has no record: its worker died repeatedly, or could not write."""
    if type(error).__name__ == "KilledWorker":
        return "its worker died on every attempt, possibly out of memory; give each worker more with --memory"
    return str(explain(error))
