"""Shipped pretrained models: `<name>.onnx` and its card, made by `make weights`."""

from typing import Literal, get_args

ShippedName = Literal["adaptive", "adaptive-short", "adaptive-causal", "lean", "wide"]
SHIPPED: tuple[str, ...] = get_args(ShippedName)
