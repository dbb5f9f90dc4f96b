"""Values published in the paper, shown beside ours in the tables: (BC, gas, CO₂) per family, in per cent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def of(figures: Mapping[str, T], method: str) -> T | None:
    """The published figures of a method; those of Lean and Wide apply to both readings of them."""
    return figures.get(method.removesuffix("-paper"))


# method → smoothness, high-frequency power removed, negative values, each over all families
MAIN = {
    "lean": (67.3, 90.7, 0.0),
    "wide": (61.7, 82.2, 0.0),
    "despawn": (47.7, 84.1, 15.3),
    "lstm-ae": (11.9, 59.6, 22.2),
    "cbdae": (10.9, 60.5, 22.4),
    "unet": (-0.7, 34.0, 20.8),
    "transformer": (-28.9, -35.7, 23.1),
}
BY_FAMILY: dict[str, dict[str, tuple[float, float, float]]] = {
    "smoothness": {
        "lean": (65.1, 74.7, 62.2),
        "wide": (61.0, 61.2, 62.9),
        "despawn": (42.6, 69.0, 31.5),
        "lstm-ae": (19.7, 23.2, -7.3),
        "cbdae": (16.9, 19.5, -3.6),
        "unet": (2.6, 4.2, -9.0),
        "transformer": (-53.9, -27.4, -5.3),
    },
    "hf_reduction": {
        "lean": (95.3, 93.0, 83.9),
        "wide": (95.5, 71.7, 79.5),
        "despawn": (78.0, 95.9, 78.5),
        "lstm-ae": (73.8, 69.3, 35.6),
        "cbdae": (71.0, 71.4, 39.2),
        "unet": (39.0, 25.0, 38.1),
        "transformer": (-45.7, -63.8, 2.5),
    },
    "negatives": {
        "lean": (0.0, 0.0, 0.0),
        "wide": (0.0, 0.0, 0.0),
        "despawn": (25.7, 20.1, 0.0),
        "lstm-ae": (41.3, 25.3, 0.0),
        "cbdae": (40.5, 26.8, 0.0),
        "unet": (37.1, 25.4, 0.0),
        "transformer": (40.0, 29.3, 0.0),
    },
}
# σ = 0.05: method → MAE reduction [%], SNR gain [dB], negative values [%]
INJECTION = {
    "lean": (46.4, 9.2, 0.0),
    "raw": (0.0, 0.0, 38.5),
    "ma5": (-7.9, 4.6, 38.2),
    "ma11": (-38.5, 2.3, 37.4),
    "wavelet": (-10.7, 1.1, 37.8),
    "savgol": (-14.4, 4.3, 38.5),
    "kalman": (-61.4, -0.1, 37.6),
}
INJECTION_HIGH = {"lean": 75.7}  # σ = 0.10, MAE reduction [%]
