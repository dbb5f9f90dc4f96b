"""How well a clock is found from a pressure inside an instrument, whatever that pressure's lag is (development seeds).

Run: python benchmarks/inside_lag.py [FIRST_SEED LAST_SEED MINUTES], by default 1070 1081 20
Prints the clock's error [s] by true lag: with the delay taken whole as the clock's, and with the lag averaged over.
"""

from __future__ import annotations

import sys

import numpy as np

from pc2dae.align.clocks import compare
from pc2dae.flight.stream import Stream
from pc2dae.simulate.atmosphere import weather
from pc2dae.simulate.clocks import own_clock, sampling
from pc2dae.simulate.instruments import fly_autopilot
from pc2dae.simulate.path import fly
from pc2dae.simulate.plan import plan_campaign
from pc2dae.simulate.processes import at, lagged

LAGS_S = (0.0, 0.15, 0.35, 0.6, 1.0)
NOISE_HPA = 0.05
WAYS = {"pressure": "whole delay", "cell_pressure": "lag averaged over"}  # as a pressure outside, and as one inside


def errors(seed: int, minutes: float) -> dict[tuple[float, str], float]:
    """Offset found minus true offset [s] of one flight, by lag and by the name that the pressure goes under."""
    plan = plan_campaign(seed, flights=1, minutes=minutes)[0]
    path = fly(plan.rng(4), plan.samples)
    air = weather(plan, path)
    autopilot = fly_autopilot(plan, path, air).stream
    found = {}
    for lag in LAGS_S:
        rng = plan.rng(31)
        clock = own_clock(rng)
        t = sampling(rng, plan.samples, rate_hz=2.0, gaps_per_hour=2.0).times_s
        felt = at(t, lagged(air.pressure, t90_s=lag * np.log(10.0))) + rng.normal(0, NOISE_HPA, len(t))
        true = clock.offset_s + 1e-6 * clock.drift_ppm * plan.samples / 2
        for name in WAYS:
            stream = Stream("li830", "", clock.shows(plan.start, t), {name: felt}, {name: "hPa"})
            fit = compare(autopilot, stream, "pressure")
            found[lag, name] = fit.offset_s - true if fit is not None and fit.found else float("nan")
    return found


def main() -> None:
    """Fly, find the clocks, print the table."""
    first, last, minutes = (float(a) for a in sys.argv[1:4]) if len(sys.argv) > 3 else (1070, 1081, 20)
    flights = [errors(seed, minutes) for seed in range(int(first), int(last) + 1)]
    print("lag [s]  " + "  ".join(f"{way}: mean   std   rms   largest" for way in WAYS.values()))
    for lag in LAGS_S:
        cells = []
        for name in WAYS:
            e = np.array([flight[lag, name] for flight in flights])
            e = e[np.isfinite(e)]
            cells.append(f"{e.mean():+.3f} {e.std():.3f} {np.sqrt(np.mean(e**2)):.3f} {np.abs(e).max():.3f} ({len(e)})")
        print(f"{lag:7.2f}  " + "   ".join(cells))


if __name__ == "__main__":
    main()
