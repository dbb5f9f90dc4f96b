"""Networks trained for one suite, which see windows of 128 samples; with numpy and onnxruntime alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import HOP, LARGEST, LATENCY, LEAD, WINDOW, Estimate, Job, Network, emit
from pc2dae.edge.card import digest
from pc2dae.edge.engine import Engine, Progress, Stretch, in_sequence
from pc2dae.edge.lag import Lags
from pc2dae.edge.levels import Levels
from pc2dae.edge.onnx_check import card_of, verify_onnx
from pc2dae.errors import ModelError
from pc2dae.suite import Suite, parse_suite

if TYPE_CHECKING:
    import xarray as xr

_TRAIN = "use --model adaptive, which takes any suite, or train one with `pc2dae train`"
INPUTS = ("values", "valid", "environment", "noise")  # of a network; the paper's literal reading has no noise
_BATCH = 64  # windows per call: bounds memory


@dataclass
class WindowedDenoiser:
    """A network trained for the channels of one suite, run over a record by the emit rule."""

    name: str
    suite: Suite  # the channels it was trained for
    network: Network
    sha256: str = ""  # of the file it came from
    profile: str = "flight"
    needs_noise: bool = True
    progress: Progress | None = None
    latency_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.latency_s = LATENCY / self.suite.rate_hz

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The job for the channels of `suite`; channels of the network that `suite` leaves out enter as missing."""
        absent = [name for name in self.suite.names if name not in flight]
        if absent:
            raise ModelError(f"model '{self.name}' needs channel '{absent[0]}', which the flight lacks", hint=_TRAIN)
        engine = self.engine(suite)
        unknown = [name for name in suite.names if name not in engine.suite.names]
        if unknown:
            raise ModelError(f"model '{self.name}' was not trained for channel '{unknown[0]}'", hint=_TRAIN)
        return engine

    def engine(self, suite: Suite) -> WindowedEngine:
        """The network for those families of `suite` that it knows."""
        return WindowedEngine(self, matching(suite, self.suite, model=self.name))


class WindowedEngine(Engine):
    """A windowed network for some of its channels; the others enter as missing."""

    look_back, look_ahead, hop, before = LEAD, WINDOW - LEAD - HOP, HOP, LEAD

    def __init__(self, denoiser: WindowedDenoiser, suite: Suite) -> None:
        super().__init__(suite)
        self.denoiser = denoiser
        self.identity = denoiser.sha256 or denoiser.name
        self.needs_noise = denoiser.needs_noise
        self.rows = [denoiser.suite.names.index(name) for name in suite.names]
        self.lags = Lags(suite, {}, live=True)  # it estimates the reading

    def __call__(self, values: Floats, environment: Floats, valid: Mask) -> Estimate:
        """The estimate of a whole record."""
        seen = valid & (np.abs(np.nan_to_num(values, nan=np.inf)) < LARGEST)
        levels, new = Levels.unused(values.shape), seen
        if self.needs_noise:
            levels, new = self.levels(values, seen, self.denoiser.profile)
        record = Stretch(values, valid, new, levels, environment, slice(0, values.shape[1]))
        pieces = self.run_record(record, size=_BATCH * HOP, progress=self.denoiser.progress)
        return in_sequence([part for _, part in pieces])

    def run(self, stretch: Stretch) -> Estimate:
        """All windows of the stretch in one call."""
        shape = (len(self.denoiser.suite.names), stretch.values.shape[1])
        values, seen, noise = np.full(shape, np.nan, np.float32), np.zeros(shape, bool), np.full(shape, np.nan)
        with np.errstate(over="ignore"):  # beyond float32 is infinite, which the graph masks
            values[self.rows] = stretch.values
        seen[self.rows] = (stretch.new if self.needs_noise else stretch.seen) & np.isfinite(values[self.rows])
        noise[self.rows] = stretch.levels.sigma
        outputs = emit(self.masked_network, values, stretch.environment, seen, noise, stretch.wanted)
        value, *others = (output[self.rows].astype(np.float64) for output in outputs)
        return Estimate(value, others[0] if others else value)

    def masked_network(self, values: Floats, valid: Floats, environment: Floats, noise: Floats) -> tuple[Floats, ...]:
        """The network's outputs, NaN where a window has no sample of a channel."""
        outputs = self.denoiser.network(values, valid, environment, noise)
        nothing = ~valid.any(axis=-1, keepdims=True)
        return tuple(np.where(nothing, np.float32(np.nan), output) for output in outputs)


def denoiser_of(data: bytes, *, name: str, profile: str = "flight") -> WindowedDenoiser:
    """The denoiser in the bytes of an ONNX."""
    facts = verify_onnx(data, where=name)
    if facts.inputs not in (INPUTS, INPUTS[:3]) or facts.outputs[:1] != ("estimate",):
        raise ModelError(
            f"{name} has inputs {', '.join(facts.inputs)}, not {', '.join(INPUTS)}", hint="export it again"
        )
    suite = parse_suite(card_of(facts, where=name)["suite"], where=f"the suite of {name}")
    session = open_session(data, name=name)

    def network(*arrays: Floats) -> tuple[Floats, ...]:
        return tuple(session.run(None, dict(zip(facts.inputs, arrays, strict=False))))

    return WindowedDenoiser(name, suite, network, digest(data), profile, needs_noise="noise" in facts.inputs)


def open_session(data: bytes, *, name: str) -> Any:
    """An onnxruntime session of verified bytes: one thread, no console output."""
    import onnxruntime as ort  # commands without a network do not load it

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # more are slower at this size
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_mem_reuse = False  # planning it takes 2.5 s for 1,900 nodes of unknown shape, and saves no memory
    try:
        return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 (onnxruntime's errors have no common class)
        line = str(error).splitlines()[0][:120]
        raise ModelError(f"{name} cannot be run: {line}", hint="export it again with `pc2dae export`") from None


def matching(suite: Suite, trained: Suite, *, model: str) -> Suite:
    """The families of `suite` that a model was `trained` for; an error names what does not fit."""
    if suite.rate_hz != trained.rate_hz:
        raise ModelError(
            f"model '{model}' is for {trained.rate_hz:g} Hz, but the flight has {suite.rate_hz:g} Hz", hint=_TRAIN
        )
    kept = []
    for family in suite.family:
        known = [channel for channel in family.channel if channel.name in trained.names]
        for channel in known:
            for key in ("units", "lower_bound"):
                here, there = getattr(channel, key), getattr(trained[channel.name], key)
                if here != there:
                    raise ModelError(
                        f"model '{model}' was trained for '{channel.name}' with {key} {there}, not {here}", hint=_TRAIN
                    )
        if known and len(known) < len(family.channel):
            odd = next(channel.name for channel in family.channel if channel not in known)
            raise ModelError(f"model '{model}' was trained for family '{family.name}' without its '{odd}'", hint=_TRAIN)
        if known:
            kept.append(family.name)
    if not kept:
        shown = ", ".join(suite.names[:4])
        raise ModelError(
            f"model '{model}' was trained for {', '.join(trained.names[:4])}, …, not for {shown}", hint=_TRAIN
        )
    return suite.only(kept)
