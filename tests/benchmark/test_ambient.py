"""Part ambient: classical rivals on a short flight with responses found from it, and its tables."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae.benchmark import QUICK, plan_of, run
from pc2dae.benchmark import ambient as part
from pc2dae.benchmark import cases as room
from pc2dae.benchmark.ambient import Deconvolver, ambient_cases, ambient_denoiser
from pc2dae.benchmark.ambient_tables import ambient_tables
from pc2dae.benchmark.plan import READING, Contender, ambient
from pc2dae.benchmark.real import TAUS_S, lagged_cases
from pc2dae.benchmark.task import units_of
from pc2dae.filters.deconvolve import tikhonov
from pc2dae.paper.tables import all_tables
from pc2dae.registry import SHIPPED
from pc2dae.response.kernels import LN10, Kernel, Response, respond
from pc2dae.simulate import plan_campaign

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PLAN = plan_of(QUICK, parts=["ambient"], flights=1)
RIVALS = [c for c in ambient() if c.method not in SHIPPED]


def stated(flight, suite):
    return {c.name: Response(Kernel(c.t90_s), 0.15 * c.t90_s) for c in suite.channels}, {}


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """The case of a six-minute flight and the table of its rivals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_plan", lambda flight_id: plan_campaign(5001, flights=1, minutes=6)[0])
        patch.setattr("pc2dae.benchmark.task.ambient", lambda: RIVALS)
        patch.setattr(part, "known_responses", stated)  # six minutes tell too little about t90
        room.simulated_cases.cache_clear()
        ambient_cases.cache_clear()
        table = run(PLAN, tmp_path_factory.mktemp("ambient"), workers=0)
        yield ambient_cases("5001-1")[0], table
    room.simulated_cases.cache_clear()
    ambient_cases.cache_clear()


def figure(table, method, metric, dress="plain", channel="all", family="all"):
    own = table[(table.method == method) & (table.dress == dress) & (table.metric == metric)]
    return own[(own.channel == channel) & (own.family == family)].value.item()


def test_the_truth_has_neither_noise_nor_lag(flown):
    case, _ = flown
    co = case.suite.names.index("co_a")
    assert case.truth[co].max() > 1.1 * case.response[co].max()
    assert case.truth.min(axis=1).tolist() >= [channel.lower_bound for channel in case.suite.channels]
    assert "co_a" in case.responses


def test_rivals_come_nearer_to_the_air_than_the_reading(flown):
    _, table = flown
    assert figure(table, "raw", "mae_improvement") == pytest.approx(0.0)
    assert figure(table, "raw", "clean_noise", family="gas") == pytest.approx(1.0, abs=0.3)
    read = figure(table, READING, "peak_ratio", channel="co_a", family="gas")
    assert read < 0.95
    for method in ("tikhonov", "joint-rts", "wiener", "richardson-lucy"):
        assert figure(table, method, "snr_improvement") > 0.0
        assert figure(table, method, "peak_ratio", channel="co_a", family="gas") > read
    assert figure(table, "tikhonov", "mae_improvement", "oracle") > figure(table, "tikhonov", "mae_improvement")


def test_tables_have_every_contender_and_all_their_columns(flown):
    _, table = flown
    found = all_tables(table)
    assert [t.title.split(".")[0] for t in found] == ["Table 9a", "Table 9b"]
    for result in found:
        assert [row[0].text for row in result.rows[:3]] == ["raw", "clip", READING]
        assert len(result.rows) == len(RIVALS)
        assert all(len(row) == len(result.columns) for row in result.rows)
    assert all(cell.text for row in found[0].rows for cell in row)


def test_a_delay_is_undone_and_a_channel_without_response_is_only_denoised(flown):
    case, _ = flown
    known = {"co_a": Response(Kernel(0.0), 0.0, delay_s=3.0)}
    same = Deconvolver("x", lambda values, valid, t90, rate_hz: values + 100.0 * t90, known)
    found = same.prepare(case.flight, case.suite)(case.values, case.environment, case.valid).unbounded
    co, no = (case.suite.names.index(name) for name in ("co_a", "no_a"))
    seen = np.flatnonzero(case.valid[co, 3:])
    assert found[co, seen] == pytest.approx(case.values[co, 3:][seen])
    assert found[no] == pytest.approx(case.values[no], nan_ok=True)


