"""Wrappers of handlers that forward a request to the worker that has to carry it out.

    client ─► worker ── is it the target? ── yes ─► handler
                              └ no ─► leader, or owner of the connector or task

A request that arrives during a rebalance waits until the roles are known again, as in Connect, whose herder carries out
no requests meanwhile.

The query parameter `forward` limits the hops as in Connect: a client sends none, the first worker forwards with `true`,
the next one with `false`, and a worker that gets `false` answers 409 if it is not the target.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Protocol
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import NOT_HERE, Conflict, Unavailable
from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import Group
from runtime.herder.group.leader import worker_id
from runtime.kafka.errors import KafkaProblem
from runtime.rest.forwarding.request_copies import RequestCopies
from runtime.rest.forwarding.worker_clients import PeerResponse, WorkerClients, WorkerUnreachable
from runtime.rest.http.parameters import parameter
from runtime.rest.http.receiving import unread
from runtime.rest.http.responses import JSON
from runtime.rest.resource import Handler

log = logging.getLogger(__name__)

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
CATCH_UP_TIMEOUT = 5.0
"""Seconds for which a forwarded change waits until this worker has read it, too."""

FAILOVER_TIME, FAILOVER_INTERVAL = 5.0, 0.25
"""Seconds for which a request waits for a worker that can be reached, and between two attempts."""

REBALANCE_TIME = 20.0
"""Seconds for which a request waits for the end of a rebalance. Connect's workers wait for 90 s, but many clients only
for 30 s."""

_RETURNED = ("content-type", "www-authenticate", "retry-after")
_IN_LOCATION = "/?&=%:;@!$'()*+,~#"


class _RolesChanged(Conflict):
    """The worker that has to carry out the request may now be this one. Nothing was sent."""


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

    def __init__(
        self,
        group: Group,
        clients: WorkerClients,
        copies: RequestCopies,
        stores: SharedStores,
        rebalance_time: float = REBALANCE_TIME,
    ) -> None:
        self._group, self._clients, self._copies, self._stores = group, clients, copies, stores
        self._rebalance_time = rebalance_time

    async def at_leader(self, request: Request, handler: Handler) -> Response:
        """The response of the leader: of this handler if this worker leads."""
        return await self._settled(lambda end: self._at_leader(request, handler, end))

    async def _at_leader(self, request: Request, handler: Handler, end: float) -> Response:
        await self._until(lambda: self._group.leads or self._leader_url() is not None, end)
        return await (handler(request) if self._group.leads else self._to_leader(request, end))

    async def at_owner(
        self, request: Request, unit: Unit, exists: Callable[[Unit], object], handler: Handler
    ) -> Response:
        """The response of the worker that owns a connector or task. Only the leader knows all owners, so the request
        takes the way through the leader, where `exists` raises NotFound for an unknown unit."""
        return await self._settled(lambda end: self._at_owner(request, unit, exists, handler, end))

    async def _at_owner(
        self, request: Request, unit: Unit, exists: Callable[[Unit], object], handler: Handler, end: float
    ) -> Response:
        group, own = self._group, (unit.connector, unit.task)
        await self._until(lambda: group.owns(*own) or group.leads or self._leader_url() is not None, end)
        if group.leads and not group.owns(*own):
            exists(unit)
            await self._until(lambda: group.owner_url(*own) is not None or not group.snapshot.rebalancing, end)
        if group.owns(*own):
            return await handler(request)
        if not group.leads:
            return await self._to_leader(request, end, onward=True)
        return await self._forward(request, lambda: group.owner_url(*own), "Worker", end)

    async def at_worker(self, request: Request, worker_id: str, handler: Handler) -> Response:
        """The response of the worker with this id, if it is another one and the client allows forwarding."""
        url = next((w.url for w in self._group.peers() if w.worker_id == worker_id), None)
        if url is None or parameter(request, "forward"):
            return await handler(request)
        return _returned(request, url, await self._clients.send(url, self._copies.of(request, b"", "false", url)))

    async def _settled(self, attempt: Callable[[float], Awaitable[Response]]) -> Response:
        """The response of the first attempt during which the roles do not change, within a limited time: a worker may
        become the leader while it tries to reach the former one. All waits of the attempts for roles end at a time of
        the event loop."""
        deadline = time.monotonic() + min(FAILOVER_TIME, self._rebalance_time)
        end = asyncio.get_running_loop().time() + self._rebalance_time
        while True:
            try:
                return await attempt(end)
            except _RolesChanged:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(FAILOVER_INTERVAL)

    async def _until(self, known: Callable[[], bool], end: float) -> None:
        """Wait for a role that a rebalance determines, at most until `end`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                while not known() and not self._group.cannot_lead:  # noqa: ASYNC110 - a lease has no event
                    await asyncio.sleep(FAILOVER_INTERVAL)

    async def _to_leader(self, request: Request, end: float, onward: bool = False) -> Response:
        return await self._forward(request, self._leader_url, "The leader, worker", end, onward)

    def _leader_url(self) -> str | None:
        """Also while this worker is not in the group: to join it may take minutes if another worker is slow to join."""
        return self._group.leader_url or self._group.last_leader_url

    async def _forward(
        self, request: Request, target: Callable[[], str | None], role: str, end: float, onward: bool = False
    ) -> Response:
        """Send the request to the worker at the URL that `target()` returns, which may pass it `onward`. A worker that
        cannot be reached may have just ended: the request waits a short time for the next one."""
        hops = parameter(request, "forward")
        if hops and hops.lower() != "true":
            raise Conflict(NOT_HERE)
        body, deadline = await unread(request), time.monotonic() + FAILOVER_TIME
        while True:
            await self._until(lambda: target() is not None or self._group.leads, end)
            url = target()
            if url is None or worker_id(url) == self._group.worker_id:  # the roles are just changing
                raise Unavailable(self._group.cannot_lead) if self._group.cannot_lead else _RolesChanged(NO_LEADER)
            try:
                copy = self._copies.of(request, body, "false" if hops else "true", url, onward=onward)
                response = await self._clients.send(url, copy, role)
            except WorkerUnreachable:
                if time.monotonic() > deadline:
                    raise
            else:
                if not _unserved(response):
                    break
                if time.monotonic() > deadline:
                    raise Conflict(NO_LEADER)
            await asyncio.sleep(FAILOVER_INTERVAL)
        if response.status < 400:
            await self._catch_up()
        return _returned(request, url, response)

    async def _catch_up(self) -> None:
        """Read what the leader has written, so that the client's next request to this worker sees its change."""
        try:
            async with asyncio.timeout(CATCH_UP_TIMEOUT):
                await self._stores.read_to_end()
        except (KafkaProblem, TimeoutError) as e:
            log.info("A forwarded change is not visible at this worker yet: %s", e)


