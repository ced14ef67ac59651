"""The workers of the group, which Apache's API does not have: GET /workers, cordon, uncordon, drain."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import Conflict, Unavailable
from runtime.herder.group.workers import Workers
from runtime.rest.forwarding.response_shapes import UnusableResponse, parsed
from runtime.rest.http.parameters import parameter, path_name
from runtime.rest.http.responses import empty, json_response
from runtime.rest.offsets import origin
from runtime.rest.resource import Handler

LEADER_TIMEOUT = 3.0
"""Seconds to wait for the leader's view: the list of workers is needed most while a worker hangs."""


class GroupHandlers:
    """Handlers below /workers."""

    def __init__(self, workers: Workers, leader: Callable[[Handler], Handler]) -> None:
        """`leader` wraps handlers so that they run at the leader."""
        self._workers, self._leader = workers, leader

    async def view(self, request: Request) -> Response:
        """The leader's view, which is complete; this worker's own, with the leader in `missing`, if the leader has no
        usable response soon."""
        if parameter(request, "forward") is not None:
            return await self._own(request)
        with contextlib.suppress(Conflict, Unavailable, TimeoutError, UnusableResponse):
            async with asyncio.timeout(LEADER_TIMEOUT):
                response = await self._leader(self._own)(request)
            if response.status_code == 200:
                return json_response(self._workers.seen_from_here(parsed(bytes(response.body), "Workers")))
        seen = self._workers.view()
        return json_response({**seen, "missing": [seen["leader"]]} if seen["leader"] else seen)

    async def _own(self, _: Request) -> Response:
        return json_response(self._workers.view())

    async def cordon(self, r: Request) -> Response:
        return await _change(r, self._workers.cordon)

    async def uncordon(self, r: Request) -> Response:
        return await _change(r, self._workers.uncordon)

    async def drain(self, r: Request) -> Response:
        return await _change(r, self._workers.drain)


async def _change(request: Request, change: Callable[[str, str], Awaitable[None]]) -> Response:
    await change(path_name(request, "worker_id"), origin(request).who)
    return empty(202)
