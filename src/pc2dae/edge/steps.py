"""A live network that advances with its stream: each run computes the new samples, not the whole look-back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import LARGEST, RANGE, Estimate
from pc2dae.edge.clusters import Clusters, apart, chosen_at, rejoined
from pc2dae.edge.engine import Runs, Stretch, in_sequence
from pc2dae.edge.lag import LagFree
from pc2dae.edge.levels import Levels
from pc2dae.edge.origin import known_from_later, origin_of
from pc2dae.edge.runtime import open_session
from pc2dae.edge.step_graph import SKIP, step_graphs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pc2dae.edge.adaptive import AdaptiveEngine

BLOCK = 8  # columns at least per run: full vectors, with which results are rounded as those of a flight
FARTHEST = 12  # look-ahead [samples] for which a block is still short
_SCALES = 64.0  # times the scale of a channel up to which squares do not overflow …
_FAINT = 1e-4  # … and below which its noise would lose digits


class SteppedNetwork:
    """A network for whole stretches that can also continue from the state that a run has left."""

    def __init__(self, data: bytes, inputs: tuple[str, ...], *, name: str) -> None:
        self.inputs, self.name, self.graphs = inputs, name, step_graphs(data)
        self.begins = open_session(self.graphs.begins, name=name)

    @cached_property
    def continues(self) -> Any:
        """The session of the graph that continues: a whole record does not need it."""
        return open_session(self.graphs.continues, name=self.name)

    def __call__(self, *arrays: Floats) -> tuple[Floats, ...]:
        """Estimate, estimate before the bound, uncertainty."""
        return tuple(self.begin(arrays, 0)[:3])

    def begin(self, arrays: Sequence[Floats], skip: int) -> list[Floats]:
        """The three outputs, and the state for a block that starts `skip` columns later."""
        found: list[Floats] = self.begins.run(None, self._feed(arrays, skip))
        return found

    def step(self, arrays: Sequence[Floats], skip: int, state: list[Floats]) -> list[Floats]:
        """The same from the state before."""
        found: list[Floats] = self.continues.run(
            None, self._feed(arrays, skip) | dict(zip(self.graphs.state, state, strict=True))
        )
        return found

    def _feed(self, arrays: Sequence[Floats], skip: int) -> dict[str, Any]:
        return dict(zip(self.inputs, arrays, strict=True)) | {SKIP: np.array([skip])}


@dataclass(frozen=True)
class _State:
    """What a run leaves for the next one, whose block starts at sample `start` of the stream."""

    start: int
    networks: list[list[Floats]]  # of each cluster
    clusters: Clusters
    origin: Floats  # (channel, 1)
    sigma: Floats  # (channel,): the last noise level
    is_unknown: Mask  # (channel,): whether that was assumed
    last: Floats  # (channel,): the last new sample before `start`


class Steps(Runs):
    """Runs that continue from each other; a block starts `lead` columns before the wanted ones, to be full."""

    engine: AdaptiveEngine

    def __init__(self, engine: AdaptiveEngine, network: SteppedNetwork) -> None:
        super().__init__(engine)
        self.network = network
        self.lead = max(BLOCK - 1 - engine.denoiser.look_ahead, 0)
        self.state: _State | None = None
        self.clusters: Clusters = ()
        self.chosen = -1  # sample before which these were chosen

    def forget(self, sample: int) -> None:
        """Start again from the look-back if the state depends on samples from this one on."""
        if self.state is not None and sample <= self.state.start + self.engine.look_ahead:
            self.state = None

    def __call__(self, stretch: Stretch) -> Estimate:
        """Estimates of the wanted samples of a stretch."""
        parts = self.engine.parts(stretch)
        if len(parts) > 1:
            return in_sequence([self(part) for part in parts])
        start = stretch.first + stretch.wanted.start
        if self.chosen != chosen_at(start):
            self.chosen, self.clusters = chosen_at(start), self.engine.clusters(stretch)
        origin = origin_of(stretch.values, stretch.new, _lowest(stretch.levels.sigma), self.engine.bound)
        state = self.state
        if state is not None:
            is_next = state.start == start - self.lead and state.clusters == self.clusters
            found = self._run(stretch, origin, state) if is_next and np.array_equal(state.origin, origin) else None
            if found is not None:
                return found
        self.state = None
        found = self._run(stretch, origin, None)
        assert found is not None  # nosec B101  # for the type checker
        return found

    def _run(self, stretch: Stretch, origin: Floats, state: _State | None) -> Estimate | None:
        """Run the network on a block, which starts at `state`, else with the stretch; None if the state is unfit."""
        engine, start = self.engine, stretch.first + stretch.wanted.start
        count = stretch.wanted.stop - stretch.wanted.start
        lead = stretch.wanted.start if state is None else self.lead  # columns of the block before the wanted ones
        age = np.full(len(stretch.new), np.inf) if state is None else start - lead - state.last
        new, levels, free = self._in_step(stretch, lead, age)
        wanted, skip = slice(lead, lead + count), count + lead - self.lead
        last, nothing = self._observed(new, start - lead, wanted, state)
        if nothing.all():
            self.state, unknown = None, np.full(nothing.shape, np.nan)
            return Estimate(unknown, unknown, unknown)
        sigma = known_from_later(levels.sigma)
        if state is not None:
            is_silent = np.isnan(levels.sigma).all(axis=1)
            sigma[is_silent] = state.sigma[is_silent, None]
            if (state.is_unknown & ~is_silent).any():
                return None
        inputs = engine.inputs(free, new, levels, sigma, origin, np.asarray(stretch.new.any(axis=1)))
        found = self._outputs(inputs, skip, state)
        if found is None:
            return None
        if skip >= 0:
            is_unknown, networks = np.isnan(levels.sigma[:, -1]), [outputs[3:] for outputs in found]
            self.state = _State(
                start + skip - lead, networks, self.clusters, origin, sigma[:, -1], is_unknown, last[:, skip]
            )
        outputs = rejoined(self.clusters, [outputs[:3] for outputs in found])
        return engine.estimate(outputs, wanted, nothing, origin, free, levels)

    def _outputs(self, inputs: list[Floats], skip: int, state: _State | None) -> list[list[Floats]] | None:
        """What the network returns for each cluster; None if the state is unfit."""
        each = [apart(inputs, rows) for rows in self.clusters]
        if state is None:
            return [self.network.begin(part, max(skip, 0)) for part in each]
        if not all(self._is_fit(part, network) for part, network in zip(each, state.networks, strict=True)):
            return None
        return [self.network.step(part, skip, network) for part, network in zip(each, state.networks, strict=True)]

    def _in_step(self, stretch: Stretch, lead: int, age: Floats) -> tuple[Mask, Levels, LagFree]:
        """New samples, levels and values of the block, in step with the air and without lag.

        `age` (channel,) is that of the last new sample when the block starts.
        """
        lags, wanted = self.engine.lags, stretch.wanted
        back, ahead = lags.look_back_from(age), self.engine.look_ahead
        part = stretch.part(wanted.start - lead, wanted.stop, back=back, ahead=ahead)
        values, new, levels = lags.all_in_step(part.values, part.new, part.levels)
        free, block = lags.undo(values, new, levels.lag1), slice(part.wanted.start, None)
        return new[:, block], levels.each(lambda x: x[:, block]), LagFree(*(x[:, block] for x in free))

    def _observed(self, new: Mask, first: int, wanted: slice, state: _State | None) -> tuple[Floats, Mask]:
        """The last new sample before each column, and which wanted ones have none that they could be made from."""
        number = first + np.arange(new.shape[1], dtype=np.float64)
        before = np.full(len(new), -np.inf) if state is None else state.last
        last = np.maximum.accumulate(np.column_stack([before, np.where(new, number, -np.inf)]), axis=1)
        until = np.minimum(np.arange(wanted.start, wanted.stop) + self.engine.after, new.shape[1] - 1)
        return last, last[:, until + 1] < number[wanted] - self.engine.before

    def _is_fit(self, inputs: list[Floats], state: list[Floats]) -> bool:
        """Whether float32 suffices for these inputs at the scale that the state has."""
        scale, sigma = state[self.network.graphs.scale], inputs[2]
        size = np.where((inputs[1] > 0) & (np.abs(inputs[0]) < LARGEST), np.abs(inputs[0]), 0.0)
        largest = np.maximum(sigma, RANGE * size).max(axis=-1, keepdims=True)
        return bool(((largest <= _SCALES * scale) & (sigma.max(axis=-1, keepdims=True) >= _FAINT * scale)).all())


def _lowest(sigma: Floats) -> Floats:
    """The lowest known noise level of each channel, else 1."""
    lowest = np.fmin.reduce(sigma, axis=1)
    return np.asarray(np.where(np.isfinite(lowest), lowest, 1.0))
