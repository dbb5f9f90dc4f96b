"""The five baselines: counts as published, shapes, the bound of their output heads, and their own loss terms."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pc2dae.model.batch import Batch  # noqa: E402
from pc2dae.paper.baselines import baseline_loss, build  # noqa: E402
from pc2dae.paper.baselines.convolutional import DeSpaWN  # noqa: E402
from pc2dae.paper.baselines.loss import contrast, with_consecutive  # noqa: E402
from pc2dae.paper.baselines.output_head import CORES  # noqa: E402
from pc2dae.paper.baselines.transformer import positions  # noqa: E402
from pc2dae.suite import load_suite  # noqa: E402
from pc2dae.training.networks import BASELINE_NETWORKS  # noqa: E402
from pc2dae.training.run import crops_for  # noqa: E402
from pc2dae.windows.scaling import Scaler  # noqa: E402
from pc2dae.windows.slicing import Record, Segment, random_crops  # noqa: E402

SUITE = load_suite("black-kite").only(["bc", "gas", "co2"])
CHANNELS = len(SUITE.names)
BOUND = tuple(c.lower_bound for c in SUITE.channels)
SCALER = Scaler(BOUND, (100.0,) * CHANNELS, (0.1,) * CHANNELS, (20.0, 50.0, 1000.0), (5.0, 10.0, 10.0))
COUNTS = {"lstm-ae": 63_439, "unet": 819_639, "transformer": 19_167, "cbdae": 49_155, "despawn": 1_080}


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)


def windows(count: int = 4, length: int = 128) -> Batch:
    values = torch.tensor(BOUND)[:, None] + 10 + 5 * torch.randn(count, CHANNELS, length)
    ones = torch.ones_like(values)
    noise = torch.full((count, CHANNELS), 5.0)
    return Batch(values, ones, torch.zeros(count, 3, length), noise, values.clone(), ones, ones)


@pytest.mark.parametrize("name", CORES)
def test_the_published_number_of_parameters(name: str) -> None:
    for network in (name, f"{name}+softplus", f"{name}+softplus+tv", f"{name}+skip"):
        assert network in BASELINE_NETWORKS
        assert sum(p.numel() for p in build(network, SUITE, SCALER).parameters()) == COUNTS[name]


@pytest.mark.parametrize("name", BASELINE_NETWORKS)
def test_shape_finiteness_and_the_bound_of_the_output_head(name: str) -> None:
    network = build(name, SUITE, SCALER).eval()
    batch = windows()
    batch.values[0, 0, 5], batch.values[1, 2, 7] = float("nan"), float("inf")
    batch.values[2] -= 500
    with torch.no_grad():
        out = network(batch.values, batch.valid, batch.environment, batch.noise)
    assert out.shape == batch.values.shape
    assert torch.isfinite(out).all()
    if "softplus" in name or "skip" in name:
        assert (out >= torch.tensor(BOUND)[:, None]).all()


def test_despawn_reconstructs_exactly_without_thresholds() -> None:
    core = DeSpaWN(CHANNELS, threshold=0.0)
    x = torch.randn(3, CHANNELS, 128)
    assert core(x).detach().numpy() == pytest.approx(x.numpy(), abs=1e-5)


def test_despawn_coefficients_keep_the_energy_and_large_thresholds_take_all() -> None:
    x = torch.randn(1, CHANNELS, 128)
    found = torch.cat(DeSpaWN(CHANNELS, threshold=0.0).coefficients(x), dim=-1).detach()
    assert found.shape[-1] == 256
    assert float((found**2).sum()) == pytest.approx(2 * float((x**2).sum()), rel=1e-4)
    assert float(DeSpaWN(CHANNELS, threshold=50.0)(x).detach().abs().max()) == pytest.approx(0.0, abs=1e-6)


def test_despawn_channels_do_not_touch() -> None:
    core = DeSpaWN(CHANNELS)
    x = torch.randn(1, CHANNELS, 128)
    other = x.clone()
    other[:, 0] += 10
    assert torch.equal(core(x)[:, 1:], core(other)[:, 1:])


def test_cbdae_with_itself_as_teacher_says_what_it_says_alone() -> None:
    core = CORES["cbdae"](CHANNELS)
    x = torch.randn(2, CHANNELS, 32)
    state = core.encode(x)
    alone = core.decode(state, 32)
    assert core.decode(state, 32, teacher=alone).detach().numpy() == pytest.approx(alone.detach().numpy(), abs=1e-5)


def test_a_fresh_cbdae_remembers_a_whole_window() -> None:
    core = CORES["cbdae"](CHANNELS)
    x = torch.randn(4, CHANNELS, 128, requires_grad=True)
    state = core.encode(x)
    (early,) = torch.autograd.grad(state.sum(), x, retain_graph=True)
    (late,) = torch.autograd.grad(core.decode(state, 128)[..., -1].sum(), state)
    assert float(early[..., 0].norm()) > 1e-3  # from torch's own start: 0, underflown
    assert float(late.norm()) > 1e-1  # 3e-21


def test_cbdae_soon_tells_one_window_from_another() -> None:
    core = CORES["cbdae"](CHANNELS)
    level = torch.rand(16, 1, 1)
    x = level + 0.1 * torch.randn(16, CHANNELS, 128)
    optimiser = torch.optim.Adam(core.parameters(), lr=1e-2)
    for _ in range(20):
        optimiser.zero_grad()
        (core(x) - x).abs().mean().backward()
        optimiser.step()
    # The noise alone leaves 0.08, one level for all windows 0.25; from torch's own start it stands at 0.20 by now.
    assert float((core(x) - x).detach().abs().mean()) < 0.12


def test_contrast_is_low_when_neighbours_are_alike_and_random_windows_are_not() -> None:
    along, away = torch.tensor([[1.0, 0.0]]).repeat(3, 1), torch.tensor([[-1.0, 0.0]]).repeat(3, 1)
    # One positive of similarity 1 against three negatives of −1: −log(e / (e + 3/e)).
    best = -np.log(np.e / (np.e + 3 / np.e))
    assert float(contrast(torch.cat([along, away]))) == pytest.approx(best, rel=1e-5)
    assert float(contrast(torch.cat([along, along]))) == pytest.approx(np.log(4), rel=1e-5)


def test_positions_are_those_of_the_formula() -> None:
    table = positions(3, 4).numpy()
    assert table[2] == pytest.approx([np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)], abs=1e-6)


@pytest.mark.parametrize("name", [*CORES, "cbdae+softplus+tv", "despawn+softplus+tv"])
def test_a_few_steps_lower_the_loss(name: str) -> None:
    network = build(name, SUITE, SCALER)
    loss = baseline_loss(name, [len(f.channel) for f in SUITE.family], steps=100)
    batch = windows(4)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    totals = []
    for step in range(3):
        network.train()
        terms = loss(network, batch, step)
        assert ("variation" in terms) == name.endswith("+tv")
        assert ("sparsity" in terms) == name.startswith("despawn")
        assert ("contrast" in terms) == name.startswith("cbdae")
        total = sum(terms.values())
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
        totals.append(float(total.detach()))
    assert min(totals[1:]) < totals[0]


def test_cbdae_is_judged_on_its_reconstruction_alone() -> None:
    network = build("cbdae", SUITE, SCALER).eval()
    assert set(baseline_loss("cbdae", [4, 9, 2], steps=10)(network, windows(2), 5)) == {"mae"}


def test_cbdae_draws_consecutive_windows_first() -> None:
    count, size = 6, 600
    ramp = np.broadcast_to(np.arange(size, dtype=np.float32), (CHANNELS, size))
    record = Record(ramp.copy(), np.ones((CHANNELS, size), bool), np.zeros((3, size), np.float32))
    crops = with_consecutive([record], [Segment(0, 0, size)], np.random.default_rng(0), count=count)
    assert len(crops.values) == 2 * count
    assert np.diff(crops.values[:count, 0, 64]).tolist() == [1.0] * (count - 1)
    assert crops_for("cbdae+softplus") is with_consecutive
    assert crops_for("unet") is random_crops
