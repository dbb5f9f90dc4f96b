"""Train the paper's network `lean` on simulated flights and denoise another one with it (needs pc2dae[train])."""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import pc2dae
from pc2dae.simulate import plan_campaign, write_campaign

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 100

with tempfile.TemporaryDirectory() as folder:
    logs = write_campaign(plan_campaign(7, flights=2, minutes=8), Path(folder))
    known, unseen = (pc2dae.open_flight(path) for path in logs)

looks = []  # training and held-out loss, every twenty steps
model = pc2dae.fit([known], variant="lean", steps=STEPS, report=looks.append)
clean = pc2dae.denoise(unseen, model=model)
print(*clean.attrs["history"].splitlines()[-2:], sep="\n")  # what was done last

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.plot([look.step for look in looks], [look.train for look in looks], color="0.6", label="training flight")
left.plot([look.step for look in looks], [look.held_out for look in looks], color="#e8590c", label="held-out part")
left.set(xlabel="step", ylabel="loss", title="training")
right.plot(clean["bc_ir_1_raw"].values / 1000, color="0.7", lw=1, label="raw")
right.plot(clean["bc_ir_1"].values / 1000, color="#0b7285", label="estimate")
right.set(xlabel="seconds", ylabel="black carbon [µg m⁻³]", title="a flight not in the training")
for axis in (left, right):
    axis.legend(frameon=False)
figure.savefig(OUT / "05_train.png", dpi=80)
