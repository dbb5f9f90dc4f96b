"""Titles and descriptions of the denoising methods; the keys are the names that `--model` accepts."""

from __future__ import annotations

from pc2dae.web.schemas import Method

_MODELS = {
    "adaptive": ("Adaptive", "the shipped model for any payload, with an uncertainty"),
    "adaptive-short": ("Adaptive, short", "the same with five seconds of look-ahead, as it runs live"),
    "adaptive-causal": ("Adaptive, causal", "the same without any look-ahead"),
    "lean": ("PC²DAE lean", "the paper's small network, for the Black Kite payload"),
    "wide": ("PC²DAE wide", "the paper's large network, for the Black Kite payload"),
}
_FILTERS = {
    "bayesshrink": ("Wavelet, BayesShrink", "sym8 with 16 cycle spins: a strong baseline"),
    "tv": ("Total variation", "preserves edges, produces steps"),
    "rts": ("Kalman smoother", "RTS with maximum-likelihood variances; with an uncertainty"),
    "matern": ("Matérn process", "a Gaussian process in state-space form; with an uncertainty"),
    "whittaker": ("Whittaker", "smoothness chosen by cross-validation"),
    "wavelet": ("Wavelet", "universal threshold"),
    "savgol": ("Savitzky–Golay", "eleven samples"),
    "kalman": ("Kalman filter", "causal: uses past samples only"),
    "ma5": ("Mean of 5", "moving average"),
    "ma11": ("Mean of 11", "moving average"),
    "ona": ("ONA", "aethalometer: averages until the filter has darkened enough"),
    "clip": ("Clip", "raw, clipped at the bound: a reference"),
    "raw": ("Raw", "as measured: a reference"),
    "constant": ("Constant", "the mean: perfectly smooth and useless; a reference"),
}
LIVE = Method(name="live", title="Live", kind="live", note="received while the flight was recorded")
METHODS: dict[str, Method] = {
    **{n: Method(name=n, title=t, kind="model", note=note) for n, (t, note) in _MODELS.items()},
    **{n: Method(name=n, title=t, kind="filter", note=note) for n, (t, note) in _FILTERS.items()},
    LIVE.name: LIVE,
}
