"""uvicorn's HTTP protocol on a counted connection."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from runtime.rest.http.answers import error
from runtime.rest.http.connections import Connections, Peer, Place

PIECE = 64 * 1024
HEALTH = ("/health", "/health/live")


class BoundedProtocol(H11Protocol):
    """Keeps the state of its Place up to date."""

    connections_of_server: Connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._place: Place | None = None
        self.served = False  # an answer has been sent

    @property
    def waits(self) -> bool:
        """Whether no request is in progress."""
        return self.conn.their_state is h11.IDLE

    @property
    def working(self) -> bool:
        """Whether the request is still unanswered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        peer: Peer = (transport.get_extra_info("peername"), transport.get_extra_info("sockname"))
        self._place = self.connections_of_server.made(peer, self)
        if self._place is None:
            self.transport.abort()
        elif self._place.reserved:
            self.app = _only_health(self.app)

    def data_received(self, data: bytes) -> None:
        waited = self.waits
        super().data_received(data)
        if waited and not self.waits and self._place is not None:
            self.connections_of_server.asked(self._place)

    def on_response_complete(self) -> None:
        self.served = True
        if self._place is not None:
            self.connections_of_server.answered(self._place)
        super().on_response_complete()  # may begin the next request if several were pipelined
        if self._place is not None and self.working:
            self.connections_of_server.asked(self._place)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._place is not None:
            self._place.taken = time.monotonic()

    def timeout_keep_alive_handler(self) -> None:
        if self._place is not None:
            self._place.since = time.monotonic()  # closing may take LINGER seconds
        super().timeout_keep_alive_handler()


def bounded(connections: Connections) -> type[BoundedProtocol]:
    """The protocol of one server, whose connections are counted together."""
    return type("OfOneServer", (BoundedProtocol,), {"connections_of_server": connections})


def in_pieces(app: ASGIApp) -> ASGIApp:
    """Sends large answers in pieces, so that clients that do not read keep little in memory."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            body = message.get("body", b"") if message["type"] == "http.response.body" else b""
            if len(body) <= PIECE:
                await send(message)
                return
            for at in range(0, len(body), PIECE):
                more = at + PIECE < len(body) or message.get("more_body", False)
                await send({"type": "http.response.body", "body": body[at : at + PIECE], "more_body": more})

        await app(scope, receive, sending)

    return answer


def _only_health(app: ASGIApp) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].rstrip("/") in HEALTH:
            await app(scope, receive, send)
            return
        refusal = error(503, "The worker has too many connections at present; only /health is answered")
        refusal.headers["Connection"] = "close"
        await refusal(scope, receive, send)

    return answer
