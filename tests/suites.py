"""Suites for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pc2dae.suite import Channel, Family, Suite
from pc2dae.windows.scaling import Scaler

Channels = Mapping[str, str | Mapping[str, Any]]


def make_suite(families: Mapping[str, Channels], *, name: str = "test", **keys: Any) -> Suite:
    """A suite of {family: {channel: units}}; in place of its units a channel may have {key: value} of a suite file.

    >>> make_suite({"gas": {"co": "ppb", "no": {"units": "ppb", "noise_sigma": 8.0}}}).names
    ('co', 'no')
    """
    built = [
        Family(
            name=family,
            channel=tuple(
                Channel(name=channel, **({"units": about} if isinstance(about, str) else about))
                for channel, about in channels.items()
            ),
        )
        for family, channels in families.items()
    ]
    return Suite(name=name, family=tuple(built), **keys)


def scaler_of(suite: Suite, scale: float = 10.0) -> Scaler:
    """A scaler with the suite's bounds and one scale for all channels."""
    n = len(suite.names)
    bound = tuple(c.lower_bound for c in suite.channels)
    return Scaler(bound, (scale,) * n, (0.2,) * n, (20.0, 50.0, 950.0), (5.0, 10.0, 20.0))
