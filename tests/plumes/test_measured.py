"""A ratio needs both: samples at which one was not measured are in no ratio, slope or factor."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pc2dae.cli.app import app
from pc2dae.errors import FlightError
from pc2dae.flags import MISSING
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.plumes import survey
from pc2dae.plumes.signals import Signal
from pc2dae.suite import parse_suite

T = np.arange(1500.0)
PUFFS = [np.exp(-0.5 * ((T - at) / 12) ** 2) for at in (300, 700, 1100)]
SUITE = parse_suite(
    'name = "s"\n[[family]]\nname = "gas"\n'
    + "".join(f'[[family.channel]]\nname = "{n}"\nunits = "{u}"\n' for n, u in
              (("co", "ppb"), ("co2", "ppm"), ("nox", "ppb"), ("acetonitrile", "ppb"), ("glow", "mV"))),
    where="test",
)  # fmt: skip
TRUTH = {"co": 4000.0, "co2": 80.0, "nox": 200.0, "acetonitrile": 12.0, "glow": 5.0}


def flight(*, gaps: list[tuple[int, int]] | None = None):
    rng, base = np.random.default_rng(3), {"co": 100.0, "co2": 420.0, "nox": 2.0, "acetonitrile": 0.2, "glow": 1.0}
    values = {n: base[n] + h * sum(PUFFS) + rng.normal(0, h / 400, len(T)) for n, h in TRUTH.items()}
    time = np.datetime64("2025-10-14T18:00:00", "ns") + T.astype(int) * np.timedelta64(1, "s")
    made = new_flight(time, values, SUITE, level="screened")
    for start, stop in gaps or []:
        made["nox"][start:stop] = np.nan
        made["qc_nox"][start:stop] = MISSING
    return made


def rows(found, ratio: str, method: str = "integral"):
    return found.ratios.query("ratio == @ratio and method == @method").set_index("scope")


def test_an_encounter_in_which_one_was_not_measured_has_no_ratio() -> None:
    found = survey(flight(gaps=[(600, 800)]))
    nox = rows(found, "nox/co")
    assert "encounter 2" not in nox.index
    assert nox.value["flight"] == pytest.approx(0.05, rel=0.02)
    assert nox.share["flight"] == pytest.approx(2 / 3, abs=0.02)
    assert "nox" not in set(found.emission_factors.query("scope == 'encounter 2'").species)
    assert rows(found, "co/co2").share["flight"] == 1.0


def test_half_a_peak_gives_the_ratio_of_what_was_measured() -> None:
    found = survey(flight(gaps=[(300, 340)]))
    nox = rows(found, "nox/co")
    assert nox.value["encounter 1"] == pytest.approx(0.05, rel=0.03)
    assert 0.3 < nox.share["encounter 1"] < 0.7
    factors = found.emission_factors.query("species == 'nox'").set_index("scope")
    assert factors.value["encounter 1"] == pytest.approx(factors.value["encounter 3"], rel=0.05)
    slopes = rows(found, "nox/co", "slope")
    assert slopes.value["encounter 1"] == pytest.approx(0.05, rel=0.05)


def test_a_slow_sensor_is_measured_between_its_samples() -> None:
    seen = np.zeros(30, bool)
    seen[[0, 2, 4, 6, 8, 10, 20, 22, 24, 26, 28]] = True
    made = Signal.__new__(Signal)
    made.__dict__.update(seen=seen, parts=())
    assert made.measured.astype(int).tolist() == [1] * 11 + [0] * 9 + [1] * 9 + [0]


def test_own_pairs_of_channels_and_species() -> None:
    found = survey(flight(), ratios=["acetonitrile/co", "nox/co2"])
    assert rows(found, "acetonitrile/co").value["flight"] == pytest.approx(12 / 4000, rel=0.02)
    assert rows(found, "nox/co2").value["flight"] == pytest.approx(200 / 80_000, rel=0.02)


@pytest.mark.parametrize(("ratio", "words"), [
    ("glow/co", "ratio glow/co: mV and ppb cannot be compared"),
    ("acetonitril/co", "ratio acetonitril/co: the flight has no 'acetonitril'; did you mean 'acetonitrile'?"),
    ("co", "invalid ratio 'co'"),
])  # fmt: skip
def test_a_pair_that_cannot_be_is_refused(ratio: str, words: str) -> None:
    with pytest.raises(FlightError, match=words):
        survey(flight(), ratios=[ratio])


def test_derived_numbers_can_be_propagated_from_the_json(tmp_path: Path) -> None:
    write_flight(flight(), tmp_path / "flight.nc")
    run = CliRunner().invoke(app, ["plumes", str(tmp_path / "flight.nc"), "--ratio", "acetonitrile/co", "--json"])
    printed = json.loads(run.stdout)
    whole = next(one for one in printed["covariance"] if one["scope"] == "flight")
    matrix = np.array(whole["matrix"])
    sigma = dict(zip(whole["names"], np.sqrt(np.diag(matrix)), strict=True))
    stated = {row["ratio"]: row["sigma"] for row in printed["ratios"]
              if row["scope"] == "flight" and row["method"] == "integral"}  # fmt: skip
    assert sigma["acetonitrile/co"] == pytest.approx(stated["acetonitrile/co"], rel=1e-6)
    co, mce = (whole["names"].index(name) for name in ("co/co2", "mce"))
    correlation = matrix[co, mce] / np.sqrt(matrix[co, co] * matrix[mce, mce])
    assert correlation == pytest.approx(-1.0, abs=1e-6)  # MCE is a function of ΔCO/ΔCO₂ alone
