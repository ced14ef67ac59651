"""The choice of the proxy, which both transports share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tui.errors import UsageError
from tui.wire.blocking import BlockingTransport
from tui.wire.endpoint import Endpoint
from tui.wire.evented import AsyncTransport
from tui.wire.proxy import proxy_of

PROXY = "http://proxy:3128"
TRANSPORTS = [BlockingTransport, AsyncTransport]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("excluded", "host", "direct"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("2001:db8::/32", "[2001:db8::5]", True),
        ("[::1],fe80::/10, ,2001:db8::5", "[2001:db8::5]", True),
        ("connect.example:8083", "connect.example", True),
        ("connect.example:8084", "connect.example", False),
        ("*.corp,.example", "Connect.Example", True),
        ("*.example", "connect.example", True),
        ("example", "other-example", False),
        ("a, *", "connect.example", True),
    ],
)
def test_no_proxy_names_hosts_domains_ports_and_networks(
    excluded: str, host: str, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", excluded)
    assert (proxy_of(Endpoint(f"http://{host}:8083")) is None) is direct


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("excluded", ["[::1]", "2001:db8::/32", "fe80::/10,::1"])
def test_networks_of_ipv6_in_no_proxy_end_no_transport(
    transport: Callable[[Endpoint], Any], excluded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", excluded)
    transport(Endpoint("http://connect.example:8083"))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        ("socks5://me:secret@127.0.0.1:1080", "is a proxy of type socks5"),
        ("http://me:secret@proxy:80x", "is not a valid URL"),
        (" ", "is not a valid URL"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_with_the_remedy(
    transport: Callable[[Endpoint], Any], proxy: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(UsageError, match=f"ALL_PROXY of the environment {reason} .*NO_PROXY") as raised:
        transport(Endpoint("http://connect.example:8083"))
    assert "secret" not in str(raised.value)
    transport(Endpoint("http://connect.example:8083", proxy="none"))
    transport(Endpoint("http://127.0.0.1:8083"))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_scheme_of_a_contexts_proxy_may_be_missing(transport: Callable[[Endpoint], Any]) -> None:
    transport(Endpoint("http://connect.example:8083", proxy="proxy:3128"))


def test_scripts_refuse_a_proxy_that_would_be_spoken_to_without_encryption() -> None:
    with pytest.raises(UsageError, match="type https"):
        BlockingTransport(Endpoint("http://connect.example:8083", proxy="https://proxy:3128"))
