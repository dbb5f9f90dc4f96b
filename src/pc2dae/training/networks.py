"""The networks that can be trained, by name, without importing any of them."""

from __future__ import annotations

BASELINES = ("lstm-ae", "unet", "transformer", "cbdae", "despawn")
OUTPUT_HEADS = ("plain", "softplus", "softplus+tv")  # as published; with lean's bound; with its smoothness as well
ABLATIONS = (
    "lean-no-softplus", "lean-no-smoothing", "lean-no-attention", "lean-no-environment", "lean-no-variation",
    "lean-as-wide", "wide-as-lean",
)  # fmt: skip
BASELINE_NETWORKS = tuple(name if head == "plain" else f"{name}+{head}" for name in BASELINES for head in OUTPUT_HEADS)
# Which module's `build(name, suite, scaler)` makes which network.
BUILDERS = {
    **dict.fromkeys(("lean", "wide"), "pc2dae.model.pc2dae"),
    **dict.fromkeys(BASELINE_NETWORKS, "pc2dae.baselines.output_head"),
    **dict.fromkeys(ABLATIONS, "pc2dae.model.ablation"),
}
