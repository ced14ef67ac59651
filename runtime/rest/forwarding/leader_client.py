"""Task configs for the leader, which writes them: the owner of a connector generates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from runtime.herder.errors import Conflict, HerderError
from runtime.herder.group.group import Group
from runtime.herder.group.session_keys import SessionKeys
from runtime.kafka.formats import compact
from runtime.rest.forwarding.forwarding import NO_LEADER
from runtime.rest.forwarding.worker_clients import WorkerAnswer, WorkerClients, WorkerRequest, message_of
from runtime.rest.http.answers import JSON
from runtime.rest.internal import ALGORITHM_HEADER, SIGNATURE_HEADER
from runtime.storage.configs import ConfigStore


class LeaderClient:
    """Passes task configs to the leader, in Connect's own request, so that the leader may be one of Apache's workers.
    Event loop only."""

    def __init__(self, group: Group, clients: WorkerClients, keys: SessionKeys, configs: ConfigStore) -> None:
        self._group, self._clients, self._keys, self._configs = group, clients, keys, configs

    async def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Store a complete set of task configs; returns when this worker has read it. HerderError if the leader refuses
        it or does not answer: the caller tries again."""
        if self._group.leads:
            await self._configs.put_tasks(name, configs)
            return
        url, body = self._group.leader_url, compact([dict(config) for config in configs])
        if url is None:
            raise Conflict(NO_LEADER)
        signature = self._keys.sign(body)
        headers = {
            SIGNATURE_HEADER: signature.text, ALGORITHM_HEADER: signature.algorithm, "Content-Type": JSON,
        }  # fmt: skip
        target = f"/connectors/{quote(name, safe='')}/tasks?forward=false"
        _check(name, await self._clients.send(url, WorkerRequest("POST", target, headers, body), "The leader, worker"))
        await self._configs.read_to_end()


def _check(name: str, answer: WorkerAnswer) -> None:
    if answer.status >= 400:
        raise HerderError(
            f"The leader did not accept the task configs of connector {name}: {message_of(answer)} ({answer.status})"
        )
