"""Limits judged on literal series: one value a second, from time 0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from pc2dae.suite import load_suite
from pc2dae.web.live.alarm_limits import Alarm, Limit
from pc2dae.web.live.alarms import KEPT, Alarms
from pc2dae.web.problems import Refused


class Link(NamedTuple):
    status: str
    age_s: float | None = None


def alarms(**limit: Any) -> tuple[Alarms, list[Alarm]]:
    """Alarms with a limit for co_a [ppb], and a list of what pages are sent."""
    sent: list[Alarm] = []
    new = Alarms(lambda alarm: sent.append(alarm.model_copy()))
    new.adopt(load_suite("black-kite"))
    if limit:
        new.set_limits({"co_a": Limit(**limit)})
    return new, sent


def fly(judge: Any, values: Iterable[float | None], start: int = 0) -> None:
    for n, value in enumerate(values, start):
        judge("f", 1000 * n, {"co_a": value})


def facts(found: Alarms) -> list[tuple[Any, ...]]:
    return [(a.kind, a.source, a.since // 1000, a.until and a.until // 1000, a.peak) for a in found.alarms.values()]


def test_every_crossing_is_an_alarm_of_its_own_although_nobody_has_seen_the_first() -> None:
    found, sent = alarms(above=100.0)
    fly(found.judge_estimate, [50, 120, 150, 90, 50, 25_089, 60])
    assert facts(found) == [("above", "estimate", 1, 3, 150), ("above", "estimate", 5, 6, 25_089)]
    assert next((a.calls, a.seen, a.until) for a in sent if a.peak == 25_089) == (1, False, None)


def test_a_much_higher_peak_is_announced_again_even_after_it_was_acknowledged() -> None:
    found, sent = alarms(above=100.0)
    fly(found.judge_estimate, [110])
    found.acknowledge(next(iter(found.alarms)))
    fly(found.judge_estimate, [200, 219, 25_089], start=1)
    assert [(a.calls, a.seen, a.peak) for a in sent][-1] == (2, False, 25_089)
    assert len(found.alarms) == 1


def test_an_alarm_ends_only_beyond_the_hysteresis() -> None:
    for hysteresis, end in ((None, 3), (8.0, 4), (0.0, 1), (50.0, None)):  # default: 5 % of 100 ppb
        found, _ = alarms(above=100.0, hysteresis=hysteresis)
        fly(found.judge_estimate, [101, 99, 101, 94.9, 91])
        assert facts(found)[0][3] == end


def test_the_default_hysteresis_grows_with_the_noise_but_not_beyond_half_of_the_limit() -> None:
    for noise, ends_at in ((0.0, 95.0), (10.0, 100 - 3 * 1.4826 * 10 / 2**0.5), (40.0, 50.0)):
        found, _ = alarms(above=100.0)
        fly(found.judge_estimate, [*([0.0, noise] * 10), 120.0])  # values three apart differ by `noise`
        assert next(iter(found.alarms.values())).ends_at == pytest.approx(ends_at)


def test_a_lower_limit() -> None:
    found, _ = alarms(below=10.0)
    fly(found.judge_estimate, [12, 9, 7, 10.4, 10.5, 12])
    assert facts(found) == [("below", "estimate", 1, 4, 7)]


def test_a_rise_is_judged_by_a_slope_that_one_wrong_value_does_not_change() -> None:
    found, _ = alarms(rise_per_min=60.0)
    fly(found.judge_estimate, [5.0] * 20 + [9000.0] + [5.0] * 20)
    assert facts(found) == []
    fly(found.judge_estimate, [5.0 + 2 * n for n in range(30)] + [65.0] * 30, start=41)  # 120 ppb per minute
    (alarm,) = found.alarms.values()
    assert (alarm.kind, alarm.units, alarm.until is not None) == ("rise", "ppb min-1", True)
    assert alarm.peak == pytest.approx(120.0)


def test_a_raw_median_raises_what_the_estimate_hides_and_single_glitches_do_not() -> None:
    found, _ = alarms(above=100.0)
    fly(found.judge_sample, [20, 20, 65_512, 20, 20, 300, 310, 305, 20, 20, 20])
    fly(found.judge_estimate, [20] * 11)
    assert facts(found) == [("above", "raw", 6, 9, 305)]


def test_samples_and_the_later_estimates_of_one_plume_are_one_alarm() -> None:
    found, sent = alarms(above=100.0)
    plume = [20.0] * 5 + [200.0] * 10 + [20.0] * 5
    fly(found.judge_sample, plume)
    fly(found.judge_estimate, [20.0] * 4 + [210.0] * 9 + [20.0] * 7)
    assert facts(found) == [("above", "raw", 6, 16, 210)]
    assert {a.calls for a in sent} == {1}
    fly(found.judge_sample, [200.0] * 3, start=20)
    fly(found.judge_estimate, [200.0] * 3, start=20)
    assert [f[1:3] for f in facts(found)] == [("raw", 6), ("raw", 21)]


def test_an_estimate_that_remains_high_keeps_the_alarm() -> None:
    found, _ = alarms(above=100.0)
    fly(found.judge_sample, [20, 200, 200, 20, 20, 20])
    fly(found.judge_estimate, [200] * 30)
    assert facts(found) == [("above", "raw", 2, None, 200)]


def test_missing_values_neither_raise_nor_end_an_alarm() -> None:
    found, _ = alarms(above=100.0, below=10.0)
    fly(found.judge_estimate, [50, None, float("nan"), 120, None, float("nan"), float("inf")])
    fly(found.judge_sample, [50, None, float("nan"), 120])
    assert facts(found) == [("above", "estimate", 3, None, 120)]


def test_samples_sent_again_do_not_end_an_alarm_and_a_clock_set_back_does_not_silence_it() -> None:
    found, _ = alarms(above=100.0)
    fly(found.judge_sample, [20] * 5 + [200] * 5)
    fly(found.judge_sample, [20] * 5)
    assert facts(found) == [("above", "raw", 6, None, 200)]
    fly(found.judge_sample, [20] * 5 + [300] * 5, start=-10_000)
    assert [f[4] for f in facts(found)] == [200, 300]


def test_a_channel_that_stops_is_an_alarm_if_it_has_a_limit() -> None:
    found, _ = alarms(above=100.0)
    for n in range(60):
        found.judge_sample(
            "f", 1000 * n, {"co_a": 20.0 if n < 20 or n >= 40 else None, "no_a": 1.0 if n < 20 else None}
        )
    assert facts(found) == [("no_data", "raw", 19, 40, 21.0)]
    assert next(iter(found.alarms.values())).channel == "co_a"


def test_a_slow_channel_is_not_a_silent_one() -> None:
    found, _ = alarms(above=100.0)
    for n in range(200):
        found.judge_sample("f", 1000 * n, {"co_a": 20.0 if n % 8 == 0 and n < 150 else None})
    assert [f[:3] for f in facts(found)] == [("no_data", "raw", 144)]


def test_silence_is_an_alarm_without_any_limit() -> None:
    found, sent = alarms()
    found.judge_sample("f", 0, {"co_a": 1.0})
    for second, link in enumerate([Link("good", 1), Link("late", 5), Link("silent", 11), Link("silent", 12)]):
        found.judge_silence(1_000_000 + 1000 * second, link)
    (alarm,) = found.alarms.values()
    assert (alarm.flight, alarm.channel, alarm.since, alarm.until) == ("f", None, 1_002_000 - 11_000, None)
    found.judge_silence(1_004_000, Link("good", 0))
    found.judge_silence(1_005_000, Link("silent", 10))
    assert [(a.until is None, a.peak) for a in sent] == [(True, 11), (False, 12), (True, 10)]
    found.judge_silence(1_006_000, Link("off"))
    assert len(sent) == 4
    assert sent[-1].until is not None


def test_landing_ends_the_alarms_of_a_flight_but_not_of_another() -> None:
    found, _ = alarms(above=100.0)
    fly(found.judge_sample, [200] * 5)
    for n in range(5):
        found.judge_sample("g", 1000 * n, {"co_a": 200.0})
    found.end("f")
    for start in (0, 2):
        fly(found.judge_estimate, [200] * 3, start)  # the last estimates follow
        found.judge_silence(0, Link("good", 0.0))
    assert [(a.flight, a.until) for a in found.alarms.values()] == [("f", 4000), ("g", None)]


def test_limits_and_alarms_survive_a_restart() -> None:
    found, _ = alarms(above=100.0)
    plume = [20, 200, 200, 200]
    fly(found.judge_sample, plume)
    found.acknowledge(None)
    later, sent = alarms()
    later.load(found.dump().encode())
    assert later.limits.shown()["co_a"].above == 100
    fly(later.judge_sample, plume)  # sent again by a payload that got no acknowledgement
    fly(later.judge_estimate, plume)
    assert facts(later) == [("above", "raw", 2, None, 200)]
    assert sent == []
    fly(later.judge_sample, [20, 20, 20, 200, 200], start=4)
    fly(later.judge_estimate, [20, 20, 20], start=4)
    assert [(f[2], f[3]) for f in facts(later)] == [(2, 5), (8, None)]
    assert [a.seen for a in later.alarms.values()] == [True, False]


def test_a_limit_never_applies_to_other_units() -> None:
    found, _ = alarms(above=100.0)
    suite = load_suite("black-kite")
    family = next(f for f in suite.family if any(c.name == "co_a" for c in f.channel))
    changed = tuple(c.model_copy(update={"units": "ppm"}) if c.name == "co_a" else c for c in family.channel)
    other = [f.model_copy(update={"channel": changed}) if f is family else f for f in suite.family]
    found.adopt(suite.model_copy(update={"family": tuple(other)}))
    fly(found.judge_estimate, [500.0])
    assert facts(found) == []
    assert found.limits.shown()["co_a"].note == "not applied: the limit is in ppb, the channel in ppm"
    with pytest.raises(Refused, match="co_a is measured in ppm, the limit is in 'ppb'"):
        found.set_limits({"co_a": Limit(above=100.0, units="ppb")})
    found.set_limits({"co_a": Limit(above=5.0)})
    found.adopt(suite)
    assert found.limits.shown()["co_a"].above == 100.0


def test_raw_readings_of_calibrated_channels_are_not_judged() -> None:
    found, _ = alarms(above=100.0)
    found.set_calibrated(["co_a"])
    fly(found.judge_sample, [800] * 20)  # mV
    assert facts(found) == []
    assert "calibrated estimates only" in str(found.limits.shown()["co_a"].note)
    fly(found.judge_estimate, [150])
    assert [f[:2] for f in facts(found)] == [("above", "estimate")]


def test_a_changed_limit_is_judged_again_and_an_unchanged_one_changes_nothing() -> None:
    found, sent = alarms(above=100.0)
    fly(found.judge_estimate, [150])
    found.set_limits({"co_a": Limit(above=100.0)})
    assert len(sent) == 1
    found.set_limits({"co_a": Limit(above=140.0)})
    fly(found.judge_estimate, [151], start=1)
    found.set_limits({"co_a": None})
    fly(found.judge_estimate, [900], start=2)
    assert [(a.limit, a.until) for a in found.alarms.values()] == [(100, 0), (140, 1000)]


def test_the_list_is_bounded() -> None:
    found, _ = alarms(above=100.0)
    fly(found.judge_estimate, [150, 50] * (KEPT + 10))
    assert len(found.alarms) == KEPT
    assert len(found.dump()) < 1_000_000
