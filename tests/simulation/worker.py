"""A simulated worker: the program's own assembly, with everything outside its process simulated."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from runtime.config import worker_config
from runtime.config.exactly_once import leader_transactional_id
from runtime.config.secret_values import Secrets
from runtime.kafka.group.group_member import GroupMember, Times
from runtime.rest.forwarding.leader_client import LeaderClient
from runtime.rest.forwarding.worker_clients import PeerResponse
from runtime.rest.security.security import protection
from runtime.worker.assembly import WorkerParts, assemble
from runtime.worker.outside import Outside
from runtime.worker.worker import Worker, _nothing
from runtime.worker.worker_storage import WorkerStorage
from tests.simulation.checks import Checks
from tests.simulation.choices import Choices
from tests.simulation.coordinator import Coordinator
from tests.simulation.engine import SimEngine
from tests.simulation.groups import ConsumerGroups, SimGroups, SimPositions
from tests.simulation.http import Listener, Transport, Web
from tests.simulation.kafka import Kafka
from tests.simulation.logs import SimLogs, SimWriter, new_writer
from tests.simulation.loop import Process, SimLoop
from tests.simulation.member import SimMember
from tests.simulation.network import Network
from tests.simulation.plugins import SimPluginHost
from tests.simulation.slot import SlotWorld
from tests.simulation.trace import Trace

PORT = 8083

PROPERTIES = {
    "bootstrap.servers": "127.0.0.1:9092", "group.id": "workers",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "config.storage.topic": "configs", "offset.storage.topic": "offsets", "status.storage.topic": "statuses",
    "offset.storage.partitions": "1", "status.storage.partitions": "1", "headrace.slots": "2",
    "session.timeout.ms": "6000", "rebalance.timeout.ms": "12000", "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "3000", "offset.flush.interval.ms": "1000",
}  # fmt: skip


@dataclass
class World:
    """Everything that the workers share."""

    loop: SimLoop
    trace: Trace
    network: Network
    kafka: Kafka
    coordinator: Coordinator
    web: Web
    groups: ConsumerGroups
    slots: SlotWorld
    choices: Choices
    properties: Mapping[str, str]
    exactly_once: bool = True
    mixed: bool = False
    """Some workers are older: see `SimMember` and `_without_revisions()`."""
    pids: set[int] = field(default_factory=set)
    next_pid: int = 100


class SimWorker:
    """A host with a worker, which may be started again after its death."""

    def __init__(self, name: str, world: World) -> None:
        self.name, self._world = name, world
        self.process: Process | None = None
        self.parts: WorkerParts | None = None
        self.engine: SimEngine | None = None
        self.plugins: SimPluginHost | None = None
        self.skew = 0.0
        self.stopping = False

    @property
    def url(self) -> str:
        return f"http://{self.name}:{PORT}"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.alive

    @property
    def frozen(self) -> bool:
        return self.process is not None and self.process.frozen

    def start(self) -> None:
        """Start a new process of the worker."""
        world = self._world
        world.next_pid += 1
        process = self.process = Process(self.name, world.loop)
        process.skew, self.stopping = self.skew, False
        pid = world.next_pid
        world.pids.add(pid)
        process.at_end.append(lambda: world.pids.discard(pid))
        world.trace.add(f"{self.name} starts, process {pid}")
        process.spawn(self._run(process, pid), f"worker {self.name}")

    def kill(self) -> None:
        if self.process is not None and self.process.alive:
            self._world.trace.add(f"{self.name} is killed")
            self._world.web.listeners.pop(f"{self.name}:{PORT}", None)
            self.process.frozen = False
            self.process.kill()

    def terminate(self) -> None:
        """SIGTERM: the worker hands its work over and ends."""
        if self.process is not None and self.process.alive and not self.stopping:
            self.stopping = True
            self._world.trace.add(f"{self.name} is terminated")
            self.process.spawn(self._stop(self.process), "stop")

    async def bounce(self, pause: float) -> None:
        """End in order, and start again after this pause."""
        process = self.process
        self.terminate()
        if process is not None and process.alive:
            ended = asyncio.Event()
            process.at_end.append(ended.set)
            await ended.wait()
        await asyncio.sleep(pause)
        if not self.running:
            self.start()

    def freeze(self, frozen: bool) -> None:
        if self.process is not None and self.process.alive:
            self._world.trace.add(f"{self.name} {'freezes' if frozen else 'continues'}")
            self.process.freeze(frozen)

    async def _run(self, process: Process, pid: int) -> None:
        world = self._world
        support = "enabled" if world.exactly_once else "disabled"
        config = worker_config.distributed({**PROPERTIES, **world.properties, "exactly.once.source.support": support})
        times = Times(config.session_timeout, config.heartbeat, config.rebalance_timeout)
        older = world.mixed and world.choices.random(f"version of {self.name} {pid}").random() < 0.5
        world.trace.counts["worker of an older version"] += older
        member = SimMember(
            world.coordinator, world.network, process, world.loop, times, pid, lambda other: other in world.pids,
            older,
        )  # fmt: skip
        leader = None
        if world.exactly_once:
            leader = SimWriter(world.kafka, world.network, self.name, leader_transactional_id(config.group_id))
        storage = WorkerStorage(SimLogs(world.kafka, world.network, process), cast(GroupMember, member), leader)
        parts = self.parts = assemble(config, self.url, storage, Secrets(), self._outside(process))
        world.slots.checks.configs[self.name] = parts.configs
        if older:
            _without_revisions(parts.between_workers.leader, world.slots.checks)
        guarded = protection(config.originals, [self.name]).wrap(parts.api, False, parts.between_workers.callers)
        world.web.listeners[f"{self.name}:{PORT}"] = Listener(process, guarded)
        self._worker = Worker(config, cast(Any, _Rest(self)), lambda *_: storage, _nothing, Secrets())
        starting = asyncio.create_task(self._worker._start(parts))
        starting.add_done_callback(self._worker._started)
        process.spawn(self._until_failed(process), "failure")

    async def _until_failed(self, process: Process) -> None:
        await self._worker._stop.wait()
        self._world.trace.add(f"{self.name} ends: {self._worker._failure}")
        await self._stop(process)

    async def _stop(self, process: Process) -> None:
        """As Worker.run() after a signal; its supervisor kills it if it does not end."""
        self.stopping = True
        process.call(60.0, self.kill)
        if self.parts is not None:
            await self._worker._close(self.parts)
        self._world.trace.add(f"{self.name} has stopped")
        process.kill()

    def closed(self) -> None:
        self._world.web.listeners.pop(f"{self.name}:{PORT}", None)

    def _outside(self, process: Process) -> Outside:
        world, loop, network = self._world, self._world.loop, self._world.network

        def engine(settings: Any, listener: Any, lease: Any) -> SimEngine:
            self.engine = SimEngine(settings, listener, lease, process, loop, world.slots)
            return self.engine

        def plugin_host(settings: Any, listener: Any, scrub: Any) -> Any:
            self.plugins = SimPluginHost(listener, loop, world.trace, self.name)
            return self.plugins

        async def fence(settings: Any, ids: Any, within: float = 15.0) -> None:
            from tests.simulation.logs import within as limited

            for one in ids:
                await limited(within, network.ask(self.name, lambda: world.kafka.init_producer(one)))  # noqa: B023

        return Outside(
            plugin_host=plugin_host,
            engine=engine,
            groups=lambda settings: cast(Any, SimGroups(world.groups, network, self.name)),
            positions=lambda settings: cast(Any, SimPositions()),
            new_writer=new_writer(world.kafka, network, self.name),
            fence=fence,
            own_logs=lambda clients: SimLogs(world.kafka, network, process),
            await_view=loop.await_result,
            connect=lambda url, on_lost: world.web.connect(self.name, url, on_lost),
            transport=Transport(world.web, self.name),
        )


def _without_revisions(leader: LeaderClient, checks: Checks) -> None:
    """An older worker does not tell the leader from which revision of a configuration it has generated task configs."""
    send = leader._send

    async def send_without(method: str, name: str, what: str, body: bytes, query: str = "") -> PeerResponse:
        checks.unrevised.add(name)
        return await send(method, name, what, body)

    leader._send = send_without  # type: ignore[method-assign]


@dataclass
class _Rest:
    """RestListeners for Worker._close()."""

    worker: SimWorker

    @property
    def url(self) -> str:
        return self.worker.url

    async def close(self) -> None:
        self.worker.closed()
