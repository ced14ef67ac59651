"""Connectors and their tasks: lists, configurations, states, topics, restarts."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import NotFound
from runtime.herder.group.assignor import Unit
from runtime.herder.herder import Herder
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.responses import InfoResponse
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import TargetState
from runtime.rest.guards import Guards
from runtime.rest.http import bodies
from runtime.rest.http.parameters import flag, path_name, task_number
from runtime.rest.http.receiving import parsed
from runtime.rest.http.responses import empty, json_response
from runtime.rest.offsets import origin
from runtime.rest.security.masking import Masks

_IN_PATH = "!$&'()*+,=:@/"  # the slash as in Connect, although such a name is reached with %2F
"""Characters that stay unescaped in a path segment (RFC 3986), except the semicolon, which starts a parameter."""


class ConnectorHandlers:
    """Handlers below /connectors."""

    def __init__(self, herder: Herder, offsets: OffsetRequests, masks: Masks) -> None:
        self._herder, self._offsets, self._masks = herder, offsets, masks

    async def list(self, r: Request) -> Response:
        expansions = r.query_params.getlist("expand")
        if not expansions:
            return json_response(self._herder.connectors())
        return json_response(await self._masks.expanded(r.scope, await self._herder.expanded(set(expansions))))

    async def create(self, r: Request) -> Response:
        q = await parsed(r, bodies.create_request)
        if q.initial_offsets is not None:
            return json_response(
                await self._offsets.create(q.name, q.config, q.initial_state, q.initial_offsets, origin(r))
            )
        return _created(r, q.name, await self._herder.create(q.name, q.config, q.initial_state))

    async def info(self, r: Request) -> Response:
        return json_response(await self._masks.info(r.scope, await self._herder.info(path_name(r))))

    async def delete(self, r: Request) -> Response:
        if flag(r, "offsets", False):
            return json_response(await self._offsets.delete(path_name(r), origin(r)))
        await self._herder.delete(path_name(r))
        return empty(204)

    async def config(self, r: Request) -> Response:
        return json_response(await self._masks.config(r.scope, self._herder.config(path_name(r))))

    async def put_config(self, r: Request) -> Response:
        name = path_name(r)
        new, info = await self._herder.put_config(name, await parsed(r, bodies.config))
        return _created(r, name, info) if new else json_response(info)

    async def patch_config(self, r: Request) -> Response:
        self._herder.stored(path_name(r))  # so that 404 precedes any error in the body
        return json_response(await self._herder.patch_config(path_name(r), await parsed(r, bodies.config)))

    async def status(self, r: Request) -> Response:
        return json_response(await self._herder.status(path_name(r)))

    async def tasks(self, r: Request) -> Response:
        name = path_name(r)
        return json_response(await self._masks.tasks(r.scope, self._herder.config(name), self._herder.tasks(name)))

    async def task_status(self, r: Request) -> Response:
        return json_response(await self._herder.task_status(path_name(r), task_number(r)))

    async def topics(self, r: Request) -> Response:
        return json_response(await self._herder.topics(path_name(r)))

    async def reset_topics(self, r: Request) -> Response:
        await self._herder.reset_topics(path_name(r))
        return empty(202)


def _created(request: Request, name: str, info: InfoResponse) -> Response:
    location = f"{request.url.scheme}://{request.url.netloc}/connectors/{quote(name, safe=_IN_PATH)}"
    return json_response(info, 201, {"Location": location})


class StateHandlers:
    """Handlers that pause, resume, stop and restart."""

    def __init__(self, herder: Herder, guards: Guards) -> None:
        self._herder, self._guards = herder, guards

    async def pause(self, r: Request) -> Response:
        await self._herder.set_target(path_name(r), TargetState.PAUSED)
        return empty(202)

    async def resume(self, r: Request) -> Response:
        await self._herder.set_target(path_name(r), TargetState.STARTED)
        return empty(202)

    async def stop(self, r: Request) -> Response:
        await self._herder.stop(path_name(r))
        return empty(204)

    async def restart(self, r: Request) -> Response:
        """Without parameters the owner restarts the instance; otherwise the leader writes a request for all owners."""
        plain = not flag(r, "includeTasks", False) and not flag(r, "onlyFailed", False)
        return await (self._guards.owner if plain else self._guards.leader)(self._restart)(r)

    async def _restart(self, r: Request) -> Response:
        status = await self._herder.restart(path_name(r), flag(r, "includeTasks", False), flag(r, "onlyFailed", False))
        return empty(204) if status is None else json_response(status, 202)

    async def restart_task(self, r: Request) -> Response:
        name, task = path_name(r), task_number(r)
        if task < 0:  # such a number stands for the connector itself in a Unit
            self._herder.check_restartable(Unit(name, CONNECTOR))
            raise NotFound(f"Unknown task: {name}-{task}")
        return await self._guards.owner(self._restart_task)(r)

    async def _restart_task(self, r: Request) -> Response:
        await self._herder.restart_task(path_name(r), task_number(r))
        return empty(204)
