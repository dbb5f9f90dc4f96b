import numpy as np
import pytest

from pc2dae.flight.schema import new_flight
from pc2dae.plumes import survey
from pc2dae.plumes.cleanest import cleanest_parts, follows_smoke
from pc2dae.suite import parse_suite

T = np.arange(2400.0)
SPECIES = {"co": [0], "co2": [1]}
SPANS = np.array([1.0, 220.0])  # of outdoor air [ppm]
SUITE = parse_suite(
    'name = "s"\n[[family]]\nname = "gas"\n[[family.channel]]\nname = "co"\nunits = "ppm"\n'
    '[[family.channel]]\nname = "co2"\nunits = "ppm"',
    where="test",
)
RATIO = 0.05
START = np.datetime64("2026-04-08T18:00:00", "ns")


def stove(*, before: int = 300, after: int = 300) -> np.ndarray:
    """Excess CO₂ of a fire [ppm] that burns between clean air, and wavers slowly."""
    burning = (before < T) & (len(T) - after > T)
    return np.where(burning, 600.0 + 150.0 * np.sin(T / 90) + 60.0 * np.sin(T / 17), 0.0)


def flight(co2: np.ndarray):
    rng = np.random.default_rng(0)
    values = {"co": 0.2 + RATIO * co2 + rng.normal(0, 0.05, len(T)), "co2": 420 + co2 + rng.normal(0, 1, len(T))}
    time = START + T.astype(int) * np.timedelta64(1, "s")
    return new_flight(time, values, SUITE, level="screened")


def test_clean_parts_are_low_in_all_species() -> None:
    smoke = stove()
    lone = np.where((T > 50) & (T < 150), 400.0, 0.0)  # carbon dioxide alone
    parts, is_clean = cleanest_parts(np.stack([RATIO * smoke, smoke + lone]), SPECIES, window=60)
    assert is_clean
    assert parts[160:290].all()
    assert not parts[310:2090].any()
    assert not parts[60:140].any()


def test_a_record_that_is_never_low_in_all_species_has_no_clean_air() -> None:
    swing = 50 + 50 * np.sin(T / 60)
    _, is_clean = cleanest_parts(np.stack([swing, 100 - swing]), SPECIES, window=60)
    assert not is_clean


@pytest.mark.parametrize(("co", "co2", "expected"), [(10.0, 300.0, True), (10.0, 0.0, False), (0.5, 30.0, False)])
def test_outdoor_air_holds_no_ppm_of_carbon_monoxide_and_a_lone_cell_may_drift(
    co: float, co2: float, expected: bool
) -> None:
    values = np.stack([0.1 + 0.02 * stove(), 420 + stove()])
    clean = cleanest_parts(values, SPECIES, window=60)[0]
    bump = np.where((T > 1000) & (T < 1200), 1.0, 0.0)
    level = np.stack([0.1 + co * bump, 420 + co2 * bump])
    assert follows_smoke(level, values, clean, SPECIES, SPANS, window=60) is expected


def test_long_smoke_keeps_its_ratio() -> None:
    found = survey(flight(stove()))
    assert found.background is not None
    assert found.background.kind == "cleanest"
    (ratio,) = found.ratios.query("scope == 'flight' and ratio == 'co/co2' and method == 'integral'").itertuples()
    assert ratio.value == pytest.approx(RATIO, rel=0.02)
    assert found.kinds == ("smoke",)


def test_a_record_of_nothing_but_smoke_says_what_to_mark() -> None:
    whole = flight(600 + 150 * np.sin(T / 60))
    whole["co"] = whole["co"] + 15 * np.sin(T / 60 + 2.5)  # never low together
    found = survey(whole)
    assert found.background is not None
    assert not found.background.is_good
    assert "--clean-air START/END" in found.background.reason
    assert not found.ratios["is_preferred"].any()
    assert not found.emission_factors["is_good"].any()


def test_stated_clean_air_makes_the_background_and_smoke_in_it_is_named() -> None:
    record = flight(stove())
    time = record["time"].values
    good, bad = (time[10], time[200]), (time[1000], time[1100])
    found = survey(record, clean_air=[good])
    assert found.background is not None
    assert (found.background.kind, found.background.smoky) == ("clean-air", ())
    found = survey(record, clean_air=[good, bad])
    assert found.background is not None
    assert found.background.smoky == (bad,)
    assert "2026-04-08T18:16:40Z/2026-04-08T18:18:20Z is itself in smoke" in found.background.reason
    assert not found.ratios["is_preferred"].any()


def test_a_lone_gas_is_an_encounter_and_not_smoke() -> None:
    record = flight(0 * T)
    record["co"] = record["co"] + 5 * np.exp(-0.5 * ((T - 1200) / 15) ** 2)
    found = survey(record)
    assert found.kinds == ("encounter",)


def test_clean_air_and_ratios_of_a_suite_are_used() -> None:
    stated = SUITE.model_copy(
        update={
            "plumes": SUITE.plumes.model_copy(
                update={"clean_air": ("2026-04-08T18:00:10Z/2026-04-08T18:03:00Z",), "ratios": ("co2/co",)}
            )
        }
    )
    record = flight(stove()).assign_attrs(suite=stated.model_dump_json(exclude_defaults=True))
    found = survey(record)
    assert found.background is not None
    assert found.background.kind == "clean-air"
    assert "co2/co" in set(found.ratios["ratio"])
    other = survey(record.assign_coords(time=record["time"] + np.timedelta64(1, "D")))  # another flight of the payload
    assert other.background is not None
    assert other.background.kind == "cleanest"
