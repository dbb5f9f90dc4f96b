"""The gateway and its file: each message once, whole ticks only, nothing acknowledged is ever lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pc2dae.arrays import Array
from pc2dae.edge import gateway as module
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.edge.engine import Engine
from pc2dae.edge.gateway import Gateway
from pc2dae.edge.messages import Clean, parse_sample, schema, stamp
from pc2dae.edge.outbox import Outbox
from pc2dae.errors import ModelError, Pc2daeError
from pc2dae.suite import MOTION
from suites import make_suite

SUITE = make_suite({"gas": {"co": {"units": "ppb", "noise_sigma": 8.0}}}, name="small")
START = datetime(2025, 10, 1, 12, tzinfo=UTC)


def engine(ahead: int = 2) -> Engine:
    """A network that gives back what it saw, the mean of the sample and the one before it."""

    def network(values: Array, valid: Array, noise: Array, *others: Array) -> tuple[Array, ...]:
        x = np.where(valid > 0, values, 0)
        mean = 0.5 * (x + np.pad(x, ((0, 0), (0, 0), (1, 0)), mode="edge")[..., :-1])
        return mean, mean, noise

    denoiser = AdaptiveDenoiser(
        "stand-in", network, look_back=4, look_ahead=ahead, before=4, after=ahead, profile="live"
    )
    return denoiser.engine(SUITE)


def message(seq: int, *, flight: str = "f", second: int | None = None, **more: Any) -> bytes:
    time = START + timedelta(seconds=seq if second is None else second)
    return json.dumps(
        {"flight": flight, "seq": seq, "time": time.isoformat(), "values": {"co": 10.0 * seq}} | more
    ).encode()


def gateway(path: Path | None = None, **more: Any) -> Gateway:
    return Gateway(engine(), Outbox(path, identity="stand-in"), **more)


def out(box: Gateway) -> list[dict[str, Any]]:
    return [json.loads(letter.payload) for letter in box.outbox.letters(0, 10**6)]


def test_a_flight_comes_out_as_the_schema_says() -> None:
    box = gateway()
    answer = box.take([message(0), message(1), message(2), message(3, end=True)])
    assert [(a.flight, a.seq) for a in answer.acks] == [("f", 3)]
    rows = out(box)
    assert [row["seq"] for row in rows] == [0, 1, 2, 3]
    assert [row["estimate"]["co"] for row in rows] == [0.0, 5.0, 15.0, 25.0]
    assert rows[1]["time"] == "2025-10-01T12:00:01Z"
    assert rows[1]["uncertainty"] == {"co": 8.0}
    assert rows[1]["latency_s"] == 2.0
    for row in rows:
        Clean.model_validate(row)
    assert set(schema()) == {"in", "out", "ack", "taken", "error", "health"}
    assert schema()["in"]["required"] == ["flight", "seq", "time", "values"]
    assert set(schema()["in"]["$defs"]["Motion"]["properties"]) == {*MOTION}


def test_a_bad_position_does_not_cost_the_gas_values() -> None:
    box = gateway()
    bad = {"latitude": 143.0, "longitude": -96.6, "altitude": None, "ground_speed": "fast", "lat": 39.1}
    answer = box.take([message(0, motion=bad, wind=7), message(1, motion=bad)])
    assert [p.error for p in answer.problems] == [
        "unknown key 'lat'; did you mean 'latitude'?",
        "motion.latitude: input should be less than or equal to 90; ignored",
        "motion.ground_speed: input should be a valid number; ignored",
        "wind: input should be an object; ignored",
    ]
    assert (box.health.samples, box.health.refused) == (2, 0)


@pytest.mark.parametrize(
    ("motion", "known"),
    [
        (
            {"latitude": 39.1, "longitude": -96.6, "altitude": 412.0},
            {"latitude": 39.1, "longitude": -96.6, "altitude": 412.0},
        ),
        ({"latitude": None, "longitude": -96.6, "ground_speed": 0}, {"ground_speed": 0}),
        ({"latitude": 0, "longitude": 0.0, "altitude": -9999}, {}),  # no fix, and a sentinel
    ],
)
def test_a_position_needs_both_coordinates(motion: dict[str, float], known: dict[str, float]) -> None:
    sample = parse_sample(message(0, motion=motion))
    assert sample.motion is not None
    assert sample.motion.known == known


def test_a_message_that_came_before_is_counted_and_left() -> None:
    box = gateway()
    box.take([message(0), message(1), message(1)])
    box.take([message(0), message(1), message(2), message(3)])
    assert box.health.duplicates == 3
    assert [row["seq"] for row in out(box)] == [0, 1]


def test_messages_in_disorder_wait_for_those_before_them() -> None:
    box = gateway()
    assert box.take([message(2), message(1)]).acks[0].seq == -1
    assert box.take([message(0), message(3)]).acks[0].seq == 3
    assert [row["estimate"]["co"] for row in out(box)] == [0.0, 5.0]


def test_patience_ends_and_what_comes_later_is_still_placed() -> None:
    now = [0.0]
    box = gateway(clock=lambda: now[0])
    box.take([message(0), message(2), message(3)])
    now[0] = 29.0
    assert box.take([]).acks == []
    box.reconnected()  # the line was down: the missing one may be on its way
    now[0] = 50.0
    assert box.take([]).acks == []
    now[0] = 60.0
    assert box.take([]).acks[0].seq == 3
    assert box.health.skipped == 1
    box.take([message(1)])  # still within the look-ahead: seconds 2 and 3 are open, 1 has been given out
    assert box.health.late == 1
    assert [row["estimate"]["co"] for row in out(box)] == [0.0, 0.0]


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(8)), twice=st.lists(st.integers(0, 7), max_size=4))
def test_any_order_and_repetition_gives_the_same(order: list[int], twice: list[int]) -> None:
    straight, shuffled = gateway(), gateway()
    straight.take([message(n, end=n == 7) for n in range(8)])
    for n in [*order, *twice]:
        shuffled.take([message(n, end=n == 7)])
    assert out(shuffled) == out(straight)


@settings(max_examples=15, deadline=None)
@given(stops=st.lists(st.integers(1, 40), max_size=5), snapshot=st.integers(1, 9))
def test_a_gateway_killed_between_any_two_ticks_goes_on(
    stops: list[int], snapshot: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("state") / "state.db"
    straight = gateway()
    messages = [message(n // 2, flight="ab"[n % 2], end=n >= 38) for n in range(40)]
    straight.take(messages)
    at = 0
    kept, module.SNAPSHOT = module.SNAPSHOT, snapshot
    try:
        for stop in [*sorted(set(stops)), len(messages)]:
            box = gateway(path)
            box.take(messages[max(at - 3, 0) : stop])  # the last ones come again
            at = stop
            box.outbox.close()
    finally:
        module.SNAPSHOT = kept
    final = gateway(path)
    by_flight = {name: [r for r in out(final) if r["flight"] == name] for name in "ab"}
    assert by_flight == {name: [r for r in out(straight) if r["flight"] == name] for name in "ab"}
    final.outbox.close()


def test_a_tick_that_fails_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = gateway(tmp_path / "state.db")
    box.take([message(0), message(1)])

    def full(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(box.outbox, "post", full)
        answer = box.take([message(2), message(3)])
    assert not answer.is_taken
    assert answer.acks == []
    assert box.health.is_full
    assert box.take([message(2), message(3)]).acks[0].seq == 3
    assert not box.health.is_full
    assert [row["estimate"]["co"] for row in out(box)] == [0.0, 5.0]
    box.outbox.close()


def test_a_full_outbox_takes_nothing_and_drops_nothing() -> None:
    box = gateway(limit=3)
    box.take([message(n) for n in range(6)])
    answer = box.take([message(6)])
    assert not answer.is_taken
    assert "4 estimates" not in answer.problems[0].error
    assert [row["seq"] for row in out(box)] == [0, 1, 2, 3]
    box.delivered(confirmed={"f": 2})
    assert box.take([message(6)]).acks[0].seq == 6
    assert [row["seq"] for row in out(box)] == [3, 4]


BAD = {
    b"no json": "invalid JSON",
    b"[1, 2]": "object",
    b'{"flight": "f"}': "seq: field required",
    message(5, values={"co": "high"}): "values.co: input should be a valid number",
    message(5, values={"co": 1e31}): "values.co: input should be less than or equal to",
    message(5).replace(
        b'"values": {"co": 50.0}', b'"values": {"co": NaN}'
    ): "values.co: input should be a finite number",
    message(5).replace(
        b'"values": {"co": 50.0}', b'"values": {"co": 1e999}'
    ): "values.co: input should be a finite number",
    message(5, time="2025-10-01T12:00:05"): "time: input should have timezone info",
    message(5, time="1980-01-06T00:00:05Z"): "time: year 1980, the clock was never set",
    message(5, flight="a/b"): "flight: string should match pattern",
    message(-1, second=5): "seq: input should be greater than or equal to 0",
    b'{"flight": "f", "seq": 5, "values": "' + b"x" * 1_000_000 + b'"}': "1,000,039 bytes",
    b"[" * 60_000: "recursion",
}


@pytest.mark.parametrize("payload", BAD, ids=list(BAD.values()))
def test_a_bad_message_is_answered_and_the_stream_goes_on(payload: bytes) -> None:
    box = gateway()
    box.take([message(n) for n in range(5)])
    answer = box.take([payload])
    assert BAD[payload] in answer.problems[0].error
    assert box.health.refused == 1
    before = answer.acks[0].seq if answer.acks else 4
    for n in range(before + 1, 10):
        box.take([message(n)])
    assert [row["seq"] for row in out(box)] == list(range(8))


@given(payload=st.one_of(st.binary(max_size=200), st.text().map(str.encode), st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(
        st.sampled_from(["flight", "seq", "time", "values", "qc", "end"]), x), max_leaves=8).map(
    lambda x: json.dumps(x).encode())))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_no_message_can_stop_the_gateway(payload: bytes) -> None:
    box = gateway()
    box.take([message(0), payload, message(1)])
    assert box.health.samples == 2


def test_time_that_goes_backwards_is_reported() -> None:
    box = gateway()
    box.take([message(n) for n in range(10)])
    assert box.take([message(10, second=3)]).acks[0].seq == 10  # taken; it waits for the next: was the clock set?
    answer = box.take([message(11)])
    assert answer.problems[0].error == "2025-10-01T12:00:03Z: 6 s late: the estimates of its second were sent"
    assert box.health.late == box.health.refused == 1


def test_a_hundred_flights_do_not_mix() -> None:
    box = gateway()
    for n in range(6):
        box.take([message(n, flight=f"f{k}", second=n + 7 * k) for k in range(100)])
    rows = out(box)
    for k in range(100):
        assert [r["seq"] for r in rows if r["flight"] == f"f{k}"] == [0, 1, 2, 3]


def test_flights_beyond_those_in_memory_are_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pc2dae.edge.flights.OPEN", 2)
    box, straight = gateway(), gateway()
    for n in range(12):
        for k in range(5):
            box.take([message(n, flight=f"f{k}")])
            straight.take([message(n, flight=f"f{k}")])
        assert len(box.flights.open) == 2
    assert out(box) == out(straight)


def test_a_state_of_another_model_is_refused_while_flights_are_open(tmp_path: Path) -> None:
    box = gateway(tmp_path / "state.db")
    box.take([message(0)])
    box.outbox.close()
    with pytest.raises(ModelError, match=r"flight 'f' .* another model"):
        Outbox(tmp_path / "state.db", identity="other")
    box = gateway(tmp_path / "state.db")
    box.take([message(1, end=True)])
    box.outbox.close()
    Outbox(tmp_path / "state.db", identity="other").close()


def test_a_file_that_is_none_or_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database at all, " * 100)
    with pytest.raises(
        Pc2daeError,
        match=r"not a state of pc2dae stream, or is damaged .*; move it away and start again, or name another --state",
    ):
        Outbox(tmp_path / "text.db", identity="")
    first = Outbox(tmp_path / "state.db", identity="")
    with pytest.raises(Pc2daeError, match="is in use"):
        Outbox(tmp_path / "state.db", identity="", wait_s=0.1)
    first.close()


def test_stamps() -> None:
    assert stamp(1_759_320_000_000_000) == "2025-10-01T12:00:00Z"
    assert stamp(1_759_320_000_500_000) == "2025-10-01T12:00:00.500000Z"
    assert parse_sample(message(5, time="2025-10-01T14:00:05+02:00")).microseconds == 1_759_320_005_000_000


# ── topics ──


def test_two_drones_with_one_flight_name_are_two_flights(tmp_path: Path) -> None:
    box = gateway(tmp_path / "state.db")
    for n in range(6):
        answer = box.take([message(n), message(n, second=n + 100)], topics=["smoke/a/raw", "smoke/b/raw"])
    assert [(a.topic, a.flight, a.seq) for a in answer.acks] == [("smoke/a/raw", "f", 5), ("smoke/b/raw", "f", 5)]
    box.outbox.close()
    box = gateway(tmp_path / "state.db")
    box.take([message(6, second=106), message(6)], topics=["smoke/b/raw", "smoke/a/raw"])
    rows = {name: [r for r in out(box) if r["flight"] == name] for name in ("f", "f.smoke-b-raw")}
    assert {name: [r["seq"] for r in found] for name, found in rows.items()} == {name: list(range(5)) for name in rows}
    assert rows["f.smoke-b-raw"][0]["time"] == "2025-10-01T12:01:40Z"
    assert (box.health.duplicates, box.health.refused) == (0, 0)
    for row in out(box):
        Clean.model_validate(row)
    box.outbox.close()


@pytest.mark.parametrize("topic", ["smoke/b/raw", "smoke/Ünï/" + "x" * 200, "", "smoke/b-raw"])
def test_a_flight_of_any_topic_has_a_name_of_its_own(topic: str) -> None:
    box = gateway()
    for other in ("a", "smoke/b/raw", topic):
        box.take([message(n, flight="f" * 64, end=n == 1) for n in range(2)], topics=[other] * 2)
    names = {row["flight"] for row in out(box)}
    assert len(names) == len({"a", "smoke/b/raw", topic})
    for row in out(box):
        Clean.model_validate(row)


# ── numbers ──


@settings(max_examples=5, deadline=None)
@given(again=st.lists(st.integers(0, 39), max_size=20), stops=st.lists(st.integers(1, 60), max_size=2))
def test_numbers_that_start_again_are_new_and_old_messages_are_not(
    again: list[int], stops: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The logger restarts after 20 messages; any of its messages may be delivered again, the gateway be killed."""
    path = tmp_path_factory.mktemp("state") / "state.db"
    messages = [message(n % 20, second=n) for n in range(40)]
    straight = gateway()
    straight.take(messages)
    box = gateway(path)
    order = [*range(30), *(n for n in again if n < 30), *range(30, 40), *again]
    for at, n in enumerate(order):
        if at in stops:
            box.outbox.close()
            box = gateway(path)
        box.take([messages[n]])
    assert out(box) == out(straight)
    assert [row["seq"] for row in out(box)] == list(range(38))
    box.outbox.close()


