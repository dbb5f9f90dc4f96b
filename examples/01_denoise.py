"""Denoise one simulated flight with the shipped model and compare it with the simulator's truth."""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import xarray as xr

import pc2dae
from pc2dae.simulate import plan_campaign, write_campaign

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

# A folder of instrument files, as a payload's memory card holds them, with the truth beside it.
with tempfile.TemporaryDirectory() as folder:
    (logs,) = write_campaign(plan_campaign(7, flights=1, minutes=8), Path(folder))
    flight = pc2dae.open_flight(logs)
    truth = xr.load_dataset(f"{logs}.truth.nc")

clean = pc2dae.denoise(flight)
print(*clean.attrs["history"].splitlines()[-2:], sep="\n")  # what was done last

# Scores of every method beside those of the raw data, one row per channel, family and metric.
scores = pc2dae.evaluate(clean, truth=truth)
mae = scores[(scores["metric"] == "mae_improvement") & (scores["channel"] == "all")]
print(mae[["method", "family", "value"]].to_string(index=False))

part = clean.isel(time=slice(100, 340))
known = truth["no2_a_response"].sel(time=part["time"], method="nearest")
figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
axis.plot(part["no2_a_raw"].values, ".-", color="0.75", lw=0.8, ms=3, label="raw")
axis.plot(known.values, color="#e8590c", lw=1.2, label="truth (noise-free reading)")
axis.plot(part["no2_a"].values, color="#0b7285", lw=1.6, label="estimate")
axis.set(ylabel="NO₂ [ppb]", xlabel="seconds")
axis.legend(frameon=False, loc="upper left")
figure.savefig(OUT / "01_denoise.png", dpi=80)
