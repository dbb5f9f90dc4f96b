"""An adaptive network as two graphs for a stream: one that begins a record, and one that continues it.

Along time the network only slides. A sum over a window starts with a `Pad` of its series, and a convolution pads it
itself: in the graph that continues, the p columns of padding are those of the run before, and both graphs return them
for the next run:
    begins: joined = pad(x),   continues: joined = concat(past, x),   past' = joined[n : n + p],
where the next block of columns starts n later. All operators, their order and the weights are those of the file, and
onnxruntime fuses them alike in both graphs, so a stream gives what the whole record gives.
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
_INT, _INTS = 2, 7  # types of attributes


class StepGraphs(NamedTuple):
    """Both graphs; outputs of the first after those of the file are inputs of the second, in the same order."""

    begins: bytes
    continues: bytes
    state: tuple[str, ...]  # names of these inputs
    scale: int  # which of them is the scale (1, channel, 1)


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

    def take(self, node: _Node) -> None:
        """Copy a node, or replace it where it depends on earlier columns."""
        if node.kind == "Pad" and self._known(node)[len(self._known(node)) // 2 - 1]:
            self._slide(node)
        elif node.kind == "Conv" and any(_integers(node, "pads")[1:2]):
            self._convolve(node)
        elif node.kind == "ReduceMax" and self._known(node).tolist() == [-1]:
            self.scale = len(self.state)
            self.state.append(node.outputs[0])
            self.next.append(f"{node.outputs[0]}_next")
            if not self.continues:
                self.nodes.append(node)
            self._add("Identity", self.next[-1], node.outputs[0])
        else:
            self.nodes.append(node)

    def _known(self, node: _Node) -> Array:
        """The second input of a node, a constant."""
        values = self.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
        if values is None or not len(values):
            raise Malformed
        return values

    def _slide(self, node: _Node) -> None:
        """A series with what comes before it, padded on the right as in the file."""
        pads, series, joined = self._known(node).tolist(), node.inputs[0], node.outputs[0]
        if self.continues and pads[-1]:
            right = self._constant(*[0] * (len(pads) - 1), pads[-1])
            series = f"{joined}_right"
            self.nodes.append(node._replace(inputs=(node.inputs[0], right, *node.inputs[2:]), outputs=(series,)))
        self._join(node, series, pads[len(pads) // 2 - 1], rank=len(pads) // 2)

    def _convolve(self, node: _Node) -> None:
        """A convolution of a series with what comes before it."""
        (series, *weights), (top, left, bottom, right) = node.inputs, _integers(node, "pads")
        joined = f"{node.outputs[0]}_joined"
        pad = _Node((series, self._constant(0, 0, 0, left, 0, 0, 0, 0)), (joined,), "Pad")
        self._join(pad, series, left, rank=4)
        others = [each for each in node.attributes if _name(each) != "pads"]
        pads = field(1, "pads") + b"".join(field(8, n) for n in (top, 0, bottom, right)) + field(20, _INTS)
        self.nodes.append(node._replace(inputs=(joined, *weights), attributes=(*others, pads)))

    def _join(self, pad: _Node, series: str, columns: int, *, rank: int) -> None:
        """A series with `columns` before it, those of `pad` or of the run before, and its state after this run."""
        joined, past = pad.outputs[0], f"{pad.outputs[0]}_past"
        along = field(1, "axis") + field(3, rank - 1) + field(20, _INT)
        self.nodes.append(_Node((past, series), (joined,), "Concat", (along,)) if self.continues else pad)
        end = self._add("Add", f"{joined}_end", SKIP, self._constant(columns))
        self.next.append(self._add("Slice", f"{past}_next", joined, SKIP, end, self._constant(rank - 1)))
        self.state.append(past)

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
    return StepGraphs(found[0], found[1], tuple(rewriter.state), rewriter.scale)


def _integers_of(tensor: memoryview) -> tuple[str, Array]:
    """Name and values of a constant; only those of integers are used."""
    parts = dict(fields(tensor))
    raw = bytes(_message(parts.get(9, memoryview(b"")))) if parts[2] == _INT64 else b""
    return bytes(_message(parts[8])).decode(), np.frombuffer(raw, "<i8")


def _integers(node: _Node, name: str) -> list[int]:
    """The integers of an attribute, none if there is no such attribute."""
    found: list[int] = []
    for attribute in node.attributes:
        if _name(attribute) == name:
            for number, value in fields(memoryview(attribute)):
                if number == 8:
                    found += [value] if isinstance(value, int) else varints(value)
    return found


def _name(attribute: bytes) -> str:
    return bytes(_message(dict(fields(memoryview(attribute)))[1])).decode()


def _described(name: str, kind: int) -> bytes:
    """An input or output of this type and any shape."""
    return field(1, name) + field(2, field(1, field(1, kind)))


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise Malformed
    return value
