import numpy as np
import pytest

from pc2dae.errors import FlightError
from pc2dae.flags import OUT_OF_RANGE
from pc2dae.flight.schema import new_flight
from pc2dae.plumes import survey
from pc2dae.plumes.channel_signals import channel_signals
from pc2dae.plumes.flight_signals import encounter_intervals
from pc2dae.plumes.species import sensors
from pc2dae.plumes.species_signals import species_signals
from pc2dae.plumes.survey import without_slope
from pc2dae.plumes.table import encounter_table
from pc2dae.suite import Channel, Suite, load_suite, parse_suite
from pc2dae.suite.species import species_of
from suites import make_suite

KITE = load_suite("black-kite").only(["bc", "gas", "co2"])
T = np.arange(1500.0)
SMOKE = sum(h * np.exp(-0.5 * ((T - c) / 10) ** 2) for h, c in [(1.0, 300), (0.5, 800), (0.7, 1200)])
START = np.datetime64("2025-10-14T18:00:00", "ns")


def flight(*, seed: int = 0, noise: float = 1.0):
    """Three plumes with known ratios over clean air, each channel with its usual noise."""
    rng = np.random.default_rng(seed)
    heights = {"co": (100, 5000), "co2": (420, 80), "bc": (300, 20_000), "no": (5, 40), "no2": (5, 60)}
    values = {}
    for channel in KITE.channels:
        base, height = heights.get(channel.name.split("_")[0], (10, 0))
        values[channel.name] = base + height * SMOKE + noise * channel.noise_sigma * rng.normal(size=len(T))
    time = START + np.arange(len(T)) * np.timedelta64(1, "s")
    return new_flight(time, values, KITE, level="compensated")


def test_species_come_from_standard_names_or_from_the_beginning_of_a_name() -> None:
    suite = Suite.model_validate(
        {"name": "s", "family": [{"name": "g", "channel": [{"name": n, "units": "ppb"} for n in ("CO_ppb", "h2")]}]}
    )
    assert [species_of(c) for c in suite.channels] == ["co", None]
    assert sensors(KITE) == {
        "bc": ("bc_ir_1", "bc_ir_2"),
        "co": ("co_a", "co_b"),
        "co2": ("co2_li830",),  # the SCD30 takes 46 s
        "no": ("no_a", "no_b"),
        "no2": ("no2_a", "no2_b"),
        "o3": ("o3_a", "o3_b"),
        "so2": ("so2_a",),
    }
    named = {
        "mole_fraction_of_methane_in_dry_air": "ppm",
        "mass_concentration_of_carbon_monoxide_in_air": "ug m-3",
        "mass_concentration_of_pm2p5_ambient_aerosol_particles_in_air": "ug m-3",
    }
    channels = [Channel(name=f"x{i}", units=u, standard_name=n) for i, (n, u) in enumerate(named.items())]
    assert [species_of(c) for c in channels] == ["ch4", "co", "pm25"]
    assert [species_of(Channel(name=n, units="ug m-3")) for n in ("PM2_5", "pm1_a", "pm10")] == ["pm25", "pm1", "pm10"]


def test_the_ratios_that_were_put_in_come_out() -> None:
    found = survey(flight())
    ratios = found.ratios[found.ratios.scope == "flight"].set_index(["ratio", "method"])
    expected = {"bc/co": 20_000 / 5000, "nox/co": 100 / 5000, "co/co2": 5000 / 80_000}
    for name, value in expected.items():
        for method in ("integral", "slope"):
            row = ratios.loc[(name, method)]
            assert abs(row.value - value) < 3 * row.sigma, (name, method)
            assert row.random_sigma < 0.2 * value, (name, method)  # a slope has a block of 15 s for each sample
    mce = ratios.loc[("mce", "integral")]
    assert mce.value == pytest.approx(80_000 / 85_000, abs=0.003)
    assert ratios.loc[("bc/co", "integral")].units == "ng m-3 per ppb"


def test_encounters_are_found_with_their_times_and_excess() -> None:
    found = survey(flight())
    co = found.encounters[found.encounters.channel == "co_a"]
    assert list(co.number) == [1, 2, 3]
    peaks = (co.peak_time.to_numpy() - START) / np.timedelta64(1, "s")
    assert peaks == pytest.approx([300, 800, 1200], abs=3)
    true = 5000 * np.array([1.0, 0.5, 0.7]) * 10 * np.sqrt(2 * np.pi)
    assert co.excess.to_numpy() == pytest.approx(true, rel=0.02)


