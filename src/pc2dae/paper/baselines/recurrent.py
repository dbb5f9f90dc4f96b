"""Two recurrent rivals: an LSTM autoencoder with attention, and a contrastive blind denoising autoencoder of GRUs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

KEEP = 4.0  # bias of a GRU's update gate: σ(4) of the state is kept each step, a memory of 55 of a window's 128 steps


class LSTMAE(nn.Module):
    """A bidirectional LSTM, self-attention with a residual, an LSTM back, a linear read-out: 63,439 parameters."""

    def __init__(self, channels: int, *, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.encoder = nn.LSTM(channels, width, batch_first=True, bidirectional=True)
        self.attention = nn.MultiheadAttention(2 * width, heads, batch_first=True)
        self.decoder = nn.LSTM(2 * width, 2 * width, batch_first=True)
        self.read_out = nn.Linear(2 * width, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channel, time) → the same."""
        h, _ = self.encoder(x.transpose(1, 2))
        h = h + self.attention(h, h, h, need_weights=False)[0]
        h, _ = self.decoder(h)
        y: Tensor = self.read_out(h)
        return y.transpose(1, 2)


class CBDAE(nn.Module):
    """GRU to GRU: the encoder's final state starts the decoder, which feeds on its own last output: 49,155 parameters.

    A small projection of the final state is trained so that windows next to each other in time look alike: what they
    share is signal, what they do not is noise (Langarica & Núñez 2023, doi:10.1016/j.engappai.2023.105838).
    """

    def __init__(self, channels: int, *, width: int = 48, layers: int = 2) -> None:
        super().__init__()
        self.encoder = nn.GRU(channels, width, layers, batch_first=True)
        self.decoder = nn.GRU(channels, width, layers, batch_first=True)
        for gru in (self.encoder, self.decoder):
            _remember(gru)
        self.read_out = nn.Linear(width, channels)
        self.projection = nn.Sequential(nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, width // 4))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channel, time) → the same, each step decoded from the one before."""
        return self.decode(self.encode(x), x.shape[-1])

    def encode(self, x: Tensor) -> Tensor:
        """The final state, (layer, batch, width), from a start of zeros."""
        state: Tensor = self.encoder(x.transpose(1, 2))[1]
        return state

    def decode(self, state: Tensor, length: int, *, teacher: Tensor | None = None) -> Tensor:
        """The record of a state, fed with its own outputs, or with those of `teacher` (batch, channel, time)."""
        if teacher is not None:
            start = state.new_zeros(state.shape[1], 1, self.read_out.out_features)
            fed = torch.cat([start, teacher.transpose(1, 2)[:, :-1]], dim=1)
            y: Tensor = self.read_out(self.decoder(fed, state)[0])
            return y.transpose(1, 2)
        return self._alone(state, length)

    def _alone(self, state: Tensor, length: int) -> Tensor:
        """Each step fed with the last: cell by cell, the read-out folded into the first layer's weights.

        The same numbers as the decoder called step by step, in half the time.
        """
        gru = self.decoder
        cells = [[getattr(gru, f"{kind}_l{layer}") for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
                 for layer in range(gru.num_layers)]  # fmt: skip
        weight, bias = cells[0][0], cells[0][2]
        fed = [weight @ self.read_out.weight, cells[0][1], bias + weight @ self.read_out.bias, cells[0][3]]
        hidden, outputs = list(state), []
        for step in range(length):
            below = hidden[-1] if step else state.new_zeros(state.shape[1], gru.input_size)
            for layer, cell in enumerate([fed if step else cells[0], *cells[1:]]):
                hidden[layer] = below = torch.gru_cell(below, hidden[layer], *cell)
            outputs.append(below)
        y: Tensor = self.read_out(torch.stack(outputs, dim=1))
        return y.transpose(1, 2)

    def code(self, state: Tensor) -> Tensor:
        """What the contrastive term compares, (batch, width/4)."""
        z: Tensor = self.projection(state[-1])
        return z


@torch.no_grad()
def _remember(gru: nn.GRU) -> None:
    """Start with update gates that keep the state, h ← z·h + (1 − z)·n with z ≈ σ(KEEP).

    With torch's z ≈ 1/2 the decoder's output at step 64 depends on the code by 1e-9 and at step 127 by 1e-17, and the
    code on the first half of the window by no more: training finds one level per channel for all windows alike.
    """
    update = slice(gru.hidden_size, 2 * gru.hidden_size)
    for layer in range(gru.num_layers):
        getattr(gru, f"bias_ih_l{layer}")[update] = KEEP
        getattr(gru, f"bias_hh_l{layer}")[update] = 0.0
