"""Find plume encounters in a denoised flight, print emission ratios and write the encounters as GeoJSON."""

import json
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import pc2dae
from pc2dae.plumes import survey
from pc2dae.simulate import plan_campaign, write_campaign

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
with tempfile.TemporaryDirectory() as folder:
    (logs,) = write_campaign(plan_campaign(7, flights=1, minutes=8), Path(folder))
    clean = pc2dae.denoise(pc2dae.open_flight(logs))

found = survey(clean)  # tidy tables: `encounters` per channel, `ratios` of the flight and of each encounter
print(found.ratios.query("scope == 'flight' and method == 'integral'").drop(columns=["scope", "onset", "method"]))

# One point per CO encounter, at its peak.
co = found.encounters.query("channel == 'co_a'")
peaks = clean[["longitude", "latitude"]].sel(time=co["peak_time"].values)
co = co.assign(longitude=peaks["longitude"].values, latitude=peaks["latitude"].values)
features = [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [row["longitude"], row["latitude"]]},
             "properties": row} for row in json.loads(co.to_json(orient="records", date_format="iso"))]  # fmt: skip
(OUT / "06_plumes.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}, indent=1))

plt.rcParams["date.converter"] = "concise"
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), width_ratios=[2, 1], layout="constrained")
left.plot(clean["time"], clean["co_a"] / 1000, color="#0b7285")
for encounter in co.itertuples():
    left.axvspan(encounter.onset, encounter.end, color="#e8590c", alpha=0.3, lw=0)
left.set(ylabel="CO [ppm]", xlabel="time [UTC]", title=f"{len(co)} plume encounters")
right.plot(clean["longitude"], clean["latitude"], color="0.7", lw=0.8)
right.scatter(co["longitude"], co["latitude"], s=co["excess"] / 100, color="#e8590c", alpha=0.6)
right.set(xticks=[], yticks=[], title="flight track and excess CO")
figure.savefig(OUT / "06_plumes.png", dpi=80)