# ── damage ──


def filled(path: Path, count: int = 12) -> None:
    box = gateway(path)
    box.take([message(n) for n in range(count)])
    box.take([message(count + 2)])  # waits for those before it
    box.outbox.close()


DAMAGE = {
    "UPDATE journal SET payload = replace(payload, '50.0', '51.0') WHERE n = 6": "journal record 6 of flight 'f'",
    "DELETE FROM journal WHERE n = 12": "the journal of flight 'f'",
    "DELETE FROM journal": "the journal of flight 'f'",
    "UPDATE flight SET about = replace(about, '11', '12')": "the progress of flight 'f'",
    "UPDATE flight SET about = 'junk'": "the progress of flight 'f'",
    "INSERT OR REPLACE INTO snapshot VALUES ('f', 'junk')": "the snapshot of flight 'f'",
    "DELETE FROM snapshot": "the snapshot of flight 'f'",
    "UPDATE held SET payload = 'junk'": "held message 14 of flight 'f'",
    "UPDATE outbox SET payload = replace(payload, '35.0', '36.0')": "estimate 4 of flight 'f'",
}


@pytest.mark.parametrize("snapshot", [8, 300])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_logged_and_not_used(
    damage: str, snapshot: int, tmp_path: Path, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = DAMAGE[damage]
    if damage == "DELETE FROM snapshot":
        snapshot = 8  # so that there is one
    monkeypatch.setattr(module, "SNAPSHOT", 300 if "journal" in line else snapshot)
    filled(tmp_path / "state.db")
    base = sqlite3.connect(tmp_path / "state.db")
    base.execute(damage)
    base.commit()
    base.close()
    box = gateway(tmp_path / "state.db")
    box.take([message(12), message(13), message(14)])
    box.letters(0, 100)
    assert any(f"{line} is damaged (checksum) and not used" in text for text in caplog.messages)
    assert box.health.damaged >= 1
    rows = out(box)
    assert [row["seq"] for row in rows] == list(range(13))  # none twice, none left out
    assert [row["time"] for row in rows] == [stamp(1_759_320_000_000_000 + n * 1_000_000) for n in range(13)]
    right = {n: max(10.0 * n - 5.0, 0.0) for n in range(13)}
    assert all(row["estimate"]["co"] in (right[n], None) for n, row in enumerate(rows) if n < 8)
    box.outbox.close()


def outcome(path: Path) -> tuple[list[dict[str, Any]], str]:
    """Estimates of a gateway that goes on with a state, and the line where it refuses to."""
    try:
        with closing(Outbox(path, identity="stand-in")) as outbox:
            box = Gateway(engine(), outbox)
            box.take([message(n) for n in range(12, 16)])
            return [json.loads(letter.payload) for letter in box.letters(0, 100)], ""
    except Pc2daeError as error:
        return [], str(error)


def test_a_flipped_bit_is_never_a_traceback_nor_silently_another_number(tmp_path: Path, caplog: Any) -> None:
    path = tmp_path / "state.db"
    filled(path)
    whole = path.read_bytes()
    right, _ = outcome(path)
    assert len(right) == 14
    rng = np.random.default_rng(0)
    used = np.flatnonzero(np.frombuffer(whole, np.uint8))
    noticed = 0
    for at in rng.choice(used, 40):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        caplog.clear()
        rows, line = outcome(path)
        assert rows == right or caplog.messages or (str(path) in line and "\n" not in line), at
        noticed += rows != right
    assert noticed > 10


def test_a_state_that_cannot_be_one_is_refused_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, reason in ((tmp_path, "it is a folder"), (tmp_path / "file" / "state.db", "cannot be opened")):
        with pytest.raises(Pc2daeError, match=f"{reason}.*; name a file with --state"):
            Outbox(path, identity="")
    base = sqlite3.connect(tmp_path / "other.db")
    base.execute("CREATE TABLE mine (x)")
    base.close()
    with pytest.raises(Pc2daeError, match=r"other\.db is a database, but not a state of pc2dae stream"):
        Outbox(tmp_path / "other.db", identity="")
    base = sqlite3.connect(tmp_path / "old.db")
    base.execute("CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT)")
    base.execute("INSERT INTO about VALUES ('version', '1')")
    base.commit()
    base.close()
    with pytest.raises(Pc2daeError, match=r"old\.db was written by another version of pc2dae; finish its flights"):
        Outbox(tmp_path / "old.db", identity="")


def test_letters_are_counted_after_every_change() -> None:
    def fail(outbox: Outbox) -> None:
        with outbox.tick():
            outbox.post("a", [(5, b"x")])
            raise RuntimeError

    with closing(Outbox(None, identity="")) as outbox:
        assert outbox.count() == 0
        with outbox.tick():
            outbox.post("a", [(seq, b"x") for seq in range(5)])
            outbox.post("b", [(0, b"x")])
        assert outbox.count() == 6
        with outbox.tick():
            outbox.delivered([1, 2, 2, 99])
            outbox.delivered([])
            outbox.confirmed("a", 3)
        assert outbox.count() == 2 == len(outbox.letters(0, -1))
        with pytest.raises(RuntimeError):
            fail(outbox)
        assert outbox.count() == 2
