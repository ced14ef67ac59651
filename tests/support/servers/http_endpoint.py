"""A real HTTP server on the loopback interface, whose answers a test writes as a function."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from runtime.embedded.processes.ports import HOST
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Received:
    """A request as the server has received it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


Answer = tuple[int, Mapping[str, str], bytes | str | list[Any] | dict[str, Any]]
"""Status, headers and body; lists and dicts become JSON."""


@dataclass
class HttpTestServer:
    """The URL of the server and its requests so far."""

    respond: Callable[[Received], Answer]
    url: str = ""
    received: list[Received] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application."""
        from starlette.requests import Request
        from starlette.responses import Response

        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        body = await request.body()
        seen = Received(
            request.method, request.url.path, dict(request.query_params), dict(request.headers), body
        )  # fmt: skip
        self.received.append(seen)
        status, headers, content = await asyncio.to_thread(self.respond, seen)
        data = content if isinstance(content, bytes | str) else json.dumps(content)
        await Response(data, status, dict(headers))(scope, receive, send)


class _Server(uvicorn.Server):
    """Ends at once: uvicorn's own loop looks for the end every 0.1 s."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._end = threading.Event()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await asyncio.to_thread(self._end.wait)

    def end(self) -> None:
        self.force_exit = self.should_exit = True
        self._end.set()


@contextmanager
def http_server(respond: Callable[[Received], Answer], port: int = 0, **options: Any) -> Iterator[HttpTestServer]:
    """A server on this port, by default on any free one; `options` are uvicorn's, such as `host` and `ssl_…`."""
    app = HttpTestServer(respond)
    config = uvicorn.Config(app, port=port, log_level="critical", lifespan="off", **{"host": HOST, **options})
    server = _Server(config)
    thread = threading.Thread(target=server.run, name="http-server", daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, 20, "the HTTP server", 0.003)
        port = server.servers[0].sockets[0].getsockname()[1]
        app.url = f"{'https' if config.is_ssl else 'http'}://{config.host}:{port}"
        yield app
    finally:
        server.end()
        thread.join(10)