def test_a_peak_has_the_uncertainty_of_its_estimate_and_of_its_background() -> None:
    raw = flight()
    row = survey(raw).encounters.set_index(["channel", "number"]).loc[("co_a", 1)]
    noise = KITE["co_a"].noise_sigma
    assert 0.9 * noise < row.peak_sigma < 1.5 * noise
    assert row.snr == pytest.approx(row.peak / row.peak_sigma)
    sigma = np.full(len(T), noise)
    sigma[290:310] = 400.0  # where the lag is uncertain
    stated = survey(raw.assign(co_a_uncertainty=("time", sigma)))
    table = encounter_table(raw, stated)
    assert 400 < table.co_a_peak_sigma[1] < 420
    assert table.co_a_peak_sigma[2] < 1.5 * noise
    assert table.co_a_peak_sigma[0] == table.co_a_peak_sigma[1]  # that of the highest


def test_the_uncertainty_of_a_peak_covers_its_error() -> None:
    centres, heights = [300, 800, 1200], 5000 * np.array([1.0, 0.5, 0.7])
    scores = []
    for seed in range(20):
        signal = channel_signals(flight(seed=seed), KITE)["co_a"]
        peaks = [signal.peak((c, c + 1)) for c in centres]  # the highest of noisy samples would be too high
        scores += [(value - true) / sigma for (value, sigma), true in zip(peaks, heights, strict=True)]
    assert np.abs(np.mean(scores)) < 0.5
    assert 0.7 < np.std(scores) < 1.2


def test_a_cell_that_settles_from_high_is_told_apart_and_changes_no_ratio() -> None:
    settling = flight()
    settling["co_b"] = settling["co_b"] + 2000 * np.exp(-T / 20)
    found, usual = survey(settling), survey(flight())
    assert list(found.begun.channel) == ["co_b"]
    assert found.begun.set_index("channel").excess["co_b"] == pytest.approx(2000 * 20, rel=0.25)  # less its tail
    assert usual.begun.empty
    assert list(found.encounters[found.encounters.channel == "co_b"].number) == [1, 2, 3]
    ratios = [
        t[(t.scope == "flight") & (t.method == "integral")].value.to_numpy() for t in (found.ratios, usual.ratios)
    ]
    assert ratios[0] == pytest.approx(ratios[1], rel=0.03)


def test_a_record_that_begins_in_smoke_says_so() -> None:
    begun = flight().isel(time=slice(300, None))
    found = survey(begun)
    assert {"co_a", "co2_li830", "bc_ir_1"} <= set(found.begun.channel)
    assert found.begun.set_index("channel").peak["co_a"] == pytest.approx(5000, rel=0.05)
    assert list(found.encounters[found.encounters.channel == "co_a"].number) == [1, 2]
    signals = species_signals(channel_signals(begun, KITE), KITE)
    assert [a > 100 for a, _ in encounter_intervals(signals, 1.0)] == [True, True]


def test_smoke_a_few_samples_after_the_first_is_an_encounter() -> None:
    late = flight()
    for channel in KITE.names:  # what came before was not observed: the sensor starts up
        late[f"qc_{channel}"][:260] = 256
    assert survey(late).begun.empty
    for channel in KITE.names:
        late[f"qc_{channel}"][:300] = 256
    assert "co_a" in set(survey(late).begun.channel)


def test_the_unbounded_estimate_is_what_counts() -> None:
    clean = flight()
    clean["co_a_unbounded"] = clean["co_a"] * 2
    clean["co_a_raw"] = clean["co_a"]
    doubled = survey(clean).encounters.set_index(["channel", "number"]).peak
    single = survey(flight()).encounters.set_index(["channel", "number"]).peak
    assert doubled["co_a", 1] == pytest.approx(2 * single["co_a", 1], rel=1e-3)


