"""Target states of connectors, and restarts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import NotFound
from runtime.herder.group.assignor import Unit
from runtime.herder.herder import Herder
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import TargetState
from runtime.rest.guards import Guards
from runtime.rest.http.parameters import flag, path_name, task_number
from runtime.rest.http.responses import empty, json_response


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
