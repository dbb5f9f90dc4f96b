"""The paper's five neural rivals (torch): LSTM-AE, U-Net, Transformer, CBDAE, DeSpaWN, each in three dresses."""

from pc2dae.baselines.dress import BASELINES, DRESSES, Baseline, build
from pc2dae.baselines.loss import baseline_loss, draw_crops

__all__ = ["BASELINES", "DRESSES", "Baseline", "baseline_loss", "build", "draw_crops"]
