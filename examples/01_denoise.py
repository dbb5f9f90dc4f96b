"""A simulated flight from instrument files to clean concentrations, with a shipped model and with one trained on it."""

import sys
import tempfile
from pathlib import Path

import pc2dae
from pc2dae.simulate import plan_campaign, write_campaign

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 900


def main() -> None:
    from pc2dae.training.fit import Settings

    with tempfile.TemporaryDirectory() as folder:
        logs = sorted(write_campaign(plan_campaign(7, flights=1, minutes=12), Path(folder)))[0]
        flight = pc2dae.open_flight(logs)

    clean = pc2dae.denoise(flight, model="lean")
    print(f"CO, first ten seconds, raw:   {clean['co_a_raw'].values[:10].round(0)} ppb")
    print(f"CO, first ten seconds, clean: {clean['co_a'].values[:10].round(0)} ppb")

    model = pc2dae.fit([flight], variant="lean", settings=Settings(steps=STEPS))
    own = pc2dae.denoise(flight, model=model)
    print(f"left raw: {own.attrs['pc2dae_left_raw']}")
    print(own.attrs["history"].splitlines()[-1])


if __name__ == "__main__":
    main()
