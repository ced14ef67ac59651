"""A persistent HTTP/1.1 connection over a socket; responses are parsed by httptools (Node's parser).

http.client is not used: importing the mail parser and the ssl module took a fifth of a script line's time. ssl is
imported only for https.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from httptools import HttpParserError, HttpResponseParser

from tui.wire import limits
from tui.wire.keep_alive import socket_options

if TYPE_CHECKING:
    import ssl

READ_BYTES = 1 << 18  # per read
LONGEST_READ = 0.5  # seconds; Python learns only after a read of a signal that arrived just before the read began
NO_RESPONSE = "Remote end closed connection without response"
PARTIAL_RESPONSE = "Remote end closed connection in the middle of its response"


class Connection:
    """Connects on creation, within `timeout` seconds. Errors raise OSError, after which the connection is unusable.

    `until` is the deadline for a whole response, in monotonic seconds, and `quiet` the longest silence before it, so a
    server that sends a byte now and then cannot delay the caller for long.
    """

    def __init__(self, address: tuple[str, int], timeout: float, sizes: limits.SizeLimits) -> None:
        self._sizes = sizes
        self.until, self.quiet = time.monotonic() + timeout, timeout
        self.socket = socket.create_connection(address, timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option in socket_options():
            self.socket.setsockopt(*option)
        self._response, self._room = _Response(), limits.Room(self._sizes.response)

    def within(self, seconds: float, quiet: float = math.inf) -> None:
        """Sets both limits, counted from now."""
        self.until, self.quiet = time.monotonic() + seconds, min(quiet, seconds)
        if self.quiet < math.inf:
            self.socket.settimeout(self.quiet)

    def tunnel(self, host: str, port: int, headers: Mapping[str, str]) -> None:
        """Opens a tunnel through a proxy to a TLS server. Raises OSError."""
        target = authority(host, port)
        self.ask("CONNECT", target, {"Host": target, **headers}, None)
        while not self._response.headed:
            self._more()
        if self._response.status != 200:
            raise OSError(f"Tunnel connection failed: {self._response.status} {self._response.reason}")

    def secure(self, context: ssl.SSLContext, host: str) -> None:
        self.socket.settimeout(self._left())  # for the handshake; a read in the tunnel has set a shorter one
        self.socket = context.wrap_socket(self.socket, server_hostname=host)

    def ask(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> None:
        """Sends a request. Methods that usually have a body get `Content-Length: 0` without one."""
        length = {} if body is None and method in ("GET", "CONNECT") else {"Content-Length": str(len(body or b""))}
        lines = [f"{method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in {**headers, "Accept-Encoding": "identity", **length}.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise OSError("a header or the URL's path contains a line break")
        self._response, self._room = _Response(), limits.Room(self._sizes.response)
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (body or b""))

    def response(self) -> tuple[int, bytes]:
        """Reads the response: status and body."""
        while not self._response.complete:
            self._more()
        return self._response.status, b"".join(self._response.parts)

    @property
    def lasts(self) -> bool:
        """Whether the connection can be used for another request."""
        return self._response.complete and self._response.keeps_alive

    def head(self) -> tuple[int, str]:
        """Reads the head of the response: status and content type."""
        while not self._response.headed:
            self._more()
        self._room = limits.Room(self._sizes.event)
        return self._response.status, self._response.headers.get("content-type", "")

    def line(self) -> bytes:
        """Reads the next line of an endless body, with its newline; without a newline at the end of the body."""
        parts, looked = self._response.parts, 0
        while not any(b"\n" in part for part in parts[looked:]) and not self._response.complete:
            looked = len(parts)
            self._more()
        line, newline, rest = b"".join(parts).partition(b"\n")
        parts[:] = [rest] if rest else []
        if not line.strip():  # the end of an event
            self._room = limits.Room(self._sizes.event)
        return line + newline

    def close(self) -> None:
        self.socket.close()

    def _left(self) -> float:
        """Seconds until the next of both limits. Raises TimeoutError after the deadline."""
        if (left := min(self.until - time.monotonic(), self.quiet)) <= 0:
            raise TimeoutError("timed out")
        return left

    def _read(self) -> bytes:
        end = time.monotonic() + self._left()
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(min(left, LONGEST_READ))
            with suppress(TimeoutError):
                return self.socket.recv(READ_BYTES)
        raise TimeoutError("timed out")

    def _more(self) -> None:
        data = self._read()
        self._room.take(len(data))
        try:
            if data:
                self._response.parser.feed_data(data)
            elif self._response.ends_with_connection:
                self._response.complete = True
            else:
                raise ConnectionResetError(PARTIAL_RESPONSE if self._response.headed else NO_RESPONSE)
        except HttpParserError as error:
            raise OSError(f"the response is not HTTP: {error}") from error


class _Response:
    """A response as the parser reports it. Interim responses (1xx) are skipped: the final one follows."""

    def __init__(self) -> None:
        self.parser = HttpResponseParser(self)
        self.status, self.reason = 0, ""
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.headed = self.complete = self.keeps_alive = False

    @property
    def ends_with_connection(self) -> bool:
        """Whether the body ends when the server closes the connection: it has neither a length nor chunks."""
        return self.headed and self.headers.keys().isdisjoint(("content-length", "transfer-encoding"))

    def on_status(self, reason: bytes) -> None:
        self.reason = reason.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        if self.status < 200:
            self.headers.clear()
        else:
            self.headed = True

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.complete = self.headed
        self.keeps_alive = self.parser.should_keep_alive()  # the parser forgets it afterwards


def authority(host: str, port: int) -> str:
    """Host and port as in a request line; IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
