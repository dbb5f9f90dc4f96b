from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pc2dae.errors import Pc2daeError
from pc2dae.web.server import open_socket
from pc2dae.web.settings import Settings, is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.20", "kite.example"])
def test_another_address_needs_a_token(host: str, tmp_path: Path) -> None:
    with pytest.raises(Pc2daeError, match="a token is required; add --token, or set PC2DAE_TOKEN"):
        Settings(data=tmp_path, host=host)
    assert not Settings(data=tmp_path, host=host, token="long enough").is_loopback


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Pc2daeError, match="3 characters; use at least 8"):
        Settings(data=tmp_path, token="abc")


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True),
    ("[::1]", True), ("LocalHost", True), ("localhost.evil.com", False), ("10.0.0.1", False), ("", False)])  # fmt: skip
def test_what_this_machine_is_called(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(Pc2daeError, match=r"cannot be used .*; choose another --port"):
            open_socket(Settings(data=tmp_path, port=other.getsockname()[1]))


def test_brokers_that_the_page_may_name(tmp_path: Path) -> None:
    named = Settings(data=tmp_path, broker="localhost:1883", more_brokers=("Kite.example:8883",))
    allowed = ["localhost", "127.0.0.1:1883", "localhost:1883", "kite.example:8883"]
    refused = ["localhost:1884", "127.0.0.1:22", "kite.example", "10.0.0.1:1883"]
    assert [named.allows(b) for b in allowed + refused] == [True] * 4 + [False] * 4
    assert Settings(data=tmp_path, any_broker=True).allows("10.0.0.1:22")
