"""A minimal reader of protocol buffers, to inspect ONNX files before any library opens them."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Malformed(ValueError):
    """The bytes are not a protocol buffer."""


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Each field of a message: its number, and an integer or the bytes it holds."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        size, at = _varint(data, at) if kind == BYTES else ({FIXED64: 8, FIXED32: 4}.get(kind, -1), at)
        if number == 0 or size < 0 or at + size > len(data):
            raise Malformed
        yield number, data[at : at + size]
        at += size


def varints(data: memoryview) -> Iterator[int]:
    """The integers of a packed field."""
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Malformed
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise Malformed


def field(number: int, value: int | str | bytes | memoryview) -> bytes:
    """One field of a message, as it is written: an integer, or bytes (text, message, packed numbers)."""
    if isinstance(value, int):
        return _written(number << 3 | VARINT) + _written(value)
    held = value.encode() if isinstance(value, str) else bytes(value)
    return _written(number << 3 | BYTES) + _written(len(held)) + held


def _written(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number takes ten bytes
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
