"""Wrappers of handlers that forward a request to the worker that has to carry it out.

    client ─► worker ── is it the target? ── yes ─► handler
                              └ no ─► leader, or owner of the connector or task

The query parameter `forward` limits the hops as in Connect: a client sends none, the first worker forwards with `true`,
the next one with `false`, and a worker that gets `false` answers 409 if it is not the target.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol
from urllib.parse import unquote_plus, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import Conflict, Unavailable
from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import Group
from runtime.kafka.errors import KafkaProblem
from runtime.rest.forwarding.worker_clients import WorkerAnswer, WorkerClients, WorkerRequest
from runtime.rest.http.receiving import unread
from runtime.rest.internal import ALGORITHM_HEADER, SIGNATURE_HEADER
from runtime.rest.resource import Handler, parameter
from runtime.rest.security import callers
from runtime.rest.security.audit import REQUEST_ID, SCOPE_ID
from runtime.rest.security.callers import Caller, SignedCallers

log = logging.getLogger(__name__)

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
WRONG_WORKER = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"

CATCH_UP_TIMEOUT = 5.0
"""Seconds for which a forwarded change waits until this worker has read it, too."""

_PASSED_ON = (
    "Content-Type", "Accept", "Authorization", "Headrace-User", "Headrace-Reason", SIGNATURE_HEADER, ALGORITHM_HEADER,
)  # fmt: skip
"""Headers of requests that are passed on. `Origin` is not: the first worker has checked it."""

_RETURNED = ("content-type", "www-authenticate", "retry-after")


class Stored(Protocol):
    """A storage topic that changes are written to."""

    async def read_to_end(self) -> None:
        """Apply every record that is in the topic now."""


class SharedStores:
    """The storage topics that the leader's changes appear in."""

    def __init__(self, *stores: Stored) -> None:
        self._stores = stores

    async def read_to_end(self) -> None:
        await asyncio.gather(*(store.read_to_end() for store in self._stores))


class Forwarding:
    """Forwards requests to other workers of the group. Event loop only."""

    def __init__(self, group: Group, clients: WorkerClients, signed: SignedCallers, stores: SharedStores) -> None:
        self._group, self._clients, self._callers, self._stores = group, clients, signed, stores

    async def at_leader(self, request: Request, handler: Handler) -> Response:
        """The answer of the leader: of this handler if this worker leads."""
        return await (handler(request) if self._group.leads else self._to_leader(request))

    async def at_owner(
        self, request: Request, unit: Unit, exists: Callable[[Unit], object], handler: Handler
    ) -> Response:
        """The answer of the worker that owns a connector or task. Only the leader knows all owners, so the request
        takes the way through the leader, where `exists` raises NotFound for an unknown unit."""
        if self._group.owns(unit.connector, unit.task):
            return await handler(request)
        if not self._group.leads:
            return await self._to_leader(request)
        exists(unit)
        return await self._forward(request, self._group.owner_url(unit.connector, unit.task), "Worker")

    async def _to_leader(self, request: Request) -> Response:
        return await self._forward(request, self._group.leader_url, "The leader, worker")

    async def _forward(self, request: Request, url: str | None, role: str) -> Response:
        hops = parameter(request, "forward")
        if hops and hops.lower() != "true":
            raise Conflict(WRONG_WORKER)
        if url is None or urlsplit(url).netloc == self._group.worker_id:  # the roles are just changing
            raise Conflict(NO_LEADER)
        body = await unread(request)
        answer = await self._clients.send(url, self._copy(request, body, "false" if hops else "true"), role)
        if answer.status < 400:
            await self._catch_up()
        return _returned(request, answer)

    def _copy(self, request: Request, body: bytes, forward: str) -> WorkerRequest:
        """The request as it is sent to another worker, with this value of `forward`."""
        target = _target(request, forward)
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        headers[REQUEST_ID] = request.scope.get(SCOPE_ID, "")
        headers["Accept-Encoding"] = "identity"
        caller = Caller.of(request.scope, self._group.worker_id)
        try:
            headers[callers.HEADER] = self._callers.sign(caller, request.method, target, body)
        except Unavailable:
            if caller.user is not None and "Authorization" not in headers:
                raise  # the other worker would not know the user
        return WorkerRequest(request.method, target, {k: v for k, v in headers.items() if v}, body)

    async def _catch_up(self) -> None:
        """Read what the leader has written, so that the client's next request to this worker sees its change."""
        try:
            async with asyncio.timeout(CATCH_UP_TIMEOUT):
                await self._stores.read_to_end()
        except (KafkaProblem, TimeoutError) as e:
            log.info("A forwarded change is not visible at this worker yet: %s", e)


def _target(request: Request, forward: str) -> str:
    """Path and query as sent, with this value of `forward`."""
    query: str = request.scope["query_string"].decode("ascii", "replace")
    kept = [part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) != "forward"]
    return f"{request.scope['path']}?{'&'.join([*kept, f'forward={forward}'])}"


def _returned(request: Request, answer: WorkerAnswer) -> Response:
    headers = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
    if location := answer.headers.get("location"):
        headers["location"] = _at_same_host(request, location)
    return Response(answer.body, answer.status, headers)


def _at_same_host(request: Request, location: str) -> str:
    """The location with the host that the client used for its request."""
    path = urlsplit(location)._replace(scheme="", netloc="").geturl()
    return f"{request.url.scheme}://{request.url.netloc}{path}"
