"""Plugins: GET /connector-plugins/details and POST /connector-plugins/reload, which Apache's API does not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.plugin_reload import PluginReload
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http.answers import json_answer
from runtime.rest.resource import Handler, Resource, parameter

RELOAD_TIMEOUT = 60.0
"""Seconds that another worker has to reload its plugins."""


def plugin_routes(reload: PluginReload, peers: Peers, ready: Callable[[Handler], Handler]) -> Sequence[Route]:
    """The routes of these endpoints; `ready` as for worker_routes()."""

    async def reload_all(request: Request) -> Response:
        """Reloads here first, so that an unknown name changes nothing elsewhere."""
        own = await reload.reload(parameter(request, "plugin") or None)
        workers: dict[str, Any] = {peers.own_id: own}
        for worker_id, answer in (await peers.pass_on(request, "Reloaded", RELOAD_TIMEOUT)).items():
            workers[worker_id] = answer["workers"].get(worker_id) if answer else None
        return json_answer({"workers": workers})

    async def details(_: Request) -> Response:
        return json_answer(await reload.details())

    return [
        Route("/connector-plugins/details", Resource(get=ready(details))),
        Route("/connector-plugins/reload", Resource(post=ready(reload_all))),
    ]
