"""The transport of scripts: one blocking connection that is kept open.

httpx is not used: importing it and creating a client takes longer (0.11 s) than the rest of a script line.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import SplitResult

from tui.client.calls import ApiCall
from tui.errors import NotFound, Unreachable, UsageError, refusal
from tui.wire.connection import Connection
from tui.wire.endpoint import (
    IDLE_SECONDS,
    SILENCE_TIMEOUT,
    Endpoint,
    body_decoder,
    decode,
    encode,
    stream_patience,
    tls_context,
    tls_failure,
)
from tui.wire.limits import TooLarge
from tui.wire.proxy import credentials, proxy_of


class BlockingTransport:
    """A `tui.client.calls.Transport` whose coroutines run to their end in one step (`tui.client.calls.drive`)."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.url = endpoint, endpoint.url
        self._base = endpoint.parts.path.rstrip("/")
        self._headers = {"Host": _host(endpoint.parts), **endpoint.identification()}
        self._connection: Connection | None = None
        self._prefix, self._reused, self._used_at = "", False, 0.0
        self._proxy = _plain(proxy_of(endpoint))
        if endpoint.parts.scheme == "http":
            self._headers |= credentials(self._proxy)

    async def send(self, call: ApiCall) -> Any:
        headers = {**self._headers, **dict(call.headers)}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        try:
            return decode(*self._exchange(call, headers), body_decoder(call))
        except OSError as error:
            if not (self._reused and call.repeatable):
                raise self.endpoint.unreachable(_words(error), sent=True) from error
        # The server closed the idle connection just before the request.
        try:
            return decode(*self._exchange(call, headers), body_decoder(call))
        except OSError as error:
            raise self.endpoint.unreachable(_words(error), sent=True) from error
        except Unreachable as error:
            error.sent = True  # the first time
            raise

    def _exchange(self, call: ApiCall, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = self._connect()
        connection.within(self.endpoint.response_timeout)
        try:
            connection.ask(call.method, self._target(call.path), headers, encode(call))
            response = connection.response()
        except TimeoutError as error:
            self._drop()
            raise self.endpoint.no_response() from error
        except TooLarge as error:
            self._drop()
            raise self.endpoint.too_large(error) from error
        except OSError:
            self._drop()
            raise
        self._used_at = time.monotonic()
        if not connection.lasts:
            self._drop()
        return response

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        """The lines of a server-sent event stream, for `lasting` seconds or until the stream closes."""
        end = None if lasting is None else time.monotonic() + lasting
        self._drop()  # the stream needs a connection of its own
        connection = self._connect()
        try:
            sent = {**self._headers, "Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
            patience = stream_patience(lasting)
            connection.within(patience)
            connection.ask("GET", self._target(path), sent, None)
            try:
                status, kind = connection.head()
            except TimeoutError as error:
                raise self.endpoint.no_response(patience) from error
            connection.within(math.inf if end is None else end - time.monotonic(), SILENCE_TIMEOUT)
            if status >= 300:
                raise refusal(status, f"HTTP {status}")
            if "event-stream" not in kind:
                raise NotFound("no event stream", 404)
            while (line := _line(connection, end)) is not None:
                yield line
        except TooLarge as error:
            raise self.endpoint.too_large(error) from error
        except OSError as error:
            raise self.endpoint.unreachable(_words(error), sent=True) from error
        finally:
            self._drop()

    def _target(self, path: str) -> str:
        """The target of the request line: a path, or the whole URL for a proxy that does not tunnel."""
        parts = self.endpoint.parts
        return f"{self._prefix}{self._base}{path}" if parts.scheme == "http" else self._base + path

    def _connect(self) -> Connection:
        if time.monotonic() - self._used_at > IDLE_SECONDS:
            self._drop()
        self._reused = self._connection is not None
        if self._connection is None:
            try:
                self._connection, self._prefix = _connection(self.endpoint, self._proxy)
            except TimeoutError as error:
                raise self.endpoint.no_connection() from error
            except OSError as error:
                raise self.endpoint.unreachable(_words(error)) from error
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - the point of this transport

    async def close(self) -> None:
        self._drop()


def _connection(endpoint: Endpoint, proxy: SplitResult | None) -> tuple[Connection, str]:
    """An open connection, and the prefix of paths in its request lines."""
    parts = endpoint.parts
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    context = tls_context(endpoint) if parts.scheme == "https" else None
    near = (proxy.hostname or "", proxy.port or 80) if proxy else (host, port)
    connection = Connection(near, endpoint.connect_timeout, endpoint.sizes)
    if context is None:
        return connection, f"http://{_host(parts)}" if proxy else ""
    try:
        if proxy:
            connection.tunnel(host, port, credentials(proxy))
        connection.secure(context, host)
    except OSError:
        connection.close()
        raise
    return connection, ""


def _plain(proxy: SplitResult | None) -> SplitResult | None:
    """The proxy, to which the connection is not encrypted. Raises UsageError for others."""
    if proxy is not None and proxy.scheme == "https":
        raise UsageError("scripts cannot use a proxy of type https", "use its http port")
    return proxy


def _host(parts: SplitResult) -> str:
    """The host as the URL names it, without a user."""
    return parts.netloc.rpartition("@")[2]


def _line(connection: Connection, end: float | None) -> str | None:
    """The next line; None at the end of the stream or of the time."""
    if end is not None and time.monotonic() >= end:
        return None
    try:
        raw = connection.line()
    except TimeoutError:
        if end is not None and time.monotonic() >= end:
            return None
        raise
    return raw.decode("utf-8", "replace").rstrip("\r\n") if raw else None


def _words(error: Exception) -> str:
    """`Connection refused` rather than `[Errno 111] Connection refused`."""
    words = tls_failure(error) or (isinstance(error, OSError) and error.strerror)
    return words or str(error) or type(error).__name__
