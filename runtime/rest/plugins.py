"""Plugins; their details and POST /connector-plugins/reload are not in Apache's API."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.herder import Herder
from runtime.herder.plugin_reload import PluginReload
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http import bodies
from runtime.rest.http.parameters import flag, parameter, path_name
from runtime.rest.http.receiving import parsed
from runtime.rest.http.responses import json_response
from runtime.rest.security.access import Role, role_of

RELOAD_TIMEOUT = 60.0
"""Seconds that another worker has to reload its plugins."""


class PluginHandlers:
    """Handlers below /connector-plugins, except previews."""

    def __init__(self, herder: Herder, reload: PluginReload, peers: Peers) -> None:
        self._herder, self._reload, self._peers = herder, reload, peers

    async def list(self, r: Request) -> Response:
        return json_response(await self._herder.plugins(flag(r, "connectorsOnly", True)))

    async def config(self, r: Request) -> Response:
        return json_response(await self._herder.plugin_config(path_name(r), parameter(r, "version")))

    async def validate(self, r: Request) -> Response:
        text_only = role_of(r.scope) < Role.ADMIN
        return json_response(await self._herder.validate(path_name(r), await parsed(r, bodies.config), text_only))

    async def details(self, _: Request) -> Response:
        return json_response(await self._reload.details())

    async def reload(self, r: Request) -> Response:
        """Reloads here first, so that an unknown name changes nothing elsewhere."""
        workers: dict[str, Any] = {self._peers.own_id: await self._reload.reload(parameter(r, "plugin") or None)}
        for worker_id, response in (await self._peers.pass_on(r, "Reloaded", RELOAD_TIMEOUT)).items():
            workers[worker_id] = response["workers"].get(worker_id) if response else None
        return json_response({"workers": workers})
