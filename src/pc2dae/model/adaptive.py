"""The adaptive denoiser: instead of generating the output, it chooses at every sample how to average the measurements.

Averages are formed in physical units. The noise level σ(t) of a channel only determines *how* to average: all input
features are differences of averages divided by the current σ(t), so the same weights apply to every channel.
Two passes. The first forms averages of x over windows to the left, to the right and around each sample (1 … 511 s);
a small network chooses their convex weights and how far each sample is trusted. The second pass uses co-emitted
channels: in a sliding window channel i is regressed on the first estimate y of each other channel j,
    c_i = ⟨x_i⟩ + Σ_j a_ij r_ij (y_j − ⟨y_j⟩),   r_ij = cov(x_i, y_j) / (var(y_j) + λ σ_j²),
with slopes r from the data (a dip remains a dip, an unrelated channel gets r ≈ 0) and shares a from a softmax with the
option "none"; channels of one `group` share their noise and are not used for each other. A second softmax mixes own
averages, first estimate and these candidates. Nothing is normalised over time: an estimate depends only on samples
within a fixed reach, so whole flights, windows and streams agree.

Guarantee, for any input and any finite weights: the estimate is finite and lies within
    min x − 3 σ … max x + 3 σ
of the valid samples x within reach, those at most `reach` − 1 samples before and `right` − 1 after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pc2dae.denoiser import LARGEST, RANGE, WIDENED
from pc2dae.model.sliding import Windows, highest, shift

_FEATURE = 1e12  # σ; contrasts are clipped here
_CHANCE = 3.0  # squared correlation × samples that chance produces; this much is discounted
_EMPTY = 1e-3  # weight of the coarser average where a window contains no sample
_LITTLE = 1e-6  # weight of the nearest sample in a window beyond the ends


@dataclass(frozen=True)
class AdaptiveConfig:
    """One variant of the network; the three differ only in their look-ahead."""

    width: int = 32
    reach: int = 256  # longest one-sided window [s]; 511 s around a sample, for air that hardly changes
    right: int = 256  # longest window to the right [s]: 1 is causal
    kernel_ahead: bool = True  # convolutions centred (True) or causal
    regressions: tuple[int, ...] = (8, 32)  # one-sided windows of the co-emission regression [s]
    lags: tuple[int, ...] = (
        1,
        8,
    )  # regressors: the other channel now, and averaged over the last 8 s (a slower sensor's view)


ADAPTIVE = AdaptiveConfig()
ADAPTIVE_SHORT = AdaptiveConfig(right=2, kernel_ahead=False)
ADAPTIVE_CAUSAL = AdaptiveConfig(right=1, kernel_ahead=False)
VARIANTS = {"adaptive": ADAPTIVE, "adaptive-short": ADAPTIVE_SHORT, "adaptive-causal": ADAPTIVE_CAUSAL}


# Parameters that have another name in the shipped weights and ONNX files.
_RENAMED = {"say": "summarise", "hear": "enter_context", "pair": "pair_score"}


def parameter_name(key: str) -> str:
    """The parameter name for a key of a weights file."""
    module, dot, rest = key.partition(".")
    return _RENAMED.get(module, module) + dot + rest


def _rename_keys(_: nn.Module, state: dict[str, Any], prefix: str, *__: Any) -> None:
    for key in [key for key in state if key.startswith(prefix)]:
        state[prefix + parameter_name(key.removeprefix(prefix))] = state.pop(key)


def _mixed(score: Tensor, offered: Tensor) -> Tensor:
    """Σ softmax(score) · offered over axis 2, divided once after the sum."""
    share = torch.exp(score - score.amax(2, keepdim=True).detach())
    return (share * offered).sum(2) / share.sum(2)


class ResidualStep(nn.Module):
    """Residual block ReLU(h + conv h): k = 3 along time, dilated; 2-D, which is fastest in onnxruntime."""

    def __init__(self, width: int, dilation: int, *, ahead: bool) -> None:
        super().__init__()
        self.pad = (dilation, dilation) if ahead else (2 * dilation, 0)
        self.conv = nn.Conv2d(width, width, (1, 3), dilation=dilation)

    def forward(self, h: Tensor) -> Tensor:
        return F.relu(h + self.conv(F.pad(h, self.pad)))


class _Moments(NamedTuple):
    """Moments within one window of channel i and of the views v of channel j."""

    mean: Tensor  # (b, i, t)
    variance: Tensor  # (b, i, t), at least a tenth of the noise
    scale: Tensor  # 1 / √variance
    view_mean: Tensor  # (b, j, v, t)
    view_variance: Tensor  # (b, j, v, t)
    view_scale: Tensor  # 1 / √(view variance + 0.05 noise)
    correlation: Tensor  # (b, i, j, v, t)


def _moments(series: list[Windows], window: int, noise: Tensor) -> _Moments:
    """Moments from the windowed sums of x, x², views, views² and of their products."""
    mean, square, view_mean, view_square = (s.mean(window) for s in series[:4])
    variance = (square - mean.square()).clamp_min(0) + 0.1 * noise
    view_variance = (view_square - view_mean.square()).clamp_min(0)
    scale, view_scale = torch.rsqrt(variance), torch.rsqrt(view_variance + 0.05 * noise[:, :, None])
    joint = series[4].around(window) - mean[:, :, None, None] * series[2].around(window)[:, None]
    correlation = joint * (scale / series[4].count(window))[:, :, None, None] * view_scale[:, None]
    return _Moments(mean, variance, scale, view_mean, view_variance, view_scale, correlation.clamp(-1, 1))


class Adaptive(nn.Module):
    """(batch, channel, time) of any channel count → unbounded estimate and one-sigma uncertainty."""

    def __init__(self, config: AdaptiveConfig = ADAPTIVE) -> None:
        super().__init__()
        self.config = config
        self.widths = [2**k for k in range(1, config.reach.bit_length())]
        self.halves = self.widths[:-1]
        self.slopes = len(self.halves) * (3 if config.right == config.reach else 2)  # see `_sloped`
        self.candidates = 1 + sum(1 + (config.right > 1) + (config.right >= w) for w in self.widths)  # see `_averages`
        features, width = 2 * len(self.widths) + 11 + len(self.halves) + 2, config.width
        self.enter = nn.Conv2d(features, width, 1)
        self.summarise = nn.Conv2d(width, 8, 1)
        self.enter_context = nn.Conv2d(16, width, 1)
        self.first = nn.Sequential(*(ResidualStep(width, d, ahead=config.kernel_ahead) for d in (1, 2, 4)))
        self.choose_first = nn.Conv2d(width, self.candidates + self.slopes + 1, 1)
        self.pair_score = nn.Parameter(  # coefficients in the order of `_pair_shares`
            torch.tensor([[-2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0]]).repeat(len(config.regressions), 1)
        )
        self.ridge = nn.Parameter(torch.full((len(config.regressions),), -1.0))
        count = len(config.regressions)
        self.enter_second = nn.Conv2d(width + 2 + 5 * count, width, 1)
        self.second = nn.Sequential(*(ResidualStep(width, d, ahead=config.kernel_ahead) for d in (1, 2)))
        self.choose_second = nn.Conv2d(width, self.candidates + self.slopes + 1 + 4 * count + 1, 1)
        with torch.no_grad():
            for name, value in self.named_parameters():
                if name.startswith("choose"):
                    value.mul_(0.3 if name.endswith("weight") else 0.0)
                if name == "choose_first.bias":
                    value[-1] = 3.0  # initially every sample is trusted
        self.register_load_state_dict_pre_hook(_rename_keys)  # type: ignore[no-untyped-call]

    # ── pieces ──

    def _averages(self, x: Tensor, weight: Tensor, base: Tensor) -> list[Tensor]:
        """Weighted averages of x over every window, finest last; an empty window uses the next coarser average."""
        config = self.config
        total, mass = Windows(x * weight, config.reach, config.right), Windows(weight, config.reach, config.right)
        coarse = (total.around(config.reach) + 1e-6 * base) / (mass.around(config.reach) + 1e-6)
        found: list[Tensor] = []
        for w in reversed(self.widths):
            around = (total.around(w) + _EMPTY * coarse) / (mass.around(w) + _EMPTY)
            found.append(around)
            if config.right > 1:
                found.append((total.left(w) + _EMPTY * around) / (mass.left(w) + _EMPTY))
            if config.right >= w:
                found.append((total.ahead(w) + _EMPTY * around) / (mass.ahead(w) + _EMPTY))
            coarse = around
        found.append((x * weight + _EMPTY * coarse) / (weight + _EMPTY))
        return found

    def _sloped(self, reading: Tensor, weight: Tensor, tau: Tensor) -> list[Tensor]:
        """Local mean + τ · local slope of the reading, from weighted means A₁, A₂ of adjacent stretches of h samples.

        (A₁ + A₂)/2 + (τ/h)(A₂ − A₁); such a slope has 15 % more noise than that of a least-squares line. Windows end at
        the sample, begin at it, or have it in the middle. Without look-ahead they end at it, with and without the
        extrapolation from the middle of the window to its end.
        """
        config, known = self.config, weight + _EMPTY  # every window has a value: `reading` has no gaps
        total, mass = (Windows(x, config.reach, config.right) for x in (reading * known, known))
        ends = F.pad(reading, (config.reach - 1, total.right - 1), mode="replicate")
        found = []
        for h in self.halves:
            sums, slope = total.doubled[h], tau / h
            average = (sums + _LITTLE * ends[..., : sums.shape[-1]]) / (mass.doubled[h] + _LITTLE)
            before, after = 0.5 - slope, 0.5 + slope
            starts = (1 - 2 * h,) if config.right < config.reach else (1 - 2 * h, 1 - h, 0)
            for first, second in ((self._from(average, at + k, reading) for k in (0, h)) for at in starts):
                found.append(before * first + after * second)
                if config.right < config.reach:
                    found.append(second + (slope + 0.5 - 0.5 / h) * (second - first))
        return found

    def _from(self, doubled: Tensor, start: int, like: Tensor) -> Tensor:
        """Windows that begin `start` samples after each sample."""
        return doubled.narrow(-1, self.config.reach - 1 + start, like.shape[-1])

    def _filled(self, x: Tensor, mask: Tensor, mass: Windows, zero: Tensor) -> tuple[Tensor, Tensor]:
        """x with unobserved samples replaced by the finest average with an observation, and the coarsest average.

        Where no average contains one, both are the `zero` of the channel.
        """
        config = self.config
        total, count = Windows(x * mask, config.reach, config.right), mass.around(config.reach)
        coarse = base = torch.where(count > 0, total.around(config.reach) / count.clamp_min(1), zero)
        for w in reversed(self.widths[1:]):
            coarse = (total.around(w) + _EMPTY * coarse) / (mass.around(w) + _EMPTY)
        return x * mask + coarse * (1 - mask), base

    def _lag_features(self, reading: Tensor, tau: Tensor, gain: Tensor, per: Tensor) -> Tensor:
        """Features of the lag, (batch, channel, feature, time): contrasts of sloped averages in units of their noise.

        `per` is 1/σ of the reading, `tau` its time constant [samples], `gain` the growth of noise without the lag.
        """
        config = self.config
        sums = Windows(reading, config.reach, config.right)
        finer = reading + tau * (reading - shift(reading, -1))
        found = []
        for h in self.halves:
            begins = 1 - h if config.right == config.reach else 1 - 2 * h
            first, second = (self._from(sums.doubled[h], start, reading) / h for start in (begins, begins + h))
            coarser = 0.5 * (first + second) + tau / h * (second - first)
            found.append((finer - coarser) * (0.5 * h) ** 0.5 * torch.rsqrt(1 + 4 * (tau / h).square()))
            finer = coarser
        contrasts = (torch.stack(found, 2) * per[:, :, None]).clamp(-_FEATURE, _FEATURE)
        return torch.cat([torch.asinh(contrasts), torch.log(torch.stack([1 + tau, gain], 2))], 2)

    def _features(self, x: Tensor, base: Tensor, bound: Tensor, per: Tensor) -> Tensor:
        """Features of x alone, (batch, channel, feature, time): contrasts of averages, edges, level, roughness.

        `per` is 1/σ: everything is in units of the noise at its own time.
        """
        config = self.config
        sums = Windows(x - base, config.reach, config.right)
        found, finer = [], x - base
        for w in self.widths:
            coarser = sums.mean(w)
            found.append((finer - coarser) * (0.5 * w + min(w, config.right) * 0.5) ** 0.5)
            finer = coarser
            last = min(w // 2, config.right)
            found.append((sums.at(last - w // 2, w // 2) - sums.at(last - w, w // 2)) / w**0.5)
        before, after = shift(x, -1), shift(x, -2 if config.right == 1 else 1)
        bend = x - 0.5 * (before + after)
        rough = Windows(bend.square() / 1.5, 32, config.right)
        found += [x - torch.maximum(before, after), x - torch.minimum(before, after)]
        found += [sums.mean(4), sums.mean(4) + base - bound, x - bound]
        contrasts = (torch.stack(found, 2) * per[:, :, None]).clamp(-_FEATURE, _FEATURE)
        local = torch.stack([rough.mean(w) for w in (8, 32)], 2) * per.square()[:, :, None]
        return torch.cat([torch.asinh(contrasts), torch.log(local + 0.02)], 2)

    def _context(self, h: Tensor, crowd: Tensor) -> Tensor:
        """Features of the other channels, (batch, channel, 16, time): their mean, and the maximum over all."""
        batch, channels, time = crowd.shape
        summary = F.elu(self.summarise(h)).reshape(batch, channels, 8, time)
        share = (1 / crowd)[:, :, None]
        count = share.sum(1, keepdim=True)  # of channels with independent noise
        others = ((share * summary).sum(1, keepdim=True) - summary) / (count - 1).clamp_min(1)
        others = torch.where(count > 1, others, torch.zeros_like(others))
        return torch.cat([others, summary.amax(1, keepdim=True).expand_as(summary)], 2)

    def _regress(
        self, x: Tensor, y: Tensor, sigma: Tensor, related: Tensor, crowd: Tensor
    ) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Co-emission regression within each window: candidate, chosen correlation, share of "none".

        `related` (batch, i, j, time) is 1 where j has the noise of i, `crowd` (batch, j, time) counts such channels.
        For speed, terms of one channel are computed before pairs are formed or after they are summed.
        """
        config, longest = self.config, max(self.config.regressions)
        views = torch.stack([Windows(y, lag, 1).left(lag) / lag for lag in config.lags], 2)  # (b, j, v, t)
        products = x[:, :, None, None] * views[:, None]  # (b, i, j, v, t)
        series = [Windows(s, longest, config.right) for s in (x, x.square(), views, views.square(), products)]
        penalty = (-1e4 * related - torch.log(crowd)[:, None])[:, :, :, None]
        noise = sigma.square()
        found = []
        for k, window in enumerate(config.regressions):
            moments = _moments(series, window, noise)
            correlation = moments.correlation
            if config.right > 1:  # not for causal windows, which are too short: it would cost 0.45 dB
                chance = _CHANCE / series[4].count(window)
                correlation = correlation * (
                    1 + chance - chance / correlation.square().clamp_min(chance / (1 + chance))
                )
            share, none = self._pair_shares(k, correlation, moments, noise, penalty)
            total = share.sum(2) + none
            taken = share * correlation.flatten(2, 3)
            ridge = F.softplus(self.ridge[k])
            moves = (views - moments.view_mean) / (
                moments.view_scale * (moments.view_variance + ridge * noise[:, :, None])
            )
            moved = (taken * moves.flatten(1, 2)[:, None]).sum(2) / moments.scale
            found.append((moments.mean + moved / total, taken.sum(2) / total, none / total))
        return found

    def _pair_shares(
        self, k: int, correlation: Tensor, moments: _Moments, noise: Tensor, penalty: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Softmax numerators of every view of every other channel (b, i, j·v, t) and of "none" (b, i, t).

        The score of a pair is a polynomial of |correlation| whose coefficients depend on log(variance / noise).
        """
        prior, linear, square, square_by_view, square_by_own, by_view, none_by_own = self.pair_score[k].unbind()
        view_snr = torch.log(moments.view_variance / noise[:, :, None] + 0.05)[:, None]
        own_snr = torch.log(moments.variance / noise)
        size = correlation.abs()
        curvature = (square + square_by_own * own_snr)[:, :, None, None] + square_by_view * view_snr
        score = (size * (size * curvature + linear) + by_view * view_snr + penalty).flatten(2, 3)
        none = -prior - none_by_own * own_snr
        top = torch.maximum(score.amax(2), none).detach()
        return torch.exp(score - top[:, :, None]), torch.exp(none - top)

    # ── forward pass ──

    def forward(
        self,
        values: Tensor,
        valid: Tensor,
        sigma: Tensor,
        lag1: Tensor,
        bound: Tensor,
        group: Tensor,
        reading: Tensor,
        gain: Tensor,
        tau: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Estimate and one-sigma uncertainty; all arrays are (batch, channel, time), in physical units.

        `values` are the inverted reading, `sigma` and `lag1` describe their noise, which is `gain` times that of the
        `reading`; `tau` [samples] is the reading's time constant. Without lag values and reading are equal, tau is 0.
        Values, reading and `bound` (the level below which no true value lies) may be given relative to any constant.
        """
        config = self.config
        batch, channels, time = values.shape
        fine = torch.isfinite(values) & (values.abs() < LARGEST) & (reading.abs() < LARGEST)
        mask = (fine & (valid > 0.5)).to(values.dtype)
        known = torch.where(mask > 0, values, torch.zeros_like(values))
        # Constant in time and a power of two, so that results do not depend on the stretch given to the network.
        unit = torch.exp2(torch.maximum(sigma, known.abs() * RANGE).amax(-1, keepdim=True).log2().ceil())
        sigma, zero = (sigma / unit).clamp_min(RANGE), (bound / unit).clamp(-1 / RANGE, 1 / RANGE)
        per = 1 / sigma
        mass = Windows(mask, config.reach, config.right)
        x, base = self._filled(known / unit, mask, mass, zero)
        read = torch.where(mask > 0, reading, torch.zeros_like(values)) / unit
        read = self._filled(read, mask, mass, zero)[0] - base
        same = (known == shift(known, -1)).to(values.dtype)
        repeat = torch.where(mask > 0, same, torch.ones_like(mask)) * shift(mask, -1)  # no new value after a sample

        related = (group[:, :, None] == group[:, None]).to(values.dtype)  # (b, i, j, t): itself, and shared noise
        crowd = related.sum(1).clamp_min(1)  # channels with the same noise count as one
        flat = (batch * channels, -1, 1, time)
        state = torch.stack([mask, mass.around(8) / 15, repeat, lag1], 2)
        lag = self._lag_features(read, tau, gain, per * gain)
        h = self.enter(torch.cat([self._features(x, base, zero, per), state, lag], 2).reshape(flat))
        h = self.first(h + self.enter_context(self._context(h, crowd).reshape(flat)))

        chosen = self.choose_first(h).reshape(batch, channels, -1, time)
        trust = mask * torch.sigmoid(chosen[:, :, -1])
        sloped = [base + found for found in self._sloped(read, trust, tau)]
        averages = torch.stack(self._averages(x, trust, base) + sloped, 2)
        y = _mixed(chosen[:, :, :-1], averages)

        level = y - base
        trusted = (x - base) * trust + level * (1 - trust)  # untrusted samples do not enter the regression
        extra = [y]
        features = [
            torch.asinh(((x - y) * per).clamp(-_FEATURE, _FEATURE)),
            torch.log(((trusted - level) * per).square() + 0.02),
        ]
        for candidate, correlation, none in self._regress(trusted, level, sigma, related, crowd):
            misfit = Windows(trusted - candidate, 8, config.right)
            square = Windows((trusted - candidate).square(), 8, config.right)
            for w in (2, 4, 8):
                extra.append(base + candidate + misfit.mean(w))
            extra.append(base + candidate)
            features += [
                torch.asinh((2 * (candidate - level) * per).clamp(-_FEATURE, _FEATURE)),
                torch.asinh((2 * misfit.mean(4) * per).clamp(-_FEATURE, _FEATURE)),
                torch.log(square.mean(8) * per.square() + 0.02),
                correlation,
                none,
            ]
        h = self.enter_second(torch.cat([h, torch.stack(features, 2).reshape(flat)], 1))
        chosen = self.choose_second(self.second(h)).reshape(batch, channels, -1, time)
        estimate = _mixed(chosen[:, :, :-1], torch.cat([averages, torch.stack(extra, 2)], 2))
        estimate = torch.where(estimate == estimate, estimate, x)  # weights so large that float32 overflows
        # Least uncertainty of an average of n samples, σ √((1 + 2ρ)/n): records start too rarely for it to be learned.
        surest = ((1 + 2 * lag1).clamp_min(0.1) / mass.around(config.reach).clamp_min(1)).sqrt()
        doubt = torch.where(chosen[:, :, -1] == chosen[:, :, -1], chosen[:, :, -1], 6.0)
        spread = torch.maximum(torch.exp(doubt.clamp(-6, 6) - 1.5), surest)

        sample = known / unit
        high = highest(torch.where(mask > 0, sample, -LARGEST), config.reach, config.right) + WIDENED * sigma
        low = -highest(torch.where(mask > 0, -sample, -LARGEST), config.reach, config.right) - WIDENED * sigma
        within = torch.minimum(torch.maximum(estimate, low), high)
        return torch.where(high >= low, within * unit, bound), spread * sigma * unit
