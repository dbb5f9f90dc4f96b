"""Changes of a real record that must not change its default estimate, far from any cut.

Movements are in units of the reading's noise or, where it is larger, of the stated uncertainty: at the edges of plumes
much brighter than the noise nothing is known better than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from real_data import ABSENT, RECORDS, ROOT

import pc2dae
from pc2dae.flight.schema import new_flight, observed, suite_of
from pc2dae.noise import noise_level
from pc2dae.qc import screen
from pc2dae.response.payload import ChannelResponse, with_response
from pc2dae.suite import Channel, Family, Suite

Values = dict[str, NDArray[np.float64]]
START = np.datetime64("2024-04-08T17:00:00", "ns")
CUT, FAR = 60, 120  # samples
EVERY = slice(None)
EXAMPLE = ROOT / "examples" / "kolibri.toml"
CHOSEN = ("kolibri/1D", "kolibri/K20A", "dryseason_23", "AE51", "smoke1", "stove")


@dataclass(frozen=True)
class Case:
    """A record as plain arrays, and its default estimate."""

    values: Values
    suite: Suite
    clean: xr.Dataset

    def unit(self, name: str) -> NDArray[np.float64]:
        """Noise of the reading or stated uncertainty, whichever is larger."""
        x = self.values[name][None]
        noise = float(noise_level(x, np.isfinite(x)).sigma[0])
        return np.fmax(noise, self.clean[f"{name}_uncertainty"].values)


def denoised(values: Values, suite: Suite) -> xr.Dataset:
    """The default estimate of plain arrays."""
    steps = np.round(np.arange(len(next(iter(values.values())))) * 1e9 / suite.rate_hz)
    flight = screen(new_flight(START + steps.astype("m8[ns]"), values, suite))
    return pc2dae.denoise(flight, keep=tuple(family.name for family in suite.family))


@pytest.fixture(scope="module", params=CHOSEN)
def case(request: pytest.FixtureRequest) -> Case:
    """Channels of a record with at least 100 samples; CO is known to take 12.4 s where it is the Kolibri's."""
    record = next(r for r in RECORDS if request.param in r.id)
    if not record.source.is_file():
        pytest.skip(ABSENT)
    suite_file = EXAMPLE if "kolibri" in request.param else record.suite_path
    flight = pc2dae.open_flight(record.source, suite=suite_file, zone=record.zone)
    flight = flight.isel(time=slice(0, 3000))
    suite = suite_of(flight)
    if "kolibri" in request.param:
        suite = with_response(suite, {"co": ChannelResponse(t90_s=12.4, t90_uncertainty_s=1.0, source="falls")})
    names = [n for n in suite.names if observed(flight, n).sum() > 100 and suite[n].difference_of is None]
    families = [
        family.model_copy(update={"channel": tuple(c for c in family.channel if c.name in names)})
        for family in suite.family
    ]
    plain = Suite(name="plain", rate_hz=suite.rate_hz, family=tuple(f for f in families if f.channel))
    values = {n: np.where(observed(flight, n), flight[n].values.astype(np.float64), np.nan) for n in plain.names}
    return Case(values, plain, denoised(values, plain))


def first_minute_cut(case: Case) -> tuple[xr.Dataset, slice, slice, float]:
    clean = denoised({n: x[CUT:] for n, x in case.values.items()}, case.suite)
    return clean, slice(CUT + FAR, None), slice(FAR, None), 0.0


def last_minute_cut(case: Case) -> tuple[xr.Dataset, slice, slice, float]:
    clean = denoised({n: x[:-CUT] for n, x in case.values.items()}, case.suite)
    return clean, slice(0, -CUT - FAR), slice(0, -FAR), 0.0


def at_twice_the_rate(case: Case) -> tuple[xr.Dataset, slice, slice, float]:
    twice = case.suite.model_copy(update={"rate_hz": 2 * case.suite.rate_hz})
    return denoised({n: x.repeat(2) for n, x in case.values.items()}, twice), EVERY, slice(None, None, 2), 0.0


def with_unrelated_plumes(case: Case) -> tuple[xr.Dataset, slice, slice, float]:
    rng = np.random.default_rng(0)
    rows = len(next(iter(case.values.values())))
    other = 50 + rng.normal(0, 1, rows)
    for start in rng.integers(50, rows - 50, 15):
        other[start : start + rng.integers(3, 30)] += rng.gamma(2, 50)
    family = Family(name="unrelated", channel=(Channel(name="unrelated", units="1"),))
    suite = case.suite.model_copy(update={"family": (*case.suite.family, family)})
    return denoised(case.values | {"unrelated": other}, suite), EVERY, EVERY, 0.0


def with_a_constant_added(case: Case) -> tuple[xr.Dataset, slice, slice, float]:
    moved = 1000.0
    families = tuple(
        family.model_copy(
            update={
                "channel": tuple(
                    c.model_copy(update={"lower_bound": c.lower_bound + moved, "valid_min": None, "valid_max": None,
                                         "detection_limit": None}) for c in family.channel
                )
            }
        )
        for family in case.suite.family
    )  # fmt: skip
    suite = case.suite.model_copy(update={"family": families})
    return denoised({n: x + moved for n, x in case.values.items()}, suite), EVERY, EVERY, moved


Law = Callable[[Case], tuple[xr.Dataset, slice, slice, float]]
LAWS: dict[Law, float] = {
    first_minute_cut: 1.0,
    last_minute_cut: 1.0,
    at_twice_the_rate: 1.0,
    with_unrelated_plumes: 1.5,  # as in tests/edge/test_laws.py
    with_a_constant_added: 0.1,
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_what_must_not_matter_hardly_does(
    case: Case, law: Callable[..., tuple[xr.Dataset, slice, slice, float]]
) -> None:
    changed, there, here, moved = law(case)
    largest = {}
    for name in case.suite.names:
        if f"{name}_unbounded" not in case.clean:
            continue
        seen = np.isfinite(case.values[name][there])
        before, after = case.clean[f"{name}_unbounded"].values[there], changed[f"{name}_unbounded"].values[here] - moved
        largest[name] = float(np.nanmax((np.abs(after - before) / case.unit(name)[there])[seen], initial=0.0))
    print(law.__name__, {name: round(x, 2) for name, x in largest.items()})
    assert max(largest.values()) <= LAWS[law]
