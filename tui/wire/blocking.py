"""The transport of scripts: one connection of the standard library, kept open; nothing suspends.

Not httpx: importing it and making a client takes longer (0.11 s) than all else that a script line does.
"""

from __future__ import annotations

import http.client
import os
import time
from typing import Any

from tui.client import Call
from tui.wire.endpoint import IDLE_SECONDS, Endpoint, decode, encode, trust

_CLOSED = (ConnectionError, http.client.HTTPException)


class Blocking:
    """A `tui.client.Transport` whose coroutines run to their end in one step (`tui.client.drive`)."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.url = endpoint, endpoint.url
        self._base = endpoint.parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", **_authorization(endpoint)}
        self._connection: http.client.HTTPConnection | None = None
        self._prefix, self._reused, self._used_at = "", False, 0.0

    async def send(self, call: Call) -> Any:
        headers = {**self._headers, **dict(call.headers)}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        try:
            return decode(*self._exchange(call, headers))
        except _CLOSED as error:
            if not (self._reused and call.repeatable):
                raise self.endpoint.unreachable(_words(error)) from error
        # The server closed a kept connection at the moment we used it.
        try:
            return decode(*self._exchange(call, headers))
        except _CLOSED as error:
            raise self.endpoint.unreachable(_words(error)) from error

    def _exchange(self, call: Call, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = self._connect()
        try:
            connection.request(call.method, self._target(call.path), encode(call), headers)
            response = connection.getresponse()
            answer = response.status, response.read()
        except TimeoutError as error:
            self._drop()
            raise self.endpoint.no_answer() from error
        except _CLOSED:
            self._drop()
            raise
        self._used_at = time.monotonic()
        return answer

    def _target(self, path: str) -> str:
        """What the request line asks for; a proxy wants the whole URL unless it tunnels."""
        parts = self.endpoint.parts
        return f"{self._prefix}{self._base}{path}" if parts.scheme == "http" else self._base + path

    def _connect(self) -> http.client.HTTPConnection:
        if time.monotonic() - self._used_at > IDLE_SECONDS:
            self._drop()
        self._reused = self._connection is not None
        if self._connection is None:
            connection, self._prefix = _connection(self.endpoint)
            try:
                connection.connect()
            except TimeoutError as error:
                raise self.endpoint.no_connection() from error
            except (OSError, http.client.HTTPException) as error:
                raise self.endpoint.unreachable(_words(error)) from error
            connection.sock.settimeout(self.endpoint.answer_timeout)
            self._connection = connection
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - the point of this transport

    async def close(self) -> None:
        self._drop()


def _connection(endpoint: Endpoint) -> tuple[http.client.HTTPConnection, str]:
    """A connection not yet open, and what stands before the path in a request line."""
    parts, proxy = endpoint.parts, _proxy(endpoint)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    near = proxy or (host, port)
    if parts.scheme == "http":
        prefix = f"http://{parts.netloc.rpartition('@')[2]}" if proxy else ""
        return http.client.HTTPConnection(*near, timeout=endpoint.connect_timeout), prefix
    secure = http.client.HTTPSConnection(*near, timeout=endpoint.connect_timeout, context=trust(endpoint))
    if proxy:
        secure.set_tunnel(host, port)
    return secure, ""


def _proxy(endpoint: Endpoint) -> tuple[str, int] | None:
    """The proxy that the environment names for this host, as curl and httpx obey it."""
    if endpoint.is_local or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    found = proxies.get(endpoint.parts.scheme) or proxies.get("all")
    if not found or proxy_bypass(endpoint.parts.hostname or ""):
        return None
    parts = urlsplit(found if "://" in found else f"http://{found}")
    return parts.hostname or "", parts.port or 8080


def _authorization(endpoint: Endpoint) -> dict[str, str]:
    parts = endpoint.parts
    user, password = (endpoint.username, endpoint.password) if endpoint.username else (parts.username, parts.password)
    if not user:
        return {}
    from base64 import b64encode

    return {"Authorization": "Basic " + b64encode(f"{user}:{password or ''}".encode()).decode()}


def _words(error: Exception) -> str:
    """`Connection refused` rather than `[Errno 111] Connection refused`."""
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
