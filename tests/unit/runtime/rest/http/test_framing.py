"""Requests of ambiguous length; answers with values that another writer may have stored."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.config.listeners import Listener
from runtime.rest.app import application
from runtime.rest.http.responses import json_response
from runtime.rest.http.server import RestServer
from runtime.rest.resource import Resource
from runtime.rest.security.security import protection

STORED = {"offsets": [{"partition": {"f": "\ud83d"}, "offset": {"position": 2**64}}]}


async def _stored(_: Request) -> Response:
    return json_response(STORED)


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: 6\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 6",
        "content-length: 0\r\ntransfer-encoding: chunked",
    ],
)
async def test_both_length_headers_are_refused_and_the_rest_is_not_parsed(headers: str) -> None:
    server = RestServer("listeners", [Listener("http", "127.0.0.1", 0)])
    await server.start(protection({}).wrap(application([Route("/x", Resource(get=_stored, post=_stored))])))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.bound[0][1])
    try:
        smuggled = "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        writer.write(f"POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n\r\n0\r\n\r\n{smuggled}".encode())
        answer = await asyncio.wait_for(reader.read(), 30)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1
    finally:
        writer.close()
        await server.close()


@pytest.mark.parametrize("chunk", ["zz\r\n", "1\r\nab\r\n", "ffffffffffffffffffffffff\r\n"])
@pytest.mark.parametrize("request_line", ["POST /x", "POST /unknown", "HEAD /x", "PUT /x"])
async def test_a_malformed_body_is_answered_once(
    request_line: str, chunk: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if the application answers without reading the body."""
    server = RestServer("listeners", [Listener("http", "127.0.0.1", 0)])
    await server.start(protection({}).wrap(application([Route("/x", Resource(get=_stored, post=_stored))])))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.bound[0][1])
    try:
        writer.write(
            f"{request_line} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}".encode()
        )
        answer = await asyncio.wait_for(reader.read(), 30)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1
        await asyncio.sleep(0.05)
        assert not [record for record in caplog.records if record.exc_info]
    finally:
        writer.close()
        await server.close()


def test_stored_values_beyond_64_bits_and_unpaired_surrogates_are_shown() -> None:
    assert json.loads(bytes(json_response(STORED).body)) == STORED
