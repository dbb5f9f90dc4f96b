from pathlib import Path

from pc2dae.report.truth import draw_truth
from pc2dae.simulate import simulate_flight, true_grid


def test_every_channel_and_the_track_are_drawn(tmp_path: Path) -> None:
    flown = simulate_flight(2, 3)
    others = [name for name in flown.truth if str(name).endswith("_response") and not str(name).startswith("co")]
    truth = flown.truth.drop_vars(others)  # a picture of all channels is drawn in tests/cli/test_simulate.py
    for name, flight in (("with.png", true_grid(flown.streams, flown.truth)), ("without.png", None)):
        draw_truth(truth, flight, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "with.png").stat().st_size > (tmp_path / "without.png").stat().st_size
