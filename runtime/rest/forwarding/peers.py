"""Requests to all other Headrace workers of the group, for answers that no worker has alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from runtime.herder.errors import HerderError
from runtime.herder.group.group import Group, GroupWorkerInfo
from runtime.rest.forwarding.request_copies import RequestCopies
from runtime.rest.forwarding.response_shapes import UnusableResponse, parsed
from runtime.rest.forwarding.worker_clients import WorkerClients, WorkerRequest, message_of
from runtime.rest.http.parameters import parameter

log = logging.getLogger(__name__)

COLLECT_TIMEOUT = 2.0
"""Seconds after which a response is given without that of a worker."""

_MARGIN = 5.0  # seconds that a response may be later than the time that was given to the other worker


class Peers:
    """Asks the other workers. Event loop only."""

    def __init__(self, group: Group, clients: WorkerClients, copies: RequestCopies) -> None:
        self._group, self._clients, self._copies = group, clients, copies

    @property
    def own_id(self) -> str:
        """The id of this worker."""
        return self._group.worker_id

    async def collect(self, request: Request, shape: str, only: Collection[str] | None = None) -> Mapping[str, Any]:
        """The responses of the other workers to a client's GET request, by worker id, from JSON; None for a worker
        without a response of this shape (a name of SCHEMAS) in time. Empty if the client wants this worker's
        response only (`forward=false`). `only` limits the workers that are asked."""
        if parameter(request, "forward"):
            return {}
        peers = [peer for peer in self._group.peers() if only is None or peer.worker_id in only]
        return await self._ask(peers, self._copy(request, COLLECT_TIMEOUT), shape)

    async def ask_all(self, target: Callable[[str], str], shape: str) -> Mapping[str, Any]:
        """The responses of the other workers to this worker's own GET requests, as collect(). `target` is called with
        the id of each worker."""

        def own(peer: GroupWorkerInfo) -> WorkerRequest:
            return self._copies.own("GET", target(peer.worker_id), peer.url, COLLECT_TIMEOUT)

        return await self._ask(self._group.peers(), own, shape)

    async def pass_on(self, request: Request, shape: str, within: float) -> Mapping[str, Any]:
        """The responses of the other workers to a client's request without body that each of them has to carry out
        itself, as collect(). Each has `within` seconds."""
        if parameter(request, "forward"):
            return {}
        return await self._ask(self._group.peers(), self._copy(request, within), shape)

    async def settled(self, worker: GroupWorkerInfo, connector: str, within: float) -> bool:
        """Whether a connector has reached its target state on another worker, which waits up to `within` seconds.
        HerderError if the worker cannot be asked."""
        target = f"/connectors/{quote(connector, safe='')}/settled?within={within:.0f}"
        request = self._copies.own("POST", target, worker.url, within + _MARGIN)
        response = await self._clients.send(worker.url, request)
        if response.status == 409:
            return False
        if response.status >= 400:
            raise HerderError(f"Worker {worker.worker_id} answered {response.status}: {message_of(response)}")
        return True

    def _copy(self, request: Request, within: float) -> Callable[[GroupWorkerInfo], WorkerRequest]:
        return lambda peer: self._copies.of(request, b"", "false", peer.url, within)

    async def _ask(
        self, peers: Collection[GroupWorkerInfo], request: Callable[[GroupWorkerInfo], WorkerRequest], shape: str
    ) -> Mapping[str, Any]:
        responses = await asyncio.gather(*(self._response(peer, request, shape) for peer in peers))
        return {peer.worker_id: response for peer, response in zip(peers, responses, strict=True)}

    async def _response(
        self, peer: GroupWorkerInfo, request: Callable[[GroupWorkerInfo], WorkerRequest], shape: str
    ) -> Any:
        try:
            response = await self._clients.send(peer.url, request(peer))
            return parsed(response.body, shape) if response.status == 200 else None
        except (HerderError, UnusableResponse) as e:
            log.debug("Worker %s is left out of the answer: %s", peer.worker_id, e)
            return None