def test_slopes_of_differently_slow_channels_are_taken_at_the_slower_response() -> None:
    slow = flight(noise=0.05)
    keep = 10 ** (-1 / 4.0)  # CO's t90 of 4 s; the others answer at once here, so say so
    for name in ("co_a", "co_b"):
        smeared = [float(slow[name].values[0])]
        for value in slow[name].values[1:]:
            smeared.append(keep * smeared[-1] + (1 - keep) * float(value))
        slow[name] = ("time", np.array(smeared), slow[name].attrs)
    table = KITE.model_dump()
    for family in table["family"]:
        for channel in family["channel"]:
            if channel["name"].startswith(("bc", "co2_li")):
                channel["t90_s"] = 0.0
    suite = Suite.model_validate(table)
    slow.attrs["suite"] = suite.model_dump_json(exclude_defaults=True)
    ratios = survey(slow).ratios.set_index(["scope", "ratio", "method"])
    assert ratios.loc[("flight", "bc/co", "slope"), "value"] == pytest.approx(4, rel=0.002)


def test_a_lag_that_was_corrected_is_not_undone_again() -> None:
    free = flight(noise=0.05)  # nothing lags in it
    for name in ("bc_ir_1", "bc_ir_2", "co_a", "co_b", "co2_li830"):  # t90 of 2 and 4 s in the suite
        free[name].attrs |= {"target": "ambient", "effective_resolution_s": 1.0}
    ratios = survey(free).ratios.set_index(["scope", "ratio", "method"])
    assert ratios.loc[("flight", "bc/co", "slope"), "value"] == pytest.approx(4, rel=0.002)
    free["co_b"].attrs["target"] = "response"  # slower than its corrected twin: no longer averaged with it
    free["co_b"] = 2 * free["co_b"]
    lagging = survey(free).ratios.set_index(["scope", "ratio", "method"])
    assert lagging.loc[("flight", "bc/co", "slope"), "value"] == pytest.approx(4, rel=0.002)


def test_species_that_do_not_rise_together_have_no_slope() -> None:
    apart = flight()
    for name in ("no_a", "no_b", "no2_a", "no2_b"):  # beside the smoke, as from a road
        apart[name] = ("time", np.roll(apart[name].values, 25), apart[name].attrs)
    whole = {made: (t := survey(f).ratios)[t.scope == "flight"] for made, f in (("apart", apart), ("as one", flight()))}
    methods = {made: sorted(t[t.ratio == "nox/co"].method) for made, t in whole.items()}
    assert methods == {"apart": ["integral"], "as one": ["integral", "slope"]}
    assert without_slope(whole["apart"]) == ["nox/co"]
    assert without_slope(whole["as one"]) == []


def test_a_flight_without_smoke_has_no_ratio() -> None:
    quiet = flight()
    for name in KITE.names:
        quiet[name] = ("time", 400 + np.random.default_rng(1).normal(0, 1, len(T)), quiet[name].attrs)
    assert survey(quiet).ratios.empty


SMALL = """
name = "small"
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "{co}"
valid_min = -5.0
[[family.channel]]
name = "co2"
units = "ppm"
"""


def small(co, co2, *, units: str = "ppm", qc_co: int = 0):
    suite = parse_suite(SMALL.format(co=units), where="test")
    time = START + np.arange(len(T)) * np.timedelta64(1, "s")
    flags = {"co": np.full(len(T), qc_co)}
    return new_flight(time, {"co": co, "co2": co2}, suite, flags=flags, level="compensated")


def test_constant_channels_have_no_encounter_and_so_no_ratio() -> None:
    rounding = 150.0 * (1 + 1e-15 * np.random.default_rng(0).normal(size=len(T)))
    for co in (np.full(len(T), 150.0), rounding):
        found = survey(small(co, np.full(len(T), 400.1)))
        assert found.encounters.empty
        assert found.begun.empty
        assert found.ratios.empty
        assert found.intervals == ()


def test_a_channel_without_a_usable_sample_has_no_encounter() -> None:
    rng = np.random.default_rng(0)
    impossible = -1e6 + 1e5 * SMOKE
    found = survey(small(impossible, 400 + 80 * SMOKE + rng.normal(0, 1, len(T)), qc_co=OUT_OF_RANGE))
    assert set(found.encounters.channel) == {"co2"}
    assert found.ratios.empty
    assert len(found.intervals) == 3  # of CO₂, in place of CO
    assert np.isfinite(found.encounters.snr).all()
    with pytest.raises(FlightError, match="no channel of the flight has a usable observation"):
        survey(small(impossible, np.full(len(T), np.nan), qc_co=OUT_OF_RANGE))


