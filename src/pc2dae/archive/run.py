"""From a folder of flights to an archive; finished flights are skipped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pc2dae.archive.cluster import each
from pc2dae.archive.layout import Archive, FlightRecord
from pc2dae.archive.sources import FlightSource, find_sources
from pc2dae.archive.task import Order, denoise_within, failed, is_done
from pc2dae.atomic import write_text
from pc2dae.errors import Pc2daeError, explain
from pc2dae.suite import parse_suite

if TYPE_CHECKING:
    from distributed import Client

ORDER = ".order.json"  # in the archive: the last order


def pending(root: Path, archive: Archive, order: Order) -> tuple[list[FlightSource], list[FlightSource]]:
    """The flights under `root` still to be processed, and all flights."""
    suite = None if order.suite is None else parse_suite(order.suite, where="the suite")
    sources = find_sources(root.resolve(), suite=suite, leave_out=archive.root)
    for source in sources:
        if archive.output(source.name).resolve() == source.place.resolve():
            raise Pc2daeError(f"{source.place} is the input and would be overwritten",
                              hint="name another folder for the archive")  # fmt: skip
    content = json.dumps({"source": str(root.resolve()), "order": order.key, "suite": order.suite})
    write_text(archive.root / ORDER, content + "\n")
    return [source for source in sources if not is_done(source, order, archive)], sources


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
