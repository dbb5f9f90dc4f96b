"""The paper's five neural baselines (torch): LSTM-AE, U-Net, Transformer, CBDAE, DeSpaWN."""

from pc2dae.paper.baselines.loss import baseline_loss, with_consecutive
from pc2dae.paper.baselines.output_head import Baseline, build

__all__ = ["Baseline", "baseline_loss", "build", "with_consecutive"]
