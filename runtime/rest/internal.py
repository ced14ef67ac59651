"""Internal requests between workers, verified by their signature (KIP-507)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import BadRequest
from runtime.herder.group.session_keys import SessionKeys
from runtime.herder.internal_requests import InternalRequests
from runtime.rest.http import bodies
from runtime.rest.http.parameters import parameter, path_name, whole_number
from runtime.rest.http.receiving import parsed, read
from runtime.rest.http.responses import empty
from runtime.rest.resource import Handler
from runtime.rest.security.callers import check_from_worker

SIGNATURE_HEADER, ALGORITHM_HEADER = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm"


class InternalHandlers:
    """Handlers of the endpoints that only workers call."""

    def __init__(self, requests: InternalRequests, keys: SessionKeys, mixed: bool = False) -> None:
        """`mixed`: the group may have workers of Apache (`headrace.mixed.group`)."""
        self._requests, self._keys, self._mixed = requests, keys, mixed

    async def task_configs(self, request: Request) -> Response:
        """POST /connectors/{name}/tasks: a worker passes new task configs to the leader; one of Headrace also names the
        revision of the configuration that they were generated from."""
        configs = await parsed(request, _task_configs)
        revision = None if parameter(request, "revision") is None else whole_number(request, "revision")
        await self._requests.put_tasks(path_name(request), [_without_nulls(config) for config in configs], revision)
        return empty(204)

    async def fence(self, request: Request) -> Response:
        """PUT /connectors/{name}/fence: a worker asks the leader to fence older tasks."""
        await self._requests.fence(path_name(request))
        return empty(204)

    def signed(self, handler: Handler) -> Handler:
        """The handler of one of Connect's own requests, called only if the request is signed.

        Connect's signature covers the body only: who has seen one request can send its body again, for any connector.
        So Headrace's workers also sign the request itself, and nothing else is accepted in a group without Apache's
        workers. That signature is verified before the body is read."""

        async def guarded(request: Request) -> Response:
            given = request.headers.get(SIGNATURE_HEADER), request.headers.get(ALGORITHM_HEADER)
            self._keys.check_given(*given)
            if not self._mixed:
                check_from_worker(request.scope)
            await self._keys.verify(await read(request), *given)
            return await handler(request)

        return guarded

    async def settled(self, request: Request) -> Response:
        """POST /connectors/{name}/settled: another Headrace worker waits for a connector's tasks here."""
        check_from_worker(request.scope)
        await self._requests.check_settled(path_name(request), whole_number(request, "within"))
        return empty(204)


def _task_configs(body: bytes) -> list[dict[str, str | None]]:
    configs = bodies.parse(body, exact_numbers=True)
    if not isinstance(configs, list):
        raise BadRequest("The request body must be an array of task configurations")
    return [bodies.config_map(config, f"[{i}]") for i, config in enumerate(configs)]


def _without_nulls(config: dict[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in config.items() if value is not None}
