"""A suite inferred from the channels that the readers of the streams declare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs.sniff import declared
from pc2dae.suite import Channel, Family, Source, Suite, load_suite

PRESET = "black-kite"


def suite_for(streams: Sequence[Stream]) -> Suite:
    """The preset whose instruments match the streams, else a suite of all channels that the streams provide."""
    preset = load_suite(PRESET)
    kinds = {source.instrument for name, source in preset.sources.items() if name in preset.names}
    here = {stream.instrument for stream in streams}
    if "afe" in here or len(here & kinds) >= 3:
        return preset
    return declared_suite(streams)


def declared_suite(streams: Sequence[Stream]) -> Suite:
    """Every declared channel that has data; several instruments of a kind are duplicates of the first."""
    families: dict[str, list[Channel]] = {}
    sources: dict[str, Source] = {}
    taken: dict[str, str] = {}
    for stream in streams:
        given = declared(stream)
        for family, channel in given.channels:
            column = channel.column or channel.name
            if column not in stream.columns or not np.isfinite(stream.columns[column]).any():
                continue
            name = _free(channel.name, stream, taken)
            source = Source(stream.instrument, stream.unit, column)
            twins = [n for n, s in sources.items() if n in taken and s != source == replace(s, unit=stream.unit)]
            twin = twins[0] if twins else None
            families.setdefault(family, []).append(
                channel.model_copy(update={"name": name, "column": None, "duplicate_of": twin})
            )
            sources[name] = source
            taken[name] = stream.key
        for name, column in (*given.environment.items(), *given.motion.items()):
            if name not in sources and column in stream.columns and np.isfinite(stream.columns[column]).any():
                sources[name] = Source(stream.instrument, stream.unit, column)
    if not families:
        kinds = ", ".join(sorted({stream.key for stream in streams}))
        raise LogError(
            f"no channel can be read from {kinds} alone", hint="pass --suite, or add the other instruments' logs"
        )
    name = "-".join(dict.fromkeys(stream.instrument for stream in streams))
    return Suite(
        name=name,
        rate_hz=_rate(streams),
        family=tuple(Family(name=f, channel=tuple(c)) for f, c in families.items()),
        sources=sources,
    )


def _free(name: str, stream: Stream, taken: dict[str, str]) -> str:
    """The channel's name, with the unit or instrument appended if several share it."""
    if stream.unit:
        return f"{name}_{stream.unit}"
    return name if name not in taken else f"{name}_{stream.instrument}"


def _rate(streams: Sequence[Stream]) -> float:
    """1 Hz, or the rate of the fastest stream if that is slower."""
    steps = []
    for stream in streams:
        step = np.diff(np.sort(stream.time)).astype(np.int64) / 1e9
        steps += [float(np.median(step[step > 0]))] if (step > 0).any() else []
    fastest = min(steps, default=1.0)
    return 1.0 if fastest < 3.0 else 1.0 / round(fastest)
