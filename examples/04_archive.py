"""Denoise a folder of flights with `pc2dae archive` and read its index (needs pc2dae[cluster])."""

import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")


def pc2dae(*arguments: str | Path) -> None:
    """Run a command of pc2dae as on a terminal."""
    subprocess.run([sys.executable, "-m", "pc2dae", *map(str, arguments)], check=True)


def main() -> None:
    campaign, archive = OUT / "campaign", OUT / "clean"
    pc2dae("simulate", campaign, "--flights", "3", "--minutes", "4", "--seed", "5", "--force")
    # Each flight is one task. Run the command again and it does only what is missing or has changed.
    pc2dae("archive", "denoise", campaign, archive, "--workers", "1", "--model", "adaptive-short")

    index = pd.read_parquet(archive / "index.parquet").set_index("flight")  # one row per flight
    print(index[["status", "rows", "plumes", "mce", "mce_sigma"]])

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, name, label in zip(axes, ("mce", "bc_co"), ("MCE", "ΔBC/ΔCO [ng m⁻³ per ppb]"), strict=True):
        value, sigma = index[name].astype(float), index[f"{name}_sigma"].astype(float)
        axis.errorbar(index.index, value, 2 * sigma, fmt="o", color="#0b7285", capsize=4)
        axis.set(title=f"{label}, ± 2 σ", xlim=(-0.5, 2.5))
    figure.savefig(OUT / "04_archive.png", dpi=80)


if __name__ == "__main__":
    main()
