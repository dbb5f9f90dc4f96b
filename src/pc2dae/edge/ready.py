"""The estimates of one second, and the message that carries them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Bits, Floats
from pc2dae.edge.messages import stamp
from pc2dae.flags import MISSING


@dataclass(frozen=True)
class Ready:
    """The estimates of one second, each array (channel)."""

    index: int  # seconds (samples) since the first one
    microseconds: int  # since 1970, UTC
    value: Floats
    unbounded: Floats
    sigma: Floats | None
    bits: Bits
    response: Floats  # noise-free reading where the estimate is that of the air, else NaN

    @classmethod
    def missing(cls, index: int, microseconds: int, channels: int) -> Ready:
        """A second without estimates."""
        nothing = np.full(channels, np.nan)
        return cls(index, microseconds, nothing, nothing, None, np.full(channels, MISSING, np.int32), nothing)

    def message(
        self,
        flight: str,
        names: Sequence[str],
        latency_s: float,
        ambient: Sequence[str] = (),
        calibrated: Sequence[str] = (),
    ) -> bytes:
        """As the JSON of a `Clean` message, without the cost of validation; `ambient` are the channels without lag."""

        def numbers(row: Floats) -> dict[str, float | None]:  # float32 has seven digits
            rounded = [float(f"{x:.7g}") if math.isfinite(x) else None for x in row.tolist()]
            return dict(zip(names, rounded, strict=True))

        content = {
            "flight": flight,
            "seq": self.index,
            "time": stamp(self.microseconds),
            "estimate": numbers(self.value),
            "unbounded": numbers(self.unbounded),
            "uncertainty": {} if self.sigma is None else numbers(self.sigma),
            "response": {name: value for name, value in numbers(self.response).items() if name in ambient},
            "target": {name: "ambient" if name in ambient else "response" for name in names},
            "calibrated": [name for name in names if name in calibrated],
            "qc": dict(zip(names, self.bits.tolist(), strict=True)),
            "latency_s": latency_s,
        }
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
