"""HTTP clients and the proxies of the environment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.api.errors import ConfigError
from runtime.system.http_client import proxied_client
from tests.support.servers.loopback import Handler, serving


class _Answers(Handler):
    def do_GET(self) -> None:
        self.respond(200, self.path.encode())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that answers with the target of the request, and so is a proxy, too."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving(_Answers) as listening:
        yield listening.url


def test_other_machines_are_reached_through_the_proxy_and_this_one_without(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server)
    with proxied_client() as client:
        assert client.get("http://api.invalid/x").text == "http://api.invalid/x"
        assert client.get(f"{server}/x").text == "/x"
        assert client.get(f"{server.replace('127.0.0.1', 'localhost')}/x").text == "/x"


@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "socks5://x:1080"), ("NO_PROXY", "[::1]"), ("HTTP_PROXY", "ftp://x")]
)
def test_proxies_that_cannot_be_used_are_named(
    server: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="proxies of the worker's environment cannot be used: correct HTTP_PROXY"):
        proxied_client()
