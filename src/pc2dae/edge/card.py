"""The model card: description, training data, and the digests of the model's files."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pc2dae.errors import ModelError

Card = dict[str, Any]


def digest(data: bytes) -> str:
    """SHA-256 as hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def render_card(card: Card) -> bytes:
    """The canonical JSON of a card, with its own digest in `sha256.card`."""
    signed = card | {"sha256": dict(card.get("sha256", {})) | {"card": ""}}
    signed["sha256"]["card"] = digest(_canonical(signed))
    return _canonical(signed)


def parse_card(data: bytes, *, where: str) -> Card:
    """Parse a card; raise an error if its digest does not match."""
    try:
        card: Card = json.loads(data)
        intact = isinstance(card, dict) and render_card(card) == data
    except (ValueError, TypeError, AttributeError, RecursionError):
        intact = False
    if not intact:
        raise ModelError(
            f"{where} is damaged: its SHA-256 differs from the one it states", hint="fetch or train the model again"
        )
    return card


def check_digest(data: bytes, expected: str | None, *, where: str) -> None:
    """Refuse `data` whose SHA-256 is not the one its card states."""
    if expected is None:
        raise ModelError(f"the card states no SHA-256 of {where}", hint="fetch or train the model again")
    if digest(data) != expected:
        raise ModelError(f"{where} is damaged or was replaced: its SHA-256 differs from the one in the card",
                         hint="fetch or train the model again")  # fmt: skip


def _canonical(card: Card) -> bytes:
    return (json.dumps(card, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()
