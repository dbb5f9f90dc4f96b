"""The paper's five neural rivals (torch): LSTM-AE, U-Net, Transformer, CBDAE, DeSpaWN, each in three dresses."""

from pc2dae.baselines.loss import baseline_loss, draw_crops
from pc2dae.baselines.output_head import BASELINES, DRESSES, Baseline, build

__all__ = ["BASELINES", "DRESSES", "Baseline", "baseline_loss", "build", "draw_crops"]
