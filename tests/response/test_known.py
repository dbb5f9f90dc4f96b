"""Which channels can be corrected: suite and flight joined, and a reason for every other channel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from pc2dae.flight.schema import new_flight, suite_of
from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.known import known_responses, sampling_delay_s
from pc2dae.response.t90 import ResponseTime
from suites import make_suite

START = np.datetime64("2025-10-05T14:00:00", "ns")


def flight(**channels: dict[str, Any]) -> xr.Dataset:
    """Quiet air: what the flight shows is given to `known_responses`."""
    gases = {"co2": {"t90_s": 2.0, "delay_s": 1.0}, "co": {}} | channels
    gases = {name: {"units": "ppb"} | keys for name, keys in gases.items()}
    suite = make_suite({"gas": gases})
    time = START + np.arange(300) * np.timedelta64(1, "s")
    return new_flight(time, {name: np.ones(300) for name in suite.names}, suite)


def known(co: dict[str, Any], found: ResponseTime | None) -> Any:
    """The response of channel co, or the reason why it is not known."""
    made = flight(co=co)
    responses, reasons = known_responses(made, suite_of(made), found={} if found is None else {"co": found})
    assert responses.keys() | reasons.keys() == {"co2", "co"}
    return responses.get("co", reasons.get("co"))


def seen(t90: float, uncertainty: float, **more: Any) -> ResponseTime:
    """As found behind co2, 3 s late."""
    return ResponseTime(t90, uncertainty, "co2", 3.0, 0.2, **more)


def test_the_suite_alone_with_its_defaults() -> None:
    answer = known({"t90_s": 4.0, "delay_s": 2.0}, None)
    assert answer.kernel == Kernel(4.0)
    assert (answer.t90_uncertainty_s, answer.source) == (pytest.approx(0.6), "suite")
    assert (answer.delay_s, answer.delay_uncertainty_s) == (2.0, 0.5)


def test_suite_and_flight_are_joined_by_inverse_variance() -> None:
    answer = known({"t90_s": 4.0, "t90_uncertainty_s": 1.0}, seen(5.0, 1.0))
    assert (answer.kernel.t90_s, answer.source) == (4.5, "suite and flight")
    assert answer.t90_uncertainty_s == pytest.approx(0.5**0.5)
    assert answer.delay_s == 4.0  # behind co2, which is itself late by a second
    assert answer.delay_uncertainty_s == pytest.approx(np.hypot(0.5, 0.2))


def test_the_flight_alone_and_its_kernel() -> None:
    assert known({}, seen(5.0, 1.0)).source == "flight"
    assert known({"t90_s": 8.0, "kernel": "gaussian"}, seen(7.0, 1.0)).kernel.kind == "gaussian"


def test_a_suite_and_a_flight_that_contradict_each_other_make_t90_less_certain() -> None:
    answer = known({"t90_s": 8.0, "t90_uncertainty_s": 0.5}, seen(11.0, 0.5))  # 4.2 standard errors apart
    assert (answer.kernel.t90_s, answer.source) == (9.5, "suite and flight")
    assert answer.t90_uncertainty_s == pytest.approx(1.5)  # half of the difference
    assert answer.note == "8 s in the suite, 11.0 ± 0.5 s in this flight"
    assert known({"t90_s": 4.0}, seen(9.0, 1.0)).endswith("(4 s in the suite, 9.0 ± 1.0 s in this flight)")
    assert known({"t90_s": 20.0, "t90_uncertainty_s": 1.0}, seen(5.0, 2.0)).source == "suite"


def test_a_channel_without_plumes_has_the_delay_of_its_instrument() -> None:
    gases = {n: {"units": "ppb", "t90_s": t} for n, t in (("co2", 2.0), ("co", 4.0), ("no", 4.0))}
    suite = make_suite({"gas": gases}, sources={"co2": "li830.co2", "co": "afe/a.co", "no": "afe/a.no"})
    time = START + np.arange(300) * np.timedelta64(1, "s")
    made = new_flight(time, {name: np.ones(300) for name in suite.names}, suite)
    found = known_responses(made, suite, found={"co": ResponseTime(4.0, 0.4, "co2", 5.0, 0.2)})[0]
    assert found["no"].delay_s == found["co"].delay_s == 5.0


def test_the_reference_is_timed_by_what_it_times() -> None:
    gases = {n: {"units": "ppb", "t90_s": 2.0, "delay_uncertainty_s": 0.3} for n in ("co2", "co", "no", "so2")}
    made = flight(**gases)
    timed = {n: ResponseTime(2.0, 0.4, "co2", late, 0.0) for n, late in (("co", 0.4), ("no", 0.4), ("so2", 9.0))}
    found = known_responses(made, suite_of(made), found=timed)[0]
    assert found["co2"].delay_s == pytest.approx(-0.8 / 3)  # of 0, −0.4 and −0.4; so2 is plainly late
    assert found["co2"].delay_uncertainty_s == pytest.approx(0.3 / 3**0.5)
    assert found["so2"].delay_s == pytest.approx(9.0 - 0.8 / 3)


def test_a_misfit_arrives_in_the_note() -> None:
    assert known({"t90_s": 4.0}, seen(4.0, 0.4, note="kernel first_order does not fit")).note.startswith("kernel")


@pytest.mark.parametrize(
    ("co", "found", "reason"),
    [
        ({}, None, "t90 unknown: no faster channel saw its plumes"),
        ({"t90_s": 8.0, "t90_uncertainty_s": 4.0}, None, "t90 8.0 ± 4.0 s is known only to 50 %"),
        ({}, ResponseTime(6.0, 2.4, "co2"), "t90 6.0 ± 2.4 s is known only to 40 %"),
        ({"kernel": "gaussian"}, seen(6.0, 0.4), "t90 unknown: not found for gaussian"),
    ],
)
def test_the_reason_is_one_line(co: dict[str, Any], found: ResponseTime | None, reason: str) -> None:
    assert known(co, found) == reason


def test_no_lag_is_known_exactly() -> None:
    answer = known({"t90_s": 0.0, "t90_uncertainty_s": 1.0}, seen(3.0, 0.1))
    assert (answer.kernel.t90_s, answer.t90_uncertainty_s) == (0.0, 0.0)


def test_the_t90_of_a_flight_is_that_of_a_first_order_sensor() -> None:
    co = {"t90_s": 20.0, "kernel": "two_step", "slow_t90_s": 40.0, "slow_share": 0.1}
    answer = known(co, seen(60.0, 5.0))
    assert (answer.kernel.t90_s, answer.source) == (20.0, "suite")


def test_a_difference_is_corrected_if_both_parts_are() -> None:
    rest = {"units": "ppb", "difference_of": ("co", "co2")}
    made = flight(co={"t90_s": 4.0}, rest=rest)
    responses, _ = known_responses(made, suite_of(made))
    assert responses["rest"] == replace(responses["co"], cross=(("co2", 1.0),))
    made = flight(rest=rest)
    assert known_responses(made, suite_of(made))[1]["rest"] == (
        "a difference of co and co2, of which at least one is not corrected"
    )


def test_samples_of_a_gridded_instrument_lie_in_the_middle_of_their_cells() -> None:
    made = flight(co={"t90_s": 4.0})
    made.attrs["sampling_offset_s"] = '{"co": 0.3}'
    assert known_responses(made, suite_of(made))[0]["co"].delay_s == pytest.approx(sampling_delay_s(Kernel(4.0)) - 0.3)


def test_the_sampling_delay_is_that_of_a_fine_simulation() -> None:
    fine = np.zeros(6000)
    fine[2000:2700] = 1.0
    fast = respond(fine, Kernel(6.0), 100.0).reshape(-1, 100).mean(axis=1)
    slow = respond(fine.reshape(-1, 100).mean(axis=1), Kernel(6.0))
    lag = (np.cumsum(slow) - np.cumsum(fast)).sum() / slow.sum()  # difference of the two centres of mass
    assert sampling_delay_s(Kernel(6.0)) == pytest.approx(lag, abs=0.01)
