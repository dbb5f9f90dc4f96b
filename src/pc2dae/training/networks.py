"""The networks that can be trained, by name, without importing any of them."""

from __future__ import annotations

BASELINES = ("lstm-ae", "unet", "transformer", "cbdae", "despawn")
# As published; with lean's bound; with its smoothness as well; correcting the measurement in noise units, as lean does.
OUTPUT_HEADS = ("plain", "softplus", "softplus+tv", "skip")
ABLATIONS = (
    "lean-no-skip", "lean-no-noise-units",
    "lean-no-softplus", "lean-no-smoothing", "lean-no-attention", "lean-no-environment", "lean-no-variation",
    "lean-one-head", "lean-channel-alpha", "lean-as-wide", "wide-as-lean",
)  # fmt: skip
BASELINE_NETWORKS = tuple(name if head == "plain" else f"{name}+{head}" for name in BASELINES for head in OUTPUT_HEADS)
# Which module's `build(name, suite, scaler)` makes which network.
BUILDERS = {
    **dict.fromkeys(("lean", "wide"), "pc2dae.model.pc2dae"),
    **dict.fromkeys(("lean-paper", "wide-paper"), "pc2dae.paper.literal"),
    **dict.fromkeys(BASELINE_NETWORKS, "pc2dae.paper.baselines"),
    **dict.fromkeys(ABLATIONS, "pc2dae.paper.ablation"),
}


def in_noise_units(network: str) -> bool:
    """Whether a network corrects measurements in units of their noise."""
    return not network.endswith("-paper") and (network not in BASELINE_NETWORKS or network.endswith("+skip"))
