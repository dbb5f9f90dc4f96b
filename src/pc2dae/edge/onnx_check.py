"""Checks of model files before they are opened: size, type, digest, then content.

An exported ONNX ends in a seal, a metadata entry with the SHA-256 of all preceding bytes, so that the file can be
checked on its own: without it, 73 % of flipped bits would go undetected. The seal detects damage, not forgery.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pc2dae.edge.card import Card, check_digest, digest, parse_card
from pc2dae.edge.protobuf import Malformed, fields, varints
from pc2dae.errors import ModelError

SIZE_LIMIT = 5_000_000  # bytes; ours have less than 1 MB
_DOMAINS = (b"", b"ai.onnx")  # the standard operators
_SEAL_KEY = b"pc2dae_seal"
_SEAL_HEAD = b"\x72\x4f\x0a\x0b" + _SEAL_KEY + b"\x12\x40"  # metadata_props {key, 64 characters of value}
_DEEPEST = 16  # graphs within graphs

# Field numbers of onnx.proto.
_GRAPH, _OPSET, _METADATA, _FUNCTIONS = 7, 8, 14, 25
_OPSET_DOMAIN = 1
_NODE, _INITIALIZER, _SPARSE_INITIALIZER, _INPUT, _OUTPUT = 1, 5, 15, 11, 12
_ATTRIBUTE, _NODE_DOMAIN = 5, 7
_TENSORS, _GRAPHS, _SPARSE_TENSORS = (5, 10), (6, 11), (22, 23)
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14
_DATA_TYPE, _FLOAT_DATA, _INT32_DATA, _RAW_DATA, _DOUBLE_DATA = 2, 4, 5, 9, 10
# Data type of a tensor → integers of the same size, and the exponent bits, which are all set only in infinity and NaN.
_FLOATS = {1: ("<u4", 0x7F80_0000), 10: ("<u2", 0x7C00), 11: ("<u8", 0x7FF0 << 48), 16: ("<u2", 0x7F80)}


@dataclass(frozen=True)
class Facts:
    """Metadata, inputs and outputs of an ONNX file."""

    metadata: dict[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def read_limited(path: Path) -> bytes:
    """The bytes of a model file, unless it is too large."""
    try:
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            raise ModelError(f"{path.name} is {size / 1e6:.1f} MB; a model may be at most {SIZE_LIMIT / 1e6:.0f} MB",
                             hint="is it a pc2dae model?")  # fmt: skip
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", hint="check the path of the model") from None


def read_onnx(path: Path, *, sha256: str | None = None) -> tuple[bytes, Facts]:
    """The bytes of an ONNX file that is complete and contains only standard operators and its own data.

    They must match `sha256`, and the card beside the file (`model.card.json`) where there is one.
    """
    data = read_limited(path)
    card_path = path.with_suffix(".card.json")
    if card_path.exists():
        card = parse_card(read_limited(card_path), where=card_path.name)
        check_digest(data, card["sha256"].get("onnx"), where=path.name)
    if sha256 is not None:
        check_digest(data, sha256, where=f"{path.parent.name}/{path.name}")
    return data, verify_onnx(data, where=path.name)


def verify_onnx(data: bytes, *, where: str) -> Facts:
    """Refuse an ONNX that is damaged, refers to other files or has non-finite weights; `where` names it."""
    if len(data) > SIZE_LIMIT:
        raise ModelError(f"{where} is {len(data) / 1e6:.1f} MB; a model may be at most {SIZE_LIMIT / 1e6:.0f} MB")
    if data[:2] in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        raise ModelError(
            f"{where} is a pickle, which can execute any code when opened", hint="export it with `pc2dae export`"
        )
    if not is_sealed(data):
        raise ModelError(f"{where} is damaged, truncated or not a pc2dae model", hint="export it with `pc2dae export`")
    return inspect(data, where=where)


def seal(data: bytes) -> bytes:
    """`data` of an ONNX with the seal at its end."""
    return data + _SEAL_HEAD + digest(data).encode()


def is_sealed(data: bytes) -> bool:
    """Whether `data` ends in the seal of all bytes before it."""
    body, head, value = data[: -len(_SEAL_HEAD) - 64], data[-len(_SEAL_HEAD) - 64 : -64], data[-64:]
    return head == _SEAL_HEAD and digest(body).encode() == value


def inspect(data: bytes, *, where: str) -> Facts:
    """Facts about an ONNX; external data, non-standard operators, own functions and NaN are refused."""
    metadata: dict[str, str] = {}
    inputs: list[str] = []
    outputs: list[str] = []
    try:
        for number, value in fields(memoryview(data)):
            if number == _FUNCTIONS:
                raise ModelError(f"{where} defines its own functions", hint="export it with `pc2dae export`")
            if number == _METADATA:
                entry = {n: bytes(_bytes(v)).decode() for n, v in fields(_bytes(value))}
                metadata[entry[1]] = entry[2]
            elif number == _OPSET:
                _check_domain(next((v for n, v in fields(_bytes(value)) if n == _OPSET_DOMAIN), memoryview(b"")), where)
            elif number == _GRAPH:
                _check_graph(_bytes(value), where, depth=0)
                for n, v in fields(_bytes(value)):
                    if n in (_INPUT, _OUTPUT):
                        name = next(bytes(_bytes(w)).decode() for m, w in fields(_bytes(v)) if m == 1)
                        (inputs if n == _INPUT else outputs).append(name)
    except (Malformed, KeyError, UnicodeDecodeError, StopIteration):
        raise ModelError(f"{where} is not an ONNX file", hint="export it with `pc2dae export`") from None
    return Facts(metadata, tuple(inputs), tuple(outputs))


def card_of(facts: Facts, *, where: str) -> Card:
    """The card embedded in an ONNX."""
    if "card" not in facts.metadata:
        raise ModelError(f"{where} contains no model card", hint="export it with `pc2dae export`")
    return parse_card(facts.metadata["card"].encode(), where=f"the card in {where}")


def _check_graph(graph: memoryview, where: str, *, depth: int) -> None:
    if depth > _DEEPEST:
        raise Malformed
    for number, value in fields(graph):
        if number == _INITIALIZER:
            _check_tensor(_bytes(value), where)
        elif number == _SPARSE_INITIALIZER:
            _check_sparse(_bytes(value), where)
        elif number == _NODE:
            _check_node(_bytes(value), where, depth=depth)


def _check_node(node: memoryview, where: str, *, depth: int) -> None:
    for number, value in fields(node):
        if number == _NODE_DOMAIN:
            _check_domain(value, where)
        elif number == _ATTRIBUTE:
            for n, v in fields(_bytes(value)):
                if n in _TENSORS:
                    _check_tensor(_bytes(v), where)
                elif n in _SPARSE_TENSORS:
                    _check_sparse(_bytes(v), where)
                elif n in _GRAPHS:
                    _check_graph(_bytes(v), where, depth=depth + 1)


def _check_sparse(sparse: memoryview, where: str) -> None:
    for number, value in fields(sparse):
        if number in (1, 2):  # values, indices
            _check_tensor(_bytes(value), where)


def _check_tensor(tensor: memoryview, where: str) -> None:
    parts = list(fields(tensor))
    for number, value in parts:
        if number == _EXTERNAL_DATA or (number == _DATA_LOCATION and value != 0):
            raise ModelError(f"{where} stores data in another file", hint="export it with `pc2dae export`")
    kind = next((value for number, value in parts if number == _DATA_TYPE), 0)
    if isinstance(kind, int) and kind in _FLOATS:
        bits, exponent = _FLOATS[kind]
        for number, value in parts:
            if number in (_FLOAT_DATA, _RAW_DATA, _DOUBLE_DATA):
                _check_finite(_bytes(value), bits, exponent, where)
            elif number == _INT32_DATA:  # 16-bit floats, one to an integer
                words = [value] if isinstance(value, int) else list(varints(value))
                _check_finite(memoryview(np.array(words, np.uint64).astype(bits).tobytes()), bits, exponent, where)


def _check_finite(data: memoryview, bits: str, exponent: int, where: str) -> None:
    if len(data) % np.dtype(bits).itemsize:
        raise Malformed
    if ((np.frombuffer(data, bits) & np.array(exponent, bits)) == np.array(exponent, bits)).any():
        raise ModelError(
            f"{where} has weights that are NaN or infinite", hint="its training diverged: train and export it again"
        )


def _check_domain(domain: int | memoryview, where: str) -> None:
    if bytes(_bytes(domain)) not in _DOMAINS:
        shown = bytes(_bytes(domain))[:40].decode(errors="replace")
        raise ModelError(f"{where} uses non-standard operators ('{shown}')", hint="export it with `pc2dae export`")


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise Malformed
    return value