def test_where_no_noise_is_known_nothing_is_significant() -> None:
    few = small(np.full(len(T), np.nan), 400 + 80 * SMOKE + np.random.default_rng(0).normal(0, 1, len(T)))
    few["co"][[0, 700, 710, 1499]] = [1.0, 1.0, 9.0, 1.0]  # four samples
    few["qc_co"][[0, 700, 710, 1499]] = 0
    assert set(survey(few).encounters.channel) == {"co2"}


@pytest.mark.parametrize(("units", "ratios"), [("ppm", {"co/co2", "mce"}), ("mV", set()), ("mg m-3", set())])
def test_ratios_are_between_units_that_can_be_compared(units: str, ratios: set[str]) -> None:
    rng = np.random.default_rng(0)
    smoky = small(1 + 5 * SMOKE + rng.normal(0, 0.1, len(T)), 400 + 80 * SMOKE + rng.normal(0, 1, len(T)), units=units)
    found = survey(smoky)
    assert set(found.ratios.ratio) == ratios
    assert len(found.intervals) == 3


def test_no_ratio_to_what_did_not_rise() -> None:
    rng = np.random.default_rng(0)
    found = survey(small(1 + 5 * SMOKE + rng.normal(0, 0.1, len(T)), 400 + rng.normal(0, 1, len(T))))
    assert len(found.intervals) == 3
    assert found.ratios.empty


def test_sensors_of_one_species_are_averaged_in_one_unit() -> None:
    suite = make_suite({"bc": {"bc_1": "ng m-3", "bc_2": "ug m-3", "bc_3": "mV"}}, name="s")
    rng = np.random.default_rng(0)
    values = {n: k * (300 + 20_000 * SMOKE + rng.normal(0, 50, len(T))) for n, k in
              (("bc_1", 1.0), ("bc_2", 1e-3), ("bc_3", 0.02))}  # fmt: skip
    time = START + np.arange(len(T)) * np.timedelta64(1, "s")
    signal = species_signals(channel_signals(new_flight(time, values, suite), suite), suite)["bc"]
    assert signal.units == "ng m-3"
    assert signal.excess.max() == pytest.approx(20_000, rel=0.02)
    assert signal.sigma == pytest.approx(50 / np.sqrt(2), rel=0.1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_over_simulated_flights_excess_is_unbiased_and_its_uncertainty_covers() -> None:
    from pc2dae.simulate import simulate_flight
    from pc2dae.simulate.grid import true_grid

    scores: dict[str, list[float]] = {"bc": [], "co": [], "co2": [], "nox": []}
    for seed in range(200, 212):
        made = simulate_flight(seed)
        noisy = true_grid(made.streams, made.truth)
        noisy.attrs["suite"] = KITE.model_dump_json(exclude_defaults=True)
        known = noisy.copy()
        for name in KITE.names:
            noisy[f"qc_{name}"] = noisy[f"qc_{name}"] | made.truth[f"{name}_fault"].astype("int32")
            known[f"{name}_raw"] = noisy[name]
            known[f"{name}_unbounded"] = made.truth[f"{name}_response"]
        ours, truth = (species_signals(channel_signals(f, KITE), KITE) for f in (noisy, known))
        for interval in encounter_intervals(truth, 1.0):
            for species, errors in scores.items():
                excess = ours[species].over(interval)
                choice = [effect for name, effect in excess.effects.items() if name.startswith("background")]
                true = truth[species].excess[slice(*interval)].sum()
                errors.append((excess.value - true) / np.linalg.norm([excess.random, *choice]))
    for species, errors in scores.items():
        z = np.array(errors)
        assert len(z) > 50
        assert abs(z.mean()) < 0.6, species  # noise hides haze that the truth shows
        assert np.mean(np.abs(z) < 1.96) > 0.9, species


def test_where_co2_falls_in_smoke_there_is_no_ratio_to_it() -> None:
    """As over a forest by day: a combustion efficiency above 1 would be nonsense."""
    made = flight()
    for name in ("co2_scd30", "co2_li830"):
        made[name] = 840.0 - made[name]
    found = survey(made).ratios
    assert set(found["ratio"]) == {"bc/co", "nox/co"}
