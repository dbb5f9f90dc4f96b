"""The scale of each channel, computed from the training flights and stored in the model's card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from pc2dae.arrays import Floats, Mask

PERCENTILE = 99.5  # high enough to include plumes, low enough that one spike does not set the scale


@dataclass(frozen=True)
class Scaler:
    """Scaling that makes channels comparable: scaled = (value − bound) / scale."""

    bound: tuple[float, ...]  # per channel, physical units
    scale: tuple[float, ...]  # P99.5 of the training flights − bound
    fill: tuple[float, ...]  # mean of the training flights, scaled: input for a window without a valid sample
    environment_mean: tuple[float, ...]  # degC, %, hPa
    environment_std: tuple[float, ...]

    def as_dict(self) -> dict[str, list[float]]:
        """As a dict for the card."""
        return {key: list(value) for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, table: dict[str, list[float]]) -> Scaler:
        """Restore from the card."""
        return cls(**{key: tuple(value) for key, value in table.items()})


def fit_scaler(
    values: Sequence[Floats], valid: Sequence[Mask], environment: Sequence[Floats], *, bound: Sequence[float]
) -> Scaler:
    """The scaler of training records: each (channel, time), with (3, time) environment.

    A channel that never exceeds its bound uses the P99.5 of its distance from it; one without samples uses 1.
    """
    scales, fills = [], []
    for row, low in enumerate(bound):
        above = np.concatenate([v[row][m[row] & np.isfinite(v[row])] for v, m in zip(values, valid, strict=True)]) - low
        scale = float(np.percentile(above, PERCENTILE)) if len(above) else 0.0
        if scale <= 0 and len(above):
            scale = float(np.percentile(np.abs(above), PERCENTILE))
        scales.append(scale if scale > 0 else 1.0)
        fills.append(float(above.mean()) / scales[-1] if len(above) else 0.0)
    joined = np.concatenate(environment, axis=1).astype(np.float64)
    means, stds = [], []
    for row in joined:
        known = row[np.isfinite(row)]
        means.append(float(known.mean()) if len(known) else 0.0)
        stds.append(float(known.std()) if len(known) and known.std() > 1e-6 else 1.0)
    return Scaler(tuple(map(float, bound)), tuple(scales), tuple(fills), tuple(means), tuple(stds))
