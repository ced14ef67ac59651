"""Workers of one group that serve real HTTP, with a scripted group and the session key of their shared config topic."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.routing import Route

from runtime.config.listeners import Listener, https_settings
from runtime.config.session_keys import SessionKeySettings
from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import GroupSnapshot, GroupWorkerInfo
from runtime.herder.group.session_keys import SessionKeys
from runtime.herder.internal_requests import InternalRequests
from runtime.rest.app import application
from runtime.rest.forwarding.forwarding import Forwarding, SharedStores
from runtime.rest.forwarding.peers import Peers
from runtime.rest.forwarding.request_copies import RequestCopies
from runtime.rest.forwarding.worker_clients import WorkerClients
from runtime.rest.http.server import RestServer
from runtime.rest.internal import InternalHandlers
from runtime.rest.resource import Resource
from runtime.rest.security.callers import SignedCallers
from runtime.rest.security.security import protection, tls
from runtime.rest.security.tls import client_context
from runtime.storage.configs import ConfigStore
from tests.support.herder.herder_rig import HerderRig
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.herder.scripted_group import ScriptedGroup


@dataclass
class ServingWorker:
    """A worker that serves its routes. `reads` counts how often it has read the storage topics to their ends."""

    url: str
    configs: ConfigStore
    keys: SessionKeys
    group: ScriptedGroup
    callers: SignedCallers
    copies: RequestCopies
    clients: WorkerClients
    forwarding: Forwarding
    peers: Peers
    client: httpx.AsyncClient
    server: RestServer
    props: Mapping[str, str]
    reads: int = 0
    seen: list[Any] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.url.partition("://")[2].rstrip("/")

    async def serve(self, routes: Sequence[Route]) -> None:
        await self.server.start(protection(self.props).wrap(application(routes), False, self.callers))

    async def read_to_end(self) -> None:
        self.reads += 1


async def new_worker(
    props: Mapping[str, str], trust: str | None = None, rebalance_time: float = 0.0, mixed: bool = False
) -> ServingWorker:
    """A worker that does not serve yet, alone in its group. `trust`: https, and a file with trusted certificates;
    `rebalance_time`: seconds for which requests wait for a rebalance."""
    scheme = "https" if trust else "http"
    listeners = [Listener(scheme, "127.0.0.1", 0)]
    server = RestServer("listeners", listeners, tls(props, listeners, "listeners.https."))
    url = f"{scheme}://127.0.0.1:{server.bound[0][1]}/"
    configs = ConfigStore(TestLogs(), topic("c"))
    keys = SessionKeys(configs, SessionKeySettings())
    group = ScriptedGroup(url.partition("://")[2].rstrip("/"), GroupSnapshot())
    callers = SignedCallers(keys, group.worker_id)
    clients = WorkerClients(lambda: client_context(https_settings(props)))
    verify: ssl.SSLContext | bool = ssl.create_default_context(cafile=trust) if trust else False
    client = httpx.AsyncClient(base_url=url, verify=verify, timeout=30)
    copies = RequestCopies(group, callers, mixed)
    worker = ServingWorker(
        url, configs, keys, group, callers, copies, clients, Forwarding(group, clients, copies, SharedStores()),
        Peers(group, clients, copies), client, server, props,
    )  # fmt: skip
    worker.forwarding = Forwarding(group, clients, copies, SharedStores(worker), rebalance_time)
    return worker


@asynccontextmanager
async def worker_group(
    count: int,
    props: Mapping[str, str] | None = None,
    trust: str | None = None,
    key: bool = True,
    rebalance_time: float = 0.0,
    mixed: bool = False,
) -> AsyncIterator[list[ServingWorker]]:
    """Workers that do not serve yet; the first one leads, the last one owns connector `a` and its tasks 0 and 1."""
    workers = [await new_worker(props or {}, trust, rebalance_time, mixed) for _ in range(count)]
    if key:
        await workers[0].keys.rotate()
        for other in workers[1:]:
            await share_key(workers[0], other)

    units = frozenset(Unit("a", task) for task in (-1, 0, 1))
    infos = [GroupWorkerInfo(w.id, w.url, w.id, units if w is workers[-1] else frozenset()) for w in workers]
    for worker in workers:
        worker.group.snapshot = GroupSnapshot("g", 1, workers[0].id, infos)
    try:
        yield workers
    finally:
        for worker in workers:
            await worker.client.aclose()
            await worker.clients.close()
            await worker.server.close()


async def serve_internal(leader: ServingWorker, rig: HerderRig) -> None:
    """The leader serves Connect's internal requests with this herder."""
    handlers = InternalHandlers(InternalRequests(rig.herder, rig.configs, rig.connectors, rig.fencing), leader.keys)
    await leader.serve([
        Route("/connectors/{name}/tasks", Resource(post=handlers.signed(handlers.task_configs))),
        Route("/connectors/{name}/fence", Resource(put=handlers.signed(handlers.fence))),
    ])  # fmt: skip


async def share_key(source: ServingWorker, target: ServingWorker) -> None:
    """The target reads the session key that the source has written."""
    assert source.configs.session_key is not None
    await target.configs.put_session_key(source.configs.session_key)
