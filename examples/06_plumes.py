"""Find plume encounters in a denoised flight, print emission ratios and factors, write the encounters as GeoJSON."""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import pc2dae
from pc2dae.plumes import Fuel, survey
from pc2dae.plumes.files import write_plumes
from pc2dae.plumes.table import encounter_table
from pc2dae.simulate import plan_campaign, write_campaign

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
with tempfile.TemporaryDirectory() as folder:
    (logs,) = write_campaign(plan_campaign(7, flights=1, minutes=8), Path(folder))
    clean = pc2dae.denoise(pc2dae.open_flight(logs))

found = survey(clean, fuel=Fuel(carbon=0.48, uncertainty=0.02))  # tidy tables, of the flight and of each encounter
print(found.ratios.query("scope == 'flight' and is_preferred")[["ratio", "method", "value", "sigma", "units"]])
print(found.emission_factors.query("scope == 'flight'")[["species", "value", "sigma", "units"]])
write_plumes([(clean, found)], OUT / "06_plumes.geojson")  # the track and each encounter, for QGIS

plt.rcParams["date.converter"] = "concise"
encounters = encounter_table(clean, found).query("scope != 'flight'")
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), width_ratios=[2, 1], layout="constrained")
left.plot(clean["time"], clean["co_a"] / 1000, color="#0b7285")
for encounter in encounters.itertuples():
    left.axvspan(encounter.onset, encounter.end, color="#e8590c", alpha=0.3, lw=0)
left.set(ylabel="CO [ppm]", xlabel="time [UTC]", title=f"{len(encounters)} plume encounters")
right.plot(clean["longitude"], clean["latitude"], color="0.7", lw=0.8)
right.scatter(
    encounters["longitude"], encounters["latitude"], s=encounters["co_a_excess"] / 100, color="#e8590c", alpha=0.6
)
right.set(xticks=[], yticks=[], title="flight track and excess CO")
figure.savefig(OUT / "06_plumes.png", dpi=80)
