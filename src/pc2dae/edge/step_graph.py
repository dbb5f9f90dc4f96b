"""An adaptive network as two graphs for a stream: one that begins a record, and one that continues it.

Along time the network only slides. A sum over a window starts with a `Pad` of its series: in the graph that continues,
the p columns of padding are those of the run before, and both graphs return them for the next run:
    begins: joined = pad(x),   continues: joined = concat(past, x[w:]),   past' = joined[n : n + p + w],
where the next block of columns starts n later. Convolutions have a short reach and stay as they are, which onnxruntime
fuses: without the columns before, the first w of a block are not valid behind them, and the past holds these as well.
All operators, their order and the weights are those of the file, so a stream gives what the whole record gives.
The scale of a channel is a maximum over time, which the first graph returns and the second one takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pc2dae.arrays import Array
from pc2dae.edge.protobuf import Malformed, field, fields, varints

SKIP = "columns_until_next"  # the input n
_GRAPH, _METADATA = 7, 14
_NODE, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO = 1, 5, 11, 12, 13
_FLOAT, _INT64 = 1, 7
_INT = 2  # type of an attribute
_END = np.iinfo(np.int64).max


class StepGraphs(NamedTuple):
    """Both graphs; outputs of the first after those of the file are inputs of the second, in the same order."""

    begins: bytes
    continues: bytes
    state: tuple[str, ...]  # names of these inputs
    scale: int  # which of them is the scale (1, channel, 1)
    invalid: int  # columns at the start of a block whose estimates are not valid


class _Node(NamedTuple):
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kind: str
    attributes: tuple[bytes, ...] = ()

    @classmethod
    def read(cls, data: memoryview) -> _Node:
        parts: dict[int, list[bytes]] = {1: [], 2: [], 4: [], 5: []}
        for number, value in fields(data):
            if number in parts:
                parts[number].append(bytes(_message(value)))
        inputs, outputs = (tuple(name.decode() for name in parts[n]) for n in (1, 2))
        return cls(inputs, outputs, parts[4][0].decode(), tuple(parts[5]))

    def written(self) -> bytes:
        names = [field(1, name) for name in self.inputs] + [field(2, name) for name in self.outputs]
        return b"".join([*names, field(4, self.kind), *(field(5, each) for each in self.attributes)])


@dataclass
class _Rewriter:
    """Nodes, constants and state of a graph that begins or continues."""

    constants: dict[str, Array]
    continues: bool

    def __post_init__(self) -> None:
        self.nodes: list[_Node] = []
        self.added: dict[str, bytes] = {}
        self.state: list[str] = []
        self.next: list[str] = []
        self.scale = 0
        self.invalid: dict[str, int] = {}  # columns at the start of a series

    def take(self, node: _Node) -> None:
        """Copy a node, or replace it where it depends on earlier columns."""
        invalid = max((self.invalid.get(name, 0) for name in node.inputs), default=0)
        if node.kind == "Pad" and self._columns(node):
            self._slide(node, invalid)
            return
        if node.kind == "ReduceMax" and self._known(node).tolist() == [-1]:
            self.scale = len(self.state)
            self.state.append(node.outputs[0])
            self.next.append(f"{node.outputs[0]}_next")
            if not self.continues:
                self.nodes.append(node)
            self._add("Identity", self.next[-1], node.outputs[0])
            return
        if node.kind == "Conv":
            invalid += next(iter(_integers(node, "pads")[1:2]), 0)
        self.nodes.append(node)
        self.invalid |= dict.fromkeys(node.outputs, invalid)

    def _columns(self, node: _Node) -> int:
        """Columns by which a series is padded on the left."""
        pads = self._known(node)
        return int(pads[len(pads) // 2 - 1])

    def _known(self, node: _Node) -> Array:
        """The second input of a node, a constant."""
        values = self.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
        if values is None or not len(values):
            raise Malformed
        return values

    def _slide(self, node: _Node, invalid: int) -> None:
        """A series with what comes before it, and its state after the run."""
        rank, joined = len(self._known(node)) // 2, node.outputs[0]
        past = f"{joined}_past"
        if self.continues:
            series = self._valid_part(node, invalid)
            along = field(1, "axis") + field(3, rank - 1) + field(20, _INT)
            self.nodes.append(_Node((past, series), (joined,), "Concat", (along,)))
        else:
            self.nodes.append(node)
        end = self._add("Add", f"{joined}_end", SKIP, self._constant(self._columns(node) + invalid))
        self.next.append(self._add("Slice", f"{past}_next", joined, SKIP, end, self._constant(rank - 1)))
        self.state.append(past)

    def _valid_part(self, node: _Node, invalid: int) -> str:
        """The series of a `Pad` from its first valid column on, padded on the right as in the file."""
        pads, series, name = self._known(node), node.inputs[0], node.outputs[0]
        if invalid:
            first, end, axis = (self._constant(n) for n in (invalid, _END, len(pads) // 2 - 1))
            series = self._add("Slice", f"{name}_valid", series, first, end, axis)
        if not pads[-1]:
            return series
        right = self._constant(*[0] * (len(pads) - 1), int(pads[-1]))
        self.nodes.append(node._replace(inputs=(series, right, *node.inputs[2:]), outputs=(f"{name}_right",)))
        return f"{name}_right"

    def _add(self, kind: str, output: str, *inputs: str) -> str:
        self.nodes.append(_Node(inputs, (output,), kind))
        return output

    def _constant(self, *values: int) -> str:
        """The name of a list of integers."""
        name = "step_" + "_".join(map(str, values))
        raw = np.array(values, "<i8").tobytes()
        self.added[name] = field(1, len(values)) + field(2, _INT64) + field(8, name) + field(9, raw)
        return name

    def parts(self) -> list[bytes]:
        """All fields that this graph adds to what it keeps of the file."""
        inputs = [(SKIP, _INT64)] + [(name, _FLOAT) for name in self.state if self.continues]
        return [
            *(field(_NODE, node.written()) for node in self.nodes),
            *(field(_INITIALIZER, value) for value in self.added.values()),
            *(field(_INPUT, _described(name, kind)) for name, kind in inputs),
            *(field(_OUTPUT, _described(name, _FLOAT)) for name in self.next),
        ]


def step_graphs(data: bytes) -> StepGraphs:
    """Both graphs, from the verified bytes of an adaptive ONNX; `Malformed` if it has another form than exported."""
    model = [(number, value) for number, value in fields(memoryview(data)) if number != _METADATA]
    graph = list(fields(_message(next(value for number, value in model if number == _GRAPH))))
    constants = dict(_integers_of(_message(value)) for number, value in graph if number == _INITIALIZER)
    kept = [field(number, value) for number, value in graph if number not in (_NODE, _VALUE_INFO)]
    found = []
    for continues in (False, True):
        rewriter = _Rewriter(constants, continues)
        for number, value in graph:
            if number == _NODE:
                rewriter.take(_Node.read(_message(value)))
        changed = b"".join([*kept, *rewriter.parts()])
        found.append(b"".join(field(number, changed if number == _GRAPH else value) for number, value in model))
    return StepGraphs(found[0], found[1], tuple(rewriter.state), rewriter.scale, max(rewriter.invalid.values()))


def _integers_of(tensor: memoryview) -> tuple[str, Array]:
    """Name and values of a constant; only those of integers are used."""
    parts = dict(fields(tensor))
    raw = bytes(_message(parts.get(9, memoryview(b"")))) if parts[2] == _INT64 else b""
    return bytes(_message(parts[8])).decode(), np.frombuffer(raw, "<i8")


def _integers(node: _Node, name: str) -> list[int]:
    """The integers of an attribute, none if there is no such attribute."""
    found: list[int] = []
    for attribute in node.attributes:
        parts = list(fields(memoryview(attribute)))
        if any(number == 1 and bytes(_message(value)).decode() == name for number, value in parts):
            for number, value in parts:
                if number == 8:
                    found += [value] if isinstance(value, int) else varints(value)
    return found


def _described(name: str, kind: int) -> bytes:
    """An input or output of this type and any shape."""
    return field(1, name) + field(2, field(1, field(1, kind)))


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise Malformed
    return value
