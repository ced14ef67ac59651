"""The workers of the group, which Apache's API does not have: GET /workers, cordon, uncordon, drain."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.errors import Conflict, Unavailable
from runtime.herder.group.workers import Workers
from runtime.rest.forwarding.answer_shapes import UnusableAnswer, parsed
from runtime.rest.http.answers import empty, json_answer
from runtime.rest.offsets import origin
from runtime.rest.resource import Handler, Resource, parameter, path_name
from runtime.rest.security.access import Role

LEADER_TIMEOUT = 3.0
"""Seconds to wait for the leader's view: the list of workers is needed most while a worker hangs."""


def worker_routes(
    workers: Workers, ready: Callable[[Handler], Handler], leader: Callable[[Handler], Handler]
) -> Sequence[Route]:
    """The routes of these endpoints. `ready` wraps handlers so that they answer 503 until the stores have been read,
    `leader` so that they run at the leader."""

    async def own(_: Request) -> Response:
        return json_answer(workers.view())

    async def view(request: Request) -> Response:
        """The leader's view, which is complete; this worker's own, with the leader in `missing`, if the leader has no
        usable answer soon."""
        if parameter(request, "forward") is not None:
            return await own(request)
        with contextlib.suppress(Conflict, Unavailable, TimeoutError, UnusableAnswer):
            async with asyncio.timeout(LEADER_TIMEOUT):
                answer = await leader(own)(request)
            if answer.status_code == 200:
                return json_answer(workers.seen_from_here(parsed(bytes(answer.body), "Workers")))
        seen = workers.view()
        return json_answer({**seen, "missing": [seen["leader"]]} if seen["leader"] else seen)

    return [
        Route("/workers", Resource(get=ready(view))),
        Route("/workers/{worker_id}/cordon", Resource(role=Role.OPERATE, put=leader(_changing(workers.cordon)))),
        Route("/workers/{worker_id}/uncordon", Resource(role=Role.OPERATE, put=leader(_changing(workers.uncordon)))),
        Route("/workers/{worker_id}/drain", Resource(role=Role.OPERATE, put=leader(_changing(workers.drain)))),
    ]


def _changing(change: Callable[[str, str], Awaitable[None]]) -> Handler:
    async def handler(request: Request) -> Response:
        await change(path_name(request, "worker_id"), origin(request).who)
        return empty(202)

    return handler
