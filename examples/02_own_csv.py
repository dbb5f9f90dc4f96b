"""Denoise your own CSV table: describe its columns in a suite file, then read, denoise and write it."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import pc2dae
from pc2dae.flight import write_flight

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
# Stand-in for your own table: ten minutes at 1 Hz, three plumes, white noise and ten missing seconds.
rng, t = np.random.default_rng(0), np.arange(600.0)
plumes = sum(np.exp(-0.5 * ((t - centre) / 7) ** 2) for centre in (90, 250, 280))
table = pd.DataFrame({
    "local_time": pd.Timestamp("2025-09-03 14:05:00") + pd.to_timedelta(t, unit="s"),
    "CO_ppm": 0.15 + 2.0 * plumes + 0.25 * rng.normal(size=600),
    "PM2.5": 8.0 + 120.0 * plumes + 12.0 * rng.normal(size=600),
})  # fmt: skip
table.loc[400:409, "CO_ppm"] = -9999
table.to_csv(OUT / "02_own_csv.csv", index=False, date_format="%d.%m.%Y %H:%M:%S")

# The suite file 02_own_csv.toml, beside this script, names the columns of the table.
flight = pc2dae.open_flight(OUT / "02_own_csv.csv", suite=Path(__file__).with_suffix(".toml"))
clean = pc2dae.denoise(flight)
write_flight(clean, OUT / "02_own_csv.clean.csv")  # the same rows: estimates, uncertainties and flags

figure, axes = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
for axis, name in zip(axes, ("co", "pm25"), strict=True):
    value, half_width = clean[name].values, 1.645 * clean[f"{name}_uncertainty"].values  # 90 % interval
    axis.plot(t / 60, clean[f"{name}_raw"], ".", color="0.75", ms=3, label="raw")
    axis.fill_between(t / 60, value - half_width, value + half_width, color="#0b7285", alpha=0.3, lw=0)
    axis.plot(t / 60, value, color="#0b7285", label="estimate, 90 % interval")
    axis.set_ylabel(f"{name} [{clean[name].units}]")
axes[0].legend(frameon=False, loc="upper right")
axes[1].set_xlabel("minutes")
figure.savefig(OUT / "02_own_csv.png", dpi=80)
