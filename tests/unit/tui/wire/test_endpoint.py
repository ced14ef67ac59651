"""Endpoints in both transports: headers, tokens, certificates, proxies, and failover to other workers."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.support.servers.certificates import Stores, make_stores
from tests.support.servers.loopback import Handler, serving
from tui import session
from tui.client.calls import ApiCall, Transport
from tui.contexts.profiles import Profile
from tui.errors import Refused, TimedOut, Unreachable, UsageError
from tui.wire.endpoint import decode, tls_failure

Open = Callable[[Profile], Transport]


class Echo(Handler):
    """Answers with the path and headers of the request; a proxy receives the whole URL."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.body()
        self.respond(200, json.dumps({"path": self.path, "headers": dict(self.headers)}).encode())

    do_GET = do_POST = _answer


@pytest.fixture
def port() -> Iterator[int]:
    with serving(Echo) as server:
        yield server.port


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return make_stores(tmp_path)


@pytest.fixture
def tls_port(stores: Stores) -> Iterator[int]:
    """Accepts only clients with a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stores.pem)
    context.load_verify_locations(stores.trust)
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(Echo, context) as server:
        yield server.port


@pytest.fixture(params=[session.blocking, session.evented], ids=["blocking", "evented"])
async def dial(request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    made: list[Transport] = []

    def build(profile: Profile) -> Transport:
        made.append(request.param(profile))
        return made[-1]

    yield build
    for transport in made:
        await transport.close()


def unused_url() -> str:
    """The URL of a port without a listener."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


async def headers(transport: Transport) -> dict[str, str]:
    answer = await transport.send(ApiCall("GET", "/x"))
    return {name.lower(): value for name, value in answer["headers"].items()}


async def test_headers_and_credentials_are_sent(dial: Open, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SECRET", "s3cret")
    url = f"http://127.0.0.1:{port}"
    basic = await headers(dial(Profile(url, username="u", password="env:TEST_SECRET", headers={"X-Org": "ops"})))
    assert (basic["authorization"], basic["x-org"]) == ("Basic dTpzM2NyZXQ=", "ops")
    bearer = await headers(dial(Profile(url, token="env:TEST_SECRET", headers={"X-Key": "command:echo k; echo more"})))
    assert (bearer["authorization"], bearer["x-key"]) == ("Bearer s3cret", "k")
    in_url = await headers(dial(Profile(f"http://u:p%40ss@127.0.0.1:{port}")))
    assert in_url["authorization"] == "Basic dTpwQHNz"


async def test_the_client_certificate_is_sent(dial: Open, tls_port: int, stores: Stores) -> None:
    url = f"https://127.0.0.1:{tls_port}"
    known = Profile(url, ca=str(stores.trust), certificate=str(stores.pem))
    assert (await headers(dial(known)))["accept"] == "application/json"
    with pytest.raises(Unreachable):
        await dial(Profile(url, ca=str(stores.trust))).send(ApiCall("GET", "/x"))
    with pytest.raises(Unreachable, match=r": the certificate is refused: [a-z -]*self.signed certificate[a-z ]*$"):
        await dial(Profile(url)).send(ApiCall("GET", "/x"))
    with pytest.raises(UsageError, match="cannot use the certificate"):
        keyless = Profile(url, ca=str(stores.trust), certificate=str(stores.trust))
        await dial(keyless).send(ApiCall("GET", "/x"))


async def test_https_at_a_port_for_http(dial: Open, port: int) -> None:
    with pytest.raises(Unreachable, match=r": the port does not speak TLS; is its URL http://…\?$"):
        await dial(Profile(f"https://127.0.0.1:{port}")).send(ApiCall("GET", "/x"))


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ssl.SSLEOFError(8, "EOF occurred (_ssl.c:1006)"), "TLS: EOF occurred"),
        (ConnectionResetError(104, "Connection reset by peer"), ""),
    ],
)
def test_the_number_of_an_error_of_tls_is_not_one_of_the_operating_system(error: OSError, failure: str) -> None:
    assert tls_failure(error) == failure


async def test_requests_are_sent_to_the_proxy_with_its_credentials(dial: Open, port: int) -> None:
    transport = dial(Profile("http://connect.invalid:8083", proxy=f"http://me:pw@127.0.0.1:{port}"))
    answer = await transport.send(ApiCall("GET", "/x"))
    assert answer["path"] == "http://connect.invalid:8083/x"
    assert (await headers(transport))["proxy-authorization"] == "Basic bWU6cHc="


async def test_if_a_worker_is_unreachable_the_next_one_is_used(dial: Open, port: int) -> None:
    there = f"http://127.0.0.1:{port}"
    transport = dial(Profile(unused_url(), others=(unused_url(), there)))
    assert (await transport.send(ApiCall("POST", "/x", {})))["path"] == "/x"
    assert transport.url == there, "later requests go to the worker that answered"
    nowhere = dial(Profile(unused_url(), others=(unused_url(),)))
    with pytest.raises(Unreachable):
        await nowhere.send(ApiCall("GET", "/x"))


async def test_a_change_that_may_have_arrived_is_not_sent_to_another_worker(dial: Open, port: int) -> None:
    """The first worker closes the connection after receiving the request."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken: list[bytes] = []

    def hang_up() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            taken.append(connection.recv(65536))
            connection.close()

    thread = threading.Thread(target=hang_up)
    thread.start()
    try:
        profile = Profile(f"http://127.0.0.1:{listener.getsockname()[1]}", others=(f"http://127.0.0.1:{port}",))
        with pytest.raises(Unreachable):
            await dial(profile).send(ApiCall("POST", "/x", {}))
        assert len(taken) == 1
        assert (await dial(profile).send(ApiCall("GET", "/x")))["path"] == "/x"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


async def test_only_reads_fail_over_from_a_worker_that_hangs(dial: Open, port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        profile = Profile(
            f"http://127.0.0.1:{silent.getsockname()[1]}", others=(f"http://127.0.0.1:{port}",), timeout=0.3
        )
        assert (await dial(profile).send(ApiCall("GET", "/x")))["path"] == "/x"
        with pytest.raises(TimedOut, match=r"within 0\.3 s"):
            await dial(profile).send(ApiCall("POST", "/x", {}))


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b" <!doctype html><title>Sign in</title>", "the response is an HTML page: Sign in (is this the URL of"),
        (200, b"<p>", "the response is an HTML page (is this the URL of"),
        (200, b'{"a": {"status"', "the response is incomplete or invalid JSON"),
        (302, b"", "HTTP 302: a redirect (is this the URL of"),
    ],
)
def test_responses_of_something_else_than_a_worker(status: int, body: bytes, message: str) -> None:
    with pytest.raises(Refused) as caught:
        decode(status, body)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (
            b"<html><title>Error 400 x</title><tr><th>MESSAGE:</th><td>Ambiguous &amp; bad</td></tr>",
            ": Ambiguous & bad",
        ),
        (b"<html><head><title>502 Bad Gateway</title></head>", ": 502 Bad Gateway"),
        (b"<p>sorry</p>", ""),
        (b"no page", ": no page"),
    ],
)
def test_the_message_of_an_error_page(page: bytes, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        decode(400, page)
    assert caught.value.message == f"HTTP 400{reason}"