def test_a_difference_is_formed_from_the_air_of_its_parts(flown):
    """Ozone read as (O3 + 2 NO2) through 9 s minus 2 × NO2 through 3 s: dipoles at the edges of an NO2 plume."""
    case, _ = flown
    size = case.values.shape[1]
    no2 = 50.0 * np.exp(-0.5 * ((np.arange(size) - size / 2) / 8.0) ** 2)
    values = np.zeros(case.values.shape)
    o3, other = (case.suite.names.index(name) for name in ("o3_a", "no2_a"))
    values[other] = respond(no2, Kernel(3.0))
    values[o3] = respond(30.0 + 2.0 * no2, Kernel(9.0)) - 2.0 * values[other]
    known = {"no2_a": Response(Kernel(3.0), 0.1), "o3_a": Response(Kernel(9.0), 0.1, cross=(("no2_a", 2.0),))}
    job = Deconvolver("x", partial(tikhonov, price=1e-4), known).prepare(case.flight, case.suite)
    found = job(values, case.environment, np.ones_like(case.valid)).value[o3]
    assert np.ptp(values[o3]) > 20
    assert found == pytest.approx(np.full(size, 30.0), abs=1.0)


def test_only_a_wrong_t90_is_wrong(flown):
    case, _ = flown
    wrong = part._misjudged(case.responses, 0.15)["co_a"]
    right = case.responses["co_a"]
    assert wrong.kernel.t90_s == pytest.approx(1.15 * right.kernel.t90_s)
    assert wrong.delay_s == right.delay_s


def test_real_air_is_scored_on_the_reserved_flights_only(tmp_path):
    folder = tmp_path / "goamazon_aircraft"
    folder.mkdir()
    for number in (23, 24, 28):
        (folder / f"G1_dryseason_{number}.xlsx").touch()
    real = {unit.flight for unit in units_of(PLAN, tmp_path) if unit.source == "ambient-goamazon"}
    assert real == {"G1_dryseason_24.xlsx", "G1_dryseason_28.xlsx"}


def test_artificial_sensors_stand_side_by_side_with_their_mean():
    rows = pd.DataFrame(
        [
            (method, "plain", family, channel, f"goamazon G1_dryseason_{flight}", f"τ {tau} s", 0, metric, gain)
            for method, gain in (("raw", 0.0), ("wiener", 4.0))
            for family, channel in (("gas", "co"), ("gas", "nox"), ("gas", "all"), ("all", "all"))
            for flight in (24, 28)
            for tau in (3, 8)
            for metric in ("mae_improvement", "snr_improvement")
        ],
        columns=["method", "dress", "family", "channel", "flight", "noise", "seed", "metric", "value"],
    )
    mae, snr = ambient_tables(rows)
    assert (mae.title.split(".")[0], snr.title.split(".")[0]) == ("Table 9c", "Table 9d")
    assert mae.columns[:3] == ["method", "mean", "CO (flight\u00a024, τ 3 s)"]
    assert [cell.text for cell in snr.rows[1]] == ["wiener", *["4.00"] * 9]


@pytest.mark.skipif(not DATA.is_dir(), reason="real measurements are not beside this tree")
@pytest.mark.slow
def test_an_artificial_sensor_lags_the_record_and_has_noise_of_the_stated_size():
    cases = lagged_cases(DATA, "goamazon", "G1_dryseason_23.xlsx")
    for case, tau in zip(cases, TAUS_S, strict=True):
        span = np.nanpercentile(case.truth, 98, axis=1) - np.nanpercentile(case.truth, 2, axis=1)
        assert (case.values - case.response).std(axis=1) / span == pytest.approx([0.02, 0.02], rel=0.05)
        assert case.responses["co"].kernel.t90_s == pytest.approx(tau * LN10)
        whole = np.flatnonzero(~np.isfinite(case.truth[0]))[0]  # samples before the first gap
        assert case.response[0, :whole] == pytest.approx(respond(case.truth[0, :whole], Kernel(tau * LN10)))
        tuned = ambient_denoiser(Contender("tikhonov", "oracle"), case).prepare(case.flight, case.suite)
        air = tuned(case.values, case.environment, case.valid).value
        plain = tikhonov(case.values[0], case.valid[0], tau * LN10)
        assert np.nanmean(np.abs(air[0] - case.truth[0])) < 1.001 * np.nanmean(np.abs(plain - case.truth[0]))
