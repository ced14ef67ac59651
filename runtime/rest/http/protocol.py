"""uvicorn's HTTP protocol on a counted connection."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from runtime.rest.http.connections import AcceptedConnection, ConnectionKey, Connections
from runtime.rest.http.responses import error

CHUNK_SIZE = 64 * 1024
HEALTH_PATHS = ("/health", "/health/live")


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 that keeps the state of its AcceptedConnection up to date."""

    connections_of_server: Connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connection: AcceptedConnection | None = None
        self.served = False  # a response has been sent
        self._is_half_closed = False  # the client sends nothing more, and reads

    @property
    def idle(self) -> bool:
        """Whether no request is in progress."""
        return self.conn.their_state is h11.IDLE

    @property
    def responding(self) -> bool:
        """Whether the request is still unanswered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        key: ConnectionKey = (transport.get_extra_info("peername"), transport.get_extra_info("sockname"))
        self._connection = self.connections_of_server.http_started(key, self)
        if self._connection is None:
            self.transport.abort()
        elif self._connection.reserved:
            self.app = _only_health(self.app)

    def data_received(self, data: bytes) -> None:
        was_idle = self.idle
        super().data_received(data)
        if was_idle and not self.idle and self._connection is not None:
            self.connections_of_server.request_started(self._connection)

    def eof_received(self) -> Any:
        """A client may close its side after the request (`nc -N`), and still gets the response, as from Jetty: asyncio
        keeps the connection if this is true, which uvicorn does not provide for. A stream ends: its client has gone.
        TLS has no half-closed connections."""
        waits = self.responding and not self.cycle.response_started and self.conn.their_state is h11.DONE
        self._is_half_closed = waits and self.transport.get_extra_info("sslcontext") is None
        return self._is_half_closed

    def on_response_complete(self) -> None:
        self.served = True
        if self._connection is not None:
            self.connections_of_server.request_ended(self._connection)
        super().on_response_complete()  # starts the next pipelined request, if any
        if self._connection is not None and self.responding:
            self.connections_of_server.request_started(self._connection)
        elif self._is_half_closed:
            self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Any server may ignore a request for another protocol: java.net.http sends one with its first request."""

    def send_400_response(self, msg: str) -> None:
        """Refuses a malformed body, or invalid data after the body. The application must not send a second answer."""
        if self.responding:
            self.cycle.disconnected = True
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # a response has started, or must have no body since the method is HEAD
            self.transport.close()
        if (refused := sys.exc_info()[1]) is not None:
            refused.__traceback__ = None  # h11's frames refer to the error, and the traceback to this connection

    def connection_lost(self, exc: Exception | None) -> None:
        """Breaks the cycles of references: after a flood, thousands of connections would wait for a full garbage
        collection, which is rare."""
        super().connection_lost(exc)
        self._connection = None
        if self.cycle is not None:
            self.cycle.on_response = _ignore  # a disconnected cycle sends nothing more

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._connection is not None:
            self._connection.last_read = time.monotonic()

    def timeout_keep_alive_handler(self) -> None:
        if self._connection is not None:
            self._connection.since = time.monotonic()  # the time for closing starts now
        super().timeout_keep_alive_handler()


def _ignore() -> None: ...


def bounded(connections: Connections) -> type[BoundedProtocol]:
    """The protocol class of one server, whose connections are counted together."""
    return type("ServerProtocol", (BoundedProtocol,), {"connections_of_server": connections})


def in_chunks(app: ASGIApp) -> ASGIApp:
    """Sends large responses in chunks, so that clients that do not read hold little memory."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_chunks(message: Message) -> None:
            body = message.get("body", b"") if message["type"] == "http.response.body" else b""
            if len(body) <= CHUNK_SIZE:
                await send(message)
                return
            for at in range(0, len(body), CHUNK_SIZE):
                more = at + CHUNK_SIZE < len(body) or message.get("more_body", False)
                await send({"type": "http.response.body", "body": body[at : at + CHUNK_SIZE], "more_body": more})

        await app(scope, receive, send_chunks)

    return respond


def _only_health(app: ASGIApp) -> ASGIApp:
    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].rstrip("/") in HEALTH_PATHS:
            await app(scope, receive, send)
            return
        refusal = error(503, "The worker has too many connections; only /health is answered until some close")
        refusal.headers["Connection"] = "close"
        await refusal(scope, receive, send)

    return respond
