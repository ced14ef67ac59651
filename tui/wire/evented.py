"""The transport of the screen: httpx on the event loop, and the worker's event stream."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from tui.client.calls import ApiCall
from tui.client.client import EXPANDED_LIST
from tui.errors import NotFound, refusal
from tui.wire import limits
from tui.wire.endpoint import (
    IDLE_SECONDS,
    Endpoint,
    body_decoder,
    decode,
    encode,
    stream_patience,
    tls_context,
    tls_failure,
)
from tui.wire.keep_alive import socket_options
from tui.wire.list_decoder import ListDecoder
from tui.wire.proxy import proxy_of


def loads(text: bytes | str) -> Any:
    """Decodes JSON; raises ValueError. A list of 1,000 connectors (1 MB) blocks the event loop for 22 ms with json and
    8 ms with orjson, which however refuses lone surrogates."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


# Without this httpx imports its command line (click, pygments), which delays the first paint.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # prevents the import
import httpx  # noqa: E402 - after the line before

if sys.modules["httpx._main"] is None:
    del sys.modules["httpx._main"]


class AsyncTransport:
    """A `tui.client.calls.Transport` on the running event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.url = endpoint, endpoint.url
        proxy = proxy_of(endpoint)
        self._lists = ListDecoder(lambda body: decode(200, body, loads))
        self._client = httpx.AsyncClient(
            base_url=endpoint.url.rstrip("/"),
            timeout=httpx.Timeout(endpoint.response_timeout, connect=endpoint.connect_timeout),
            headers={"Accept-Encoding": "gzip, deflate", **endpoint.identification()},
            trust_env=False,
            transport=httpx.AsyncHTTPTransport(
                # Loading the certificates takes 20 ms, and only TLS needs them.
                verify=tls_context(endpoint) if endpoint.parts.scheme == "https" else False,
                trust_env=False,
                limits=httpx.Limits(keepalive_expiry=IDLE_SECONDS),
                proxy=None if proxy is None else proxy.geturl(),
                socket_options=socket_options(),
            ),
        )

    async def send(self, call: ApiCall) -> Any:
        headers = {name.encode(): value.encode("latin-1") for name, value in call.headers}
        if call.body is not None:
            headers[b"Content-Type"] = b"application/json"
        request = self._client.build_request(call.method, call.path, content=encode(call), headers=headers)
        with self._our_errors():
            # The client's own timeout applies to each read: a server that sends single bytes would never exceed it.
            async with asyncio.timeout(self.endpoint.response_timeout):
                status, body = await self._status_and_body(request, call.repeatable)
        if call.method == "GET" and call.path == EXPANDED_LIST and status == 200:
            return await self._lists.decoded(body)
        return decode(status, body, body_decoder(call, loads))

    async def _status_and_body(self, request: httpx.Request, repeatable: bool) -> tuple[int, bytes]:
        """The status and the body of the response."""
        try:
            return await self._read(request)
        except httpx.RemoteProtocolError as lost:  # such as an idle connection closed by the server
            if not repeatable:
                raise
            try:
                return await self._read(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise lost from error  # the request may have arrived the first time

    async def _read(self, request: httpx.Request) -> tuple[int, bytes]:
        """Reads the body here: a response that held it would be in a reference cycle until the next collection."""
        response = await self._client.send(request, stream=True)
        try:
            room, parts = limits.Room(self.endpoint.sizes.response), []
            async for part in _decoded(response):
                room.take(len(part))
                parts.append(part)
            return response.status_code, b"".join(parts)
        finally:
            await response.aclose()

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        """The lines of a server-sent event stream, for `lasting` seconds or until it closes. An empty
        first line means that the stream is open. Raises NotFound if the worker has no event stream."""
        end = None if lasting is None else asyncio.get_running_loop().time() + lasting
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        patience = stream_patience(lasting)
        timeout = httpx.Timeout(patience, connect=self.endpoint.connect_timeout)
        with self._our_errors(patience):
            async with self._client.stream("GET", path, headers=headers, timeout=timeout) as response:
                if response.is_error:
                    raise refusal(response.status_code, f"HTTP {response.status_code}")
                if "event-stream" not in response.headers.get("content-type", ""):
                    raise NotFound("no event stream", 404)
                yield ""
                lines = _lines(response, self.endpoint.sizes.event)
                if end is None:
                    async for line in lines:
                        yield line
                    return
                while True:
                    try:
                        async with asyncio.timeout_at(end):
                            line = await anext(lines)
                    except (StopAsyncIteration, TimeoutError):
                        return
                    yield line

    @contextmanager
    def _our_errors(self, within: float = 0.0) -> Iterator[None]:
        try:
            yield
        except limits.TooLarge as error:
            raise self.endpoint.too_large(error) from error
        except httpx.ConnectTimeout as error:
            raise self.endpoint.no_connection() from error
        except (httpx.TimeoutException, TimeoutError) as error:
            raise self.endpoint.no_response(within) from error
        except httpx.ConnectError as error:
            raise self.endpoint.unreachable(_words(error)) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise self.endpoint.unreachable(_words(error), sent=True) from error
        except OSError as error:  # such as a TLS alert after the handshake, which httpx does not wrap
            raise self.endpoint.unreachable(_words(error), sent=True) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        await self._client.aclose()


def _decoded(response: httpx.Response) -> AsyncIterator[bytes]:
    """The decompressed body. Brotli, zstd or gzip in gzip could grow one read without bound."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in limits.ENCODINGS:
        raise httpx.DecodingError(f"the response has the Content-Encoding {encoding[:80]!r}, which was not requested")
    return response.aiter_bytes()


async def _lines(response: httpx.Response, most: int) -> AsyncGenerator[str, None]:
    """The complete lines of an event stream, whose events have at most this number of bytes."""
    room, parts = limits.Room(most), list[bytes]()
    async for part in _decoded(response):
        *ends, start = part.split(b"\n")
        for end in ends:
            room.take(len(end))
            line = b"".join([*parts, end]).decode("utf-8", "replace").removesuffix("\r")
            room, parts = room if line else limits.Room(most), []
            yield line
        room.take(len(start))
        parts.append(start)


def _words(error: Exception) -> str:
    """The operating system's message if there is one, since httpx reports all failed connections alike."""
    words = str(error)
    cause: BaseException | None = error.__cause__ or error.__context__ or error
    while cause is not None:
        if failure := tls_failure(cause):
            return failure
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or str(cause)
        words, cause = words or str(cause), cause.__cause__ or cause.__context__
    return words.removesuffix(".") or type(error).__name__
