"""GET /connectors/{name}/restarts: policy and history of a connector's automatic restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.rest.http.answers import json_answer
from runtime.rest.resource import Handler, Resource, path_name


def restart_routes(
    restarts: AutoRestarts, check_known: Callable[[str], object], ready: Callable[[Handler], Handler]
) -> Sequence[Route]:
    """`check_known` raises NotFound for an unknown connector; `ready` wraps the handler so that it answers 503 until
    the stores have been read."""

    async def answer(r: Request) -> Response:
        name = path_name(r)
        check_known(name)
        return json_answer(restarts.answer(name))

    return [Route("/connectors/{name}/restarts", Resource(get=ready(answer)))]
