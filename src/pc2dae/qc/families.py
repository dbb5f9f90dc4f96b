"""Data-driven decision which channel families to keep, with a stated reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.flags import STARTUP, TAPE_ADVANCE
from pc2dae.flight.schema import channel_arrays, check_flight, observed
from pc2dae.noise import Noise, noise_level
from pc2dae.suite import Channel, Family, Suite

MOSTLY_BELOW = 0.5  # share of values lost below detection above which a family is only qualitative
SIGNED = 0.01  # share of negatives above which noise is not clipped at zero and can be averaged out
PLUMES = 3.0  # minimum SNR of the best family for a flight to contain assessable plumes
WEAK_DIFFERENCE = 2.0  # minimum SNR of a difference, which carries the noise of both channels
_MEAN_S, _BACKGROUND_S = 9.0, 300.0


@dataclass(frozen=True)
class Verdict:
    """Whether a family is kept, with the reason and the underlying figures."""

    family: str
    kept: bool
    reason: str
    figures: dict[str, float] = field(default_factory=dict)  # shares 0–1, ratios

    @property
    def is_unmeasured(self) -> bool:
        """Whether the family was never measured."""
        return self.figures.get("observed") == 0

    def omits(self, suite: Suite) -> bool:
        """Whether the family is left out; of a suite without instruments, a user's table, only if never measured."""
        return not self.kept and (bool(suite.sources) or self.is_unmeasured)


def judge_families(
    flight: xr.Dataset, *, noise: Noise | None = None, keep: Sequence[str] = (), exclude: Sequence[str] = ()
) -> list[Verdict]:
    """Decide for each family of a flight whether it is kept; `keep` and `exclude` override the decision.

    `noise` is the noise level of the suite's channels in order, if already known.
    """
    suite = check_flight(flight)
    known = noise_level(*channel_arrays(flight, suite)) if noise is None else noise
    sigma = dict(zip(suite.names, known.sigma.tolist(), strict=True))
    figures = {family.name: _figures(flight, suite, family, sigma) for family in suite.family}
    best = max((f["snr"] for f in figures.values() if np.isfinite(f["snr"])), default=0.0)
    return [
        _overruled(_verdict(family, figures[family.name], best), keep=keep, exclude=exclude) for family in suite.family
    ]


def signal_to_noise(values: Array, valid: Mask, *, sigma: float, rate_hz: float = 1.0) -> float:
    """Ratio of the standard deviation of the plume signal to that of the noise, `sigma`.

    The plume signal is the 9-s mean minus the 300-s running median; the residual noise variance is subtracted.
    """
    if not np.isfinite(sigma) or sigma == 0:
        return np.nan
    series = pd.Series(np.where(valid, values, np.nan))
    width = max(round(_MEAN_S * rate_hz), 1)
    means = series.rolling(width, center=True, min_periods=max(width // 3, 1)).mean()
    slow = series.rolling(max(round(_BACKGROUND_S * rate_hz), 1), center=True, min_periods=1).median()
    plumes = (means - slow).dropna().to_numpy()
    if len(plumes) == 0:  # too sparse: no 9-s window has three samples
        return np.nan
    variance = float(np.var(plumes)) - sigma**2 / width
    return float(np.sqrt(max(variance, 0.0)) / sigma)


def _figures(flight: xr.Dataset, suite: Suite, family: Family, sigma: dict[str, float]) -> dict[str, float]:
    rows = [_channel_figures(flight, channel, sigma[channel.name], suite.rate_hz) for channel in family.channel]
    table = pd.DataFrame(rows)
    return {
        "observed": float(table["observed"].mean()),
        "below_detection": float(table["below_detection"].mean()),
        "lost_below_detection": float(table["below_detection"].where(~(table["negative"] > SIGNED), 0.0).mean()),
        "negative": float(table["negative"].mean()),
        "snr": float(table["snr"].max()) if table["snr"].notna().any() else np.nan,
    }


def _channel_figures(flight: xr.Dataset, channel: Channel, sigma: float, rate_hz: float) -> dict[str, float]:
    values, valid = flight.variables[channel.name].values.astype(np.float64), observed(flight, channel.name)
    ready = (flight.variables[f"qc_{channel.name}"].values & (STARTUP | TAPE_ADVANCE)) == 0
    seen = values[valid]
    limit = channel.detection_limit
    return {
        "observed": float(np.mean(valid[ready])) if ready.any() else 0.0,
        "below_detection": float(np.mean(seen < limit)) if limit is not None and len(seen) else 0.0,
        "negative": float(np.mean(seen < 0)) if len(seen) else np.nan,
        "snr": signal_to_noise(values, valid, sigma=sigma, rate_hz=rate_hz) if len(seen) > 60 else np.nan,
    }


def _verdict(family: Family, figures: dict[str, float], best: float) -> Verdict:
    name, snr = family.name, figures["snr"]
    is_difference = all(channel.difference_of is not None for channel in family.channel)
    if figures["observed"] == 0:
        return Verdict(name, False, "nothing was measured", figures)
    if figures["lost_below_detection"] > MOSTLY_BELOW:
        share = f"{100 * figures['lost_below_detection']:.1f} % of its values lie below detection"
        return Verdict(name, False, f"{share} (more than {100 * MOSTLY_BELOW:.0f} %) and are cut at zero", figures)
    if is_difference and np.isfinite(snr) and snr < WEAK_DIFFERENCE and best >= PLUMES:
        why = f"its plumes reach only {snr:.2f} times its noise ({WEAK_DIFFERENCE:g} required), others {best:.1f}"
        return Verdict(name, False, why, figures)
    if not np.isfinite(snr) or best < PLUMES:
        return Verdict(name, True, "no plumes in this flight to assess the family", figures)
    return Verdict(name, True, f"its plumes reach {snr:.1f} times its noise", figures)


def _overruled(verdict: Verdict, *, keep: Sequence[str], exclude: Sequence[str]) -> Verdict:
    if verdict.family in keep and not verdict.kept:
        return Verdict(verdict.family, True, f"kept by request, although {verdict.reason}", verdict.figures)
    if verdict.family in exclude and verdict.kept:
        return Verdict(verdict.family, False, "excluded by request", verdict.figures)
    return verdict
