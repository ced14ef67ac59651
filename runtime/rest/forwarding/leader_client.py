"""Requests to the leader of the group: it stores the task configs that a connector's owner generates, and fences the
earlier tasks of exactly-once sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from runtime.herder.errors import BadRequest, Conflict, HerderError, Unavailable
from runtime.herder.fencing.zombie_fencing import ZombieFencing
from runtime.herder.group.group import Group
from runtime.herder.group.session_keys import SessionKeys
from runtime.kafka.errors import RecordTooLarge
from runtime.kafka.formats import compact
from runtime.rest.forwarding.forwarding import NO_LEADER
from runtime.rest.forwarding.request_copies import RequestCopies
from runtime.rest.forwarding.worker_clients import PeerResponse, WorkerClients, message_of
from runtime.rest.http.responses import JSON
from runtime.rest.internal import ALGORITHM_HEADER, SIGNATURE_HEADER
from runtime.storage.configs import ConfigStore, StoredConnector


class LeaderClient:
    """Sends Connect's own requests, so that the leader may be one of Apache's workers. Event loop only."""

    def __init__(
        self, group: Group, clients: WorkerClients, copies: RequestCopies, keys: SessionKeys, configs: ConfigStore
    ) -> None:
        self._group, self._clients, self._copies, self._keys, self._configs = group, clients, copies, keys, configs
        self._fencing: ZombieFencing

    def use(self, fencing: ZombieFencing) -> None:
        """Fence with this while this worker leads. Its parts need this client, so it cannot be a constructor
        argument."""
        self._fencing = fencing

    async def put_tasks(self, stored: StoredConnector, configs: Sequence[Mapping[str, str]]) -> None:
        """Store a complete set of task configs that were generated from this configuration; returns when this worker
        has read it. RecordTooLarge if a config does not fit into a record. HerderError if the leader refuses the set,
        as it does if it has another configuration, or does not answer: the caller tries again."""
        name = stored.name
        if self._group.leads:
            await self._configs.put_tasks(name, configs)
            return
        body = compact([dict(config) for config in configs])
        response = await self._send("POST", name, "tasks", body, f"&revision={stored.revision}")
        if response.status == 413:
            raise RecordTooLarge(message_of(response))
        if response.status >= 400:
            raise HerderError(
                f"The leader did not accept the task configs of connector {name}: {message_of(response)} "
                f"({response.status})"
            )
        await self._configs.read_to_end()

    async def fence(self, name: str) -> None:
        """Fence the tasks of an exactly-once source that ran with earlier task configs; returns when this worker has
        read the leader's record of that. HerderError or BadRequest if it is refused; the caller tries again after any
        other error."""
        if self._group.leads:
            await self._fencing.fence_earlier(name)
            return
        response = await self._send("PUT", name, "fence", b"")
        if response.status >= 400:
            message = f"{message_of(response)} (the leader's answer, {response.status})"
            raise _REFUSALS.get(response.status, Unavailable)(message)
        await self._configs.read_to_end()

    async def _send(self, method: str, name: str, what: str, body: bytes, query: str = "") -> PeerResponse:
        url = self._group.leader_url
        if url is None:
            raise Conflict(NO_LEADER)
        signature = self._keys.sign(body)
        headers = {SIGNATURE_HEADER: signature.text, ALGORITHM_HEADER: signature.algorithm, "Content-Type": JSON}
        target = f"/connectors/{quote(name, safe='')}/{what}?forward=false{query}"
        request = self._copies.own(method, target, url, body=body, headers=headers)
        return await self._clients.send(url, request, "The leader, worker")


_REFUSALS = {400: BadRequest, 500: HerderError}
