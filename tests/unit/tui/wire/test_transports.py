"""Both transports against an HTTP server with valid, malformed and missing answers."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.servers.loopback import Handler, serving
from tests.support.sockets import connection_timers
from tests.support.waiting import wait_until
from tui.client.calls import ApiCall, Transport
from tui.client.client import EXPANDED_LIST
from tui.contexts.urls import check_url
from tui.errors import (
    BadRequest,
    MalformedResponse,
    NotFound,
    ServerError,
    TimedOut,
    Unreachable,
    UsageError,
    WrongState,
)
from tui.wire.blocking import BlockingTransport
from tui.wire.endpoint import Endpoint
from tui.wire.evented import AsyncTransport

STATE = "Connectors must be in the STOPPED state before their offsets can be modified."
ANSWERS: dict[str, tuple[int, bytes]] = {
    "/base/ok": (200, b'{"a":1}'),
    "/base/empty": (204, b""),
    "/base/missing": (404, b'{"error_code":404,"message":"Connector x not found"}'),
    "/base/state": (400, json.dumps({"error_code": 400, "message": STATE}).encode()),
    "/base/html": (400, b"<html><h1>Ambiguous URI</h1></html>"),
    "/base/text": (500, b"plain words"),
    "/base/nojson": (200, b"<html>some page</html>"),
    "/base/deep": (200, b"[" * 100_000),
    "/base/nested": (200, b"[" * 400 + b"]" * 400),
    "/base/refused": (500, b"[" * 100_000),
}


class Answers(Handler):
    """Answers from the table; `/base/echo` returns the request, `/base/hang` never answers."""

    protocol_version = "HTTP/1.1"
    release = threading.Event()

    def _answer(self) -> None:
        body = self.body()
        if self.path == "/base/hang":
            self.release.wait(30)
            self.close_connection = True
            return
        seen = {"method": self.command, "body": body.decode(), "auth": self.headers.get("Authorization")}
        code, answer = (200, json.dumps(seen).encode()) if self.path == "/base/echo" else ANSWERS[self.path]
        self.respond(code, answer)
        self.close_connection = (
            self.path == "/base/empty"
        )  # without a Connection header: the next request finds a closed connection

    do_GET = do_PUT = do_PATCH = _answer


@pytest.fixture
def url() -> Iterator[str]:
    Answers.release.clear()
    with serving(Answers) as server:
        yield f"{server.url}/base/"
        Answers.release.set()


Make = Callable[[Endpoint], Transport]


@pytest.fixture(params=[BlockingTransport, AsyncTransport])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    made: list[Transport] = []

    def build(endpoint: Endpoint) -> Transport:
        made.append(request.param(endpoint))
        return made[-1]

    yield build
    for transport in made:
        await transport.close()


def get(transport: Transport, path: str) -> Awaitable[Any]:
    return transport.send(ApiCall("GET", path))


async def test_valid_answers_are_parsed(make: Make, url: str) -> None:
    transport = make(Endpoint(url, "user", "secret"))
    assert await get(transport, "/ok") == {"a": 1}
    assert await get(transport, "/empty") is None
    assert await get(transport, "/ok") == {"a": 1}, "after the server closed the connection, a new one is opened"
    echo = await transport.send(ApiCall("PATCH", "/echo", {"x": "é\udcff"}))
    assert (echo["method"], json.loads(echo["body"])) == ("PATCH", {"x": "é\udcff"})
    assert echo["auth"] == "Basic dXNlcjpzZWNyZXQ="


@pytest.mark.parametrize(("more", "connections"), [(b"", 1), (b"Connection: close\r\n", 2)])
async def test_requests_share_a_connection_unless_the_server_closes_it(
    make: Make, more: bytes, connections: int
) -> None:
    accepted: list[socket.socket] = []

    def respond() -> None:
        for _ in range(2):
            if more or not accepted:
                accepted.append(listener.accept()[0])
            accepted[-1].recv(65536)
            accepted[-1].sendall(b"HTTP/1.1 200 OK\r\n" + more + b"Content-Length: 2\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        listener.settimeout(10)
        responding = pool.submit(respond)
        transport = make(Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", response_timeout=15.0))
        for _ in range(2):
            await get(transport, "/")
        responding.result()
    assert len(accepted) == connections
    for connection in accepted:
        connection.close()


async def test_a_connection_whose_other_end_vanishes_is_noticed(make: Make) -> None:
    """The system sends probes on an open connection."""

    def respond() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            wait_until(lambda: connection_timers(os.getpid(), port) == ["02"], 10, "the timer of keep-alive probes")
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        port = listener.getsockname()[1]
        responding = pool.submit(respond)
        await get(make(Endpoint(f"http://127.0.0.1:{port}")), "/")
        responding.result()


async def test_an_unchanged_list_is_not_parsed_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transport = AsyncTransport(Endpoint(url))
    monkeypatch.setitem(ANSWERS, f"/base{EXPANDED_LIST}", (200, b'{"a":{"status":{}}}'))
    first = await get(transport, EXPANDED_LIST)
    assert await get(transport, EXPANDED_LIST) is first
    monkeypatch.setitem(ANSWERS, f"/base{EXPANDED_LIST}", (200, b'{"b":{"status":{}}}'))
    assert await get(transport, EXPANDED_LIST) == {"b": {"status": {}}}
    monkeypatch.setitem(ANSWERS, f"/base{EXPANDED_LIST}", (200, b"<html>some page</html>"))
    with pytest.raises(ServerError):
        await get(transport, EXPANDED_LIST)
    monkeypatch.setitem(ANSWERS, f"/base{EXPANDED_LIST}", (404, b"{}"))
    with pytest.raises(NotFound):
        await get(transport, EXPANDED_LIST)
    await transport.close()


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("/missing", NotFound, "Connector x not found"),
        ("/state", WrongState, STATE),
        ("/html", BadRequest, "HTTP 400: Ambiguous URI"),
        ("/text", ServerError, "HTTP 500: plain words"),
        ("/nojson", MalformedResponse, "the response is an HTML page"),
        ("/deep", MalformedResponse, "the response is JSON nested too deeply"),
        ("/nested", MalformedResponse, "the response is JSON nested too deeply"),
        ("/refused", ServerError, "HTTP 500: " + "[" * 200),
    ],
)
async def test_refusals_raise_their_errors(make: Make, url: str, path: str, kind: type, message: str) -> None:
    with pytest.raises(kind) as caught:
        await get(make(Endpoint(url)), path)
    assert caught.value.message == message  # type: ignore[attr-defined]


async def test_a_missing_answer_raises_unreachable(make: Make, url: str) -> None:
    with pytest.raises(TimedOut, match=r"no response within 0\.2 s"):
        await get(make(Endpoint(url, response_timeout=0.2)), "/hang")


async def test_a_stream_that_does_not_begin_is_waited_for_as_long_as_it_would_be_read(make: Make, url: str) -> None:
    with pytest.raises(TimedOut, match=r"no response within 0\.2 s"):
        await anext(make(Endpoint(url)).lines("/hang", "", 0.2))


async def test_a_port_without_a_listener_is_unreachable(make: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        with pytest.raises(Unreachable, match="cannot reach http://127"):
            await get(make(Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}")), "/")


async def test_an_unknown_host_is_unreachable(make: Make) -> None:
    with pytest.raises(Unreachable, match="cannot reach"):
        await get(make(Endpoint("http://no-such-host.invalid:8083")), "/")


async def test_proxy_variables_of_the_environment_are_followed(
    make: Make, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", url.removesuffix("/base/"))
    monkeypatch.setitem(ANSWERS, "http://connect.invalid:8083/base/ok", (200, b'"through the proxy"'))
    assert await get(make(Endpoint("http://connect.invalid:8083/base")), "/ok") == "through the proxy"
    assert await get(make(Endpoint(url)), "/ok") == {"a": 1}, "no proxy for this machine"
    monkeypatch.setenv("no_proxy", ".invalid")
    with pytest.raises(Unreachable):
        await get(make(Endpoint("http://connect.invalid:8083/base")), "/ok")


@pytest.mark.parametrize("bad", ["", "localhost:8083", "ftp://x", "http://", "http://x:port", "http://x:0"])
def test_invalid_urls_are_refused(bad: str) -> None:
    with pytest.raises(UsageError, match="not the URL"):
        check_url(bad)