def _unserved(response: PeerResponse) -> bool:
    """Whether the worker's listener is open but its API is not served, as that of an Apache worker while it starts and
    ends. Errors of the API have a body."""
    return response.status == 404 and not response.body


def _returned(request: Request, url: str, response: PeerResponse) -> Response:
    """The answer for the client. Unavailable if no worker's API answers so: a browser must not show a page that any
    member of the group has sent."""
    if not _is_of_api(response):
        raise Unavailable(
            f"The response of worker {worker_id(url)} ({response.status}) is not one of Connect's API. The worker may "
            "have carried out the request: check before trying again"
        )
    given = {name: response.headers.get(name, "") for name in _RETURNED}
    headers = {name: value for name, value in given.items() if value and value.isascii()}
    if location := response.headers.get("location"):
        headers["location"] = _at_same_host(request, location)
    return Response(response.body, response.status, headers)


def _is_of_api(response: PeerResponse) -> bool:
    """Whether the response is JSON, or has no body. Errors of Connect's router have no Content-Type (FACTS.md, 1)."""
    kind = response.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    is_json = kind == JSON and response.body.lstrip()[:1] in (b"{", b"[")
    return (200 <= response.status < 300 or 400 <= response.status < 600) and (is_json or not response.body)


def _at_same_host(request: Request, location: str) -> str:
    """The location with the host that the client used for its request."""
    try:
        path = quote(urlsplit(location)._replace(scheme="", netloc="").geturl(), safe=_IN_LOCATION)
    except ValueError:
        path = request.url.path
    return f"{request.url.scheme}://{request.url.netloc}{path}"
