"""Stream a flight sample by sample through the live denoiser and compare it with `profile="live"`; no broker needed."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pc2dae
from pc2dae.edge.load import live_engine
from pc2dae.edge.messages import Sample
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.flight.schema import new_flight

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
SUITE = Path(__file__).with_name("02_own_csv.toml")
# Five minutes of CO with a plume.
t = np.arange(300)
co = 0.2 + 2.0 * np.exp(-0.5 * ((t - 110) / 6) ** 2) + 0.25 * np.random.default_rng(1).normal(size=300)
time = np.datetime64("2025-09-03T21:05:00") + t

# Live: one sample at a time; an estimate is returned as soon as the model has seen its look-ahead.
stream, estimates = StreamingDenoiser(live_engine("adaptive-short", suite=SUITE, exclude=["pm"])[0]), []
for n in range(300):
    estimates += stream.feed([Sample(flight="example", seq=n, time=f"{time[n]}Z", values={"co": co[n]})])
print(f"{len(estimates)} of 300 estimates after the last sample: the latency is {300 - len(estimates)} s")
estimates += stream.flush()  # the flight has ended: the last five seconds
live = np.array([ready.value[0] for ready in estimates])

flight = new_flight(time.astype("datetime64[ns]"), {"co": co}, pc2dae.load_suite(SUITE).only(["gas"]))
offline = pc2dae.denoise(flight, model="adaptive-short", profile="live")["co"].values  # the record as a whole
print(f"largest difference between stream and file: {np.abs(live - offline).max():.1e} ppm")
plt.figure(figsize=(8, 3), layout="constrained")
plt.plot(t, co, ".", color="0.75", ms=4, label="raw")
plt.plot(t, offline, color="#e8590c", lw=4, alpha=0.5, label='denoise(profile="live")')
plt.plot(t, live, color="#0b7285", lw=1.2, label="stream")
plt.gca().set(xlabel="seconds", ylabel="CO [ppm]")
plt.legend(frameon=False)
plt.savefig(OUT / "03_live.png", dpi=80)
