"""The workers of a cluster: as Headrace workers report them, or derived from the statuses of connectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tui import model
from tui.errors import NotFound

if TYPE_CHECKING:
    from tui.client.client import Connect
    from tui.client.responses import WorkerResponse, WorkersResponse

Json = Any
ACTIVE, DRAINING, DRAINED = "ACTIVE", "DRAINING", "DRAINED"
CONNECTOR = -1  # the task number that stands for the connector itself
NO_UNITS: tuple[tuple[str, int], ...] = ()
ONLY_OURS = "only Headrace workers can be listed with their state, cordoned and drained"


class ClusterWorker(NamedTuple):
    """A worker with its connectors and tasks. Everything else is empty if it is derived from statuses."""

    worker_id: str
    connectors: tuple[str, ...] = ()
    tasks: tuple[tuple[str, int], ...] = NO_UNITS
    state: str = ""  # as reported, and DRAINED for a DRAINING worker without connectors and tasks
    leader: bool = False
    version: str = ""
    implementation: str = ""
    slots: int | None = None
    load: float | None = None  # processor cores in use
    memory: int | None = None  # bytes, of the slots with their JVMs
    url: str = ""
    slots_without_core: tuple[int, ...] = ()


class ClusterWorkers(NamedTuple):
    """The workers of a cluster, by worker id. `reported` is False if they are derived from statuses.

    `waiting` has the time (epoch seconds) until which a connector or task is reserved for a worker that has left."""

    workers: Mapping[str, ClusterWorker] = {}
    reported: bool = False
    group_id: str = ""
    generation: int = 0
    leader: str = ""
    rebalancing: bool = False
    waiting: Mapping[tuple[str, int], float] = {}
    raw: Json = None  # the worker's response

    @property
    def is_standalone(self) -> bool:
        """Whether the only worker is not in a group."""
        return self.reported and not self.group_id


async def cluster_workers(connect: Connect) -> ClusterWorkers:
    """The workers as reported, or for other implementations as derived from statuses. Raises HeadraceError."""
    try:
        return reported(await connect.workers())
    except NotFound:
        return derived(model.connectors(await connect.expanded()).values())


def reported(response: WorkersResponse) -> ClusterWorkers:
    """The workers of a response to `GET /workers`."""
    workers = [_worker(worker) for worker in response["workers"]]
    return ClusterWorkers(
        {worker.worker_id: worker for worker in sorted(workers)},
        reported=True,
        group_id=response.get("group_id") or "",
        generation=response.get("generation") or 0,
        leader=response.get("leader") or "",
        rebalancing=bool(response.get("rebalancing")),
        waiting={
            (waiting["connector"], waiting["task"]): waiting["until"] / 1000
            for waiting in response.get("waiting") or ()
        },
        raw=response,
    )


def _worker(worker: WorkerResponse) -> ClusterWorker:
    connectors = tuple(worker["connectors"])
    tasks = tuple((task["connector"], task["task"]) for task in worker["tasks"])
    state = worker.get("state") or ""
    return ClusterWorker(
        worker_id=worker["worker_id"],
        connectors=connectors,
        tasks=tasks,
        state=DRAINED if state == DRAINING and not connectors and not tasks else state,
        leader=bool(worker.get("leader")),
        version=worker.get("version") or "",
        implementation=worker.get("implementation") or "",
        slots=worker.get("slots"),
        load=worker.get("load"),
        memory=worker.get("memory"),
        url=worker.get("url") or "",
        slots_without_core=tuple(worker.get("slots_without_core") or ()),
    )


def derived(connectors: Iterable[model.Connector]) -> ClusterWorkers:
    """The workers that the statuses of these connectors name."""
    own: dict[str, list[str]] = {}
    tasks: dict[str, list[tuple[str, int]]] = {}
    for connector in sorted(connectors, key=lambda each: each.name):
        if connector.worker:
            own.setdefault(connector.worker, []).append(connector.name)
        for task in connector.tasks:
            if task.worker:
                tasks.setdefault(task.worker, []).append((connector.name, task.id))
    return ClusterWorkers(
        {
            name: ClusterWorker(name, tuple(own.get(name, ())), tuple(tasks.get(name, ())))
            for name in sorted({*own, *tasks})
        }
    )
