"""Rejected messages are on disk, complete and with the reason, before they are acknowledged."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_outbox import engine, message, out

from pc2dae.edge.gateway import Gateway
from pc2dae.edge.outbox import Outbox
from pc2dae.edge.quarantine import Quarantine, quarantine_path
from pc2dae.edge.state_file import FullError
from pc2dae.errors import Pc2daeError

ARRIVED = 1_759_320_000.0  # 2025-10-01T12:00:00Z


@pytest.fixture
def gateway() -> Iterator[Callable[..., Gateway]]:
    files: list[Quarantine] = []

    def opened(path: Path, **more: Any) -> Gateway:
        files.append(Quarantine(path, **more))
        return Gateway(engine(), Outbox(None, identity=""), quarantine=files[-1], now=lambda: ARRIVED)

    yield opened
    for file in files:
        file.close()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_whatever_is_refused_is_kept_with_its_reason(gateway: Any, tmp_path: Path) -> None:
    path = quarantine_path(tmp_path / "state.db")
    assert path.name == "state.quarantine.jsonl"
    box = gateway(path)
    refused = [
        b"no json",
        b"\xff\x00",
        message(8, second=2),
        message(9, second=99),
        message(10, time="1980-01-06T00:00Z"),
    ]
    for payload in [*(message(n) for n in range(8)), *refused, message(11), message(12, end=True), message(13)]:
        box.take([payload], topics=["smoke/kite/raw"])
    found = lines(path)
    kept = [base64.b64decode(f["payload_base64"]) if "payload_base64" in f else f["payload"].encode() for f in found]
    assert sorted(kept) == sorted([*refused, message(13)])
    assert {f["topic"] for f in found} == {"smoke/kite/raw"}
    assert {f["arrived"] for f in found} == {"2025-10-01T12:00:00.000+00:00"}
    reasons = {f["seq"]: f["reason"] for f in found if f["seq"] is not None}
    assert reasons == {
        8: "2025-10-01T12:00:02Z: 5 s late: the estimates of its second were sent",
        9: "2025-10-01T12:01:39Z: 92 s after the previous sample, and the next sample did not confirm it",
        10: "time: year 1980, the clock was never set",
        13: "the flight has ended; give the next flight another name",
    }
    health = box.health
    assert (health.refused, health.quarantined, health.quarantine_lost) == (6, 6, 0)
    assert health.quarantine == str(path)
    assert [row["seq"] for row in out(box)] == list(range(13))


def test_what_was_taken_before_is_not_refused_again(gateway: Any, tmp_path: Path) -> None:
    box = gateway(tmp_path / "q")
    for _ in range(2):
        box.take([message(n) for n in range(6)])
    assert (box.health.duplicates, box.health.refused) == (6, 0)
    assert lines(tmp_path / "q") == []


def test_a_message_that_waits_is_not_lost_to_another_with_its_number(gateway: Any, tmp_path: Path) -> None:
    box = gateway(tmp_path / "q")
    box.take([message(0), message(2), message(2), message(2, second=3)])
    assert [(f["reason"], f["payload"].encode()) for f in lines(tmp_path / "q")] == [
        ("another message with this seq waits for an earlier one", message(2, second=3))
    ]


def test_a_full_quarantine_counts_what_it_loses(gateway: Any, tmp_path: Path) -> None:
    box = gateway(tmp_path / "q", limit=300)
    box.take([b"bad %d" % n for n in range(10)])
    kept = len(lines(tmp_path / "q"))
    assert 0 < kept < 10
    assert (box.health.refused, box.health.quarantined, box.health.quarantine_lost) == (10, kept, 10 - kept)
    assert (tmp_path / "q").stat().st_size <= 300


def test_nothing_is_taken_while_the_quarantine_cannot_be_written(
    gateway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = gateway(tmp_path / "q")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        answer = box.take([message(0), b"bad"])
    assert not answer.is_taken
    assert "q cannot be written (No space left on device)" in answer.problems[0].error
    assert lines(tmp_path / "q") == []  # nothing half: they come again
    assert box.take([message(0), b"bad"]).is_taken
    assert len(lines(tmp_path / "q")) == box.health.quarantined == box.health.refused == 1


def test_a_tick_that_fails_takes_its_refused_messages_back(
    gateway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = gateway(tmp_path / "q")
    tick = box.outbox.tick

    @contextmanager
    def full() -> Iterator[None]:
        with tick():
            yield
            raise FullError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(box.outbox, "tick", full)
        assert not box.take([b"bad"]).is_taken
    assert box.take([b"bad"]).is_taken
    assert len(lines(tmp_path / "q")) == box.health.quarantined == 1


def test_a_line_that_a_crash_cut_short_does_not_spoil_the_next(gateway: Any, tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b'{"reason": "x"}\n{"reas')
    gateway(tmp_path / "q").take([b"bad"])
    first, _, last = (tmp_path / "q").read_bytes().splitlines()
    assert (json.loads(first)["reason"], json.loads(last)["payload"]) == ("x", "bad")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Pc2daeError, match=r"cannot be written \(Is a directory\); name another --quarantine FILE"):
        Quarantine(tmp_path)
