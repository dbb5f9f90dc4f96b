"""Bits flipped all over the shipped models and cards, and a thousand truncations of each: all are refused.

    python benchmarks/corruption.py

One bit of every byte is flipped; of wide, which is large, in every eighth. Exit code 1 if one was accepted.
"""

from __future__ import annotations

import random
from importlib.resources import files

from pc2dae.edge.card import parse_card
from pc2dae.edge.onnx_check import verify_onnx
from pc2dae.errors import ModelError
from pc2dae.registry import SHIPPED


def accepts(name: str, data: bytes) -> bool:
    """Whether a model or card is read."""
    try:
        verify_onnx(data, where=name) if name.endswith(".onnx") else parse_card(data, where=name)
    except ModelError:
        return False
    return True


def accepted(name: str, *, every: int = 1, cuts: int = 1000) -> tuple[int, int]:
    """Damaged copies of a shipped file that are read, of how many; `every`-th byte is flipped."""
    whole, chance = (files("pc2dae.weights") / name).read_bytes(), random.Random(0)
    assert accepts(name, whole)
    bad = tried = 0
    for at in range(0, len(whole), every):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << chance.randrange(8)
        bad, tried = bad + accepts(name, bytes(flipped)), tried + 1
    for _ in range(cuts):
        bad, tried = bad + accepts(name, whole[: chance.randrange(len(whole))]), tried + 1
    return bad, tried


def main() -> int:
    """Print each file's count."""
    total = 0
    for name in (f"{model}.{kind}" for model in SHIPPED for kind in ("onnx", "card.json")):
        bad, tried = accepted(name, every=8 if name == "wide.onnx" else 1)
        print(f"{name:26} {bad} of {tried:,} damaged copies accepted", flush=True)
        total += bad
    return int(total > 0)


if __name__ == "__main__":
    raise SystemExit(main())
