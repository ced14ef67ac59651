"""Requests to all other Headrace workers of the group, for answers that no worker has alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote

import orjson
from starlette.requests import Request

from runtime.herder.errors import HerderError
from runtime.herder.group.group import Group, GroupWorkerInfo
from runtime.rest.forwarding.request_copies import RequestCopies
from runtime.rest.forwarding.worker_clients import WorkerClients, WorkerRequest, message_of
from runtime.rest.resource import parameter

log = logging.getLogger(__name__)

COLLECT_TIMEOUT = 2.0
"""Seconds after which an answer is given without that of a worker."""

_MARGIN = 5.0  # seconds that an answer may be later than the time that was given to the other worker


class Peers:
    """Asks the other workers. Event loop only."""

    def __init__(self, group: Group, clients: WorkerClients, copies: RequestCopies) -> None:
        self._group, self._clients, self._copies = group, clients, copies

    @property
    def own_id(self) -> str:
        """The id of this worker."""
        return self._group.worker_id

    async def collect(self, request: Request, only: Collection[str] | None = None) -> Mapping[str, Any]:
        """The answers of the other workers to a client's GET request, by worker id, from JSON; None for a worker that
        has not answered. Empty if the client wants this worker's answer only (`forward=false`). `only` limits the
        workers that are asked."""
        if parameter(request, "forward"):
            return {}
        peers = [peer for peer in self._group.peers() if only is None or peer.worker_id in only]
        if not peers:
            return {}
        copy = self._copies.of(request, b"", "false", COLLECT_TIMEOUT)
        return dict(await asyncio.gather(*(self._answer(peer, copy) for peer in peers)))

    async def ask_all(self, target: Callable[[str], str]) -> Mapping[str, Any]:
        """The answers of the other workers to this worker's own GET requests, as collect(). `target` is called with
        the id of each worker."""
        try:
            requests = [
                (peer, self._copies.own("GET", target(peer.worker_id), COLLECT_TIMEOUT)) for peer in self._group.peers()
            ]
        except HerderError as e:  # there is no session key yet
            log.info("The other workers are not asked: %s", e)
            return {}
        return dict(await asyncio.gather(*(self._answer(peer, request) for peer, request in requests)))

    async def pass_on(self, request: Request, within: float) -> Mapping[str, Any]:
        """The answers of the other workers to a client's request without body that each of them has to carry out
        itself, as collect(). Each has `within` seconds."""
        if parameter(request, "forward"):
            return {}
        copy = self._copies.of(request, b"", "false", within)
        return dict(await asyncio.gather(*(self._answer(peer, copy, within) for peer in self._group.peers())))

    async def settled(self, worker: GroupWorkerInfo, connector: str, within: float) -> bool:
        """Whether a connector has reached its target state on another worker, which waits up to `within` seconds.
        HerderError if the worker cannot be asked."""
        target = f"/connectors/{quote(connector, safe='')}/settled?within={within:.0f}"
        answer = await self._clients.send(worker.url, self._copies.own("POST", target, within + _MARGIN))
        if answer.status == 409:
            return False
        if answer.status >= 400:
            raise HerderError(f"Worker {worker.worker_id} answered {answer.status}: {message_of(answer)}")
        return True

    async def _answer(
        self, peer: GroupWorkerInfo, request: WorkerRequest, within: float = COLLECT_TIMEOUT
    ) -> tuple[str, Any]:
        try:
            async with asyncio.timeout(within):  # httpx limits each read, not the whole answer
                answer = await self._clients.send(peer.url, request)
        except (HerderError, TimeoutError) as e:
            log.debug("Worker %s is left out of the answer: %s", peer.worker_id, e)
            return peer.worker_id, None
        return peer.worker_id, orjson.loads(answer.body) if answer.status == 200 else None
