"""A REST server in its own process, as a target of attacks:
`python -m tests.support.servers.rest_server KEYS [USER:PASSWORD]`.

Prints its two ports as JSON, and ends when its standard input ends."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.config.listeners import Listener
from runtime.herder.status.events import EventLog
from runtime.rest.app import application
from runtime.rest.events import EventStream
from runtime.rest.http import bodies, receiving
from runtime.rest.http.responses import json_response
from runtime.rest.http.server import RestServer
from runtime.rest.resource import Resource
from runtime.rest.security.access import Access, BasicAuth
from runtime.rest.security.tls import server_context

LARGE_ANSWER = b"x" * 16_000_000
"""More than the kernel keeps for a client that does not read."""


class _Herder:
    def changed_at(self) -> dict[str, int]:
        return {}

    async def expanded(self, _: Any) -> dict[str, Any]:
        return {"c": "x" * 1000}


class _Progress:
    def all(self) -> dict[str, Any]:
        return {}


class _Masks:
    async def expanded(self, _: Any, entries: Any) -> Any:
        return entries


async def _root(_: Request) -> Response:
    return json_response("alive")


async def _large(_: Request) -> Response:
    return Response(LARGE_ANSWER, media_type="application/json")


async def _post(r: Request) -> Response:
    return json_response(str(await receiving.parsed(r, bodies.parse)))


def _routes() -> Sequence[Route]:
    events = EventStream(EventLog(), cast("Any", _Herder()), cast("Any", _Progress()), cast("Any", _Masks()))
    return [
        Route("/", Resource(consumes="", get=_root, post=_post)),
        Route("/health", Resource(consumes="", get=_root)),
        Route("/large", Resource(get=_large)),
        Route("/events", Resource("text/event-stream", get=events.stream)),
    ]


async def _serve(keys: str, users: Sequence[str]) -> None:
    listeners = [Listener("http", "127.0.0.1", 0), Listener("https", "127.0.0.1", 0)]
    server = RestServer("listeners", listeners, server_context({"ssl.keystore.location": keys}))
    app = application(_routes())
    await server.start(BasicAuth(app, Access(dict(u.split(":") for u in users))) if users else app)
    print(json.dumps([port for _, port in server.bound]), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2:]))
