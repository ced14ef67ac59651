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
    raw: Json = None  # the worker's answer

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


def reported(answer: WorkersResponse) -> ClusterWorkers:
    """The workers of an answer to `GET /workers`."""
    workers = [_worker(one) for one in answer["workers"]]
    return ClusterWorkers(
        {one.worker_id: one for one in sorted(workers)},
        reported=True,
        group_id=answer.get("group_id") or "",
        generation=answer.get("generation") or 0,
        leader=answer.get("leader") or "",
        rebalancing=bool(answer.get("rebalancing")),
        waiting={(one["connector"], one["task"]): one["until"] / 1000 for one in answer.get("waiting") or ()},
        raw=answer,
    )


def _worker(one: WorkerResponse) -> ClusterWorker:
    connectors = tuple(one["connectors"])
    tasks = tuple((task["connector"], task["task"]) for task in one["tasks"])
    state = one.get("state") or ""
    return ClusterWorker(
        worker_id=one["worker_id"],
        connectors=connectors,
        tasks=tasks,
        state=DRAINED if state == DRAINING and not connectors and not tasks else state,
        leader=bool(one.get("leader")),
        version=one.get("version") or "",
        implementation=one.get("implementation") or "",
        slots=one.get("slots"),
        load=one.get("load"),
        memory=one.get("memory"),
        url=one.get("url") or "",
        slots_without_core=tuple(one.get("slots_without_core") or ()),
    )


def derived(connectors: Iterable[model.Connector]) -> ClusterWorkers:
    """The workers that the statuses of these connectors name."""
    own: dict[str, list[str]] = {}
    tasks: dict[str, list[tuple[str, int]]] = {}
    for one in sorted(connectors, key=lambda one: one.name):
        if one.worker:
            own.setdefault(one.worker, []).append(one.name)
        for task in one.tasks:
            if task.worker:
                tasks.setdefault(task.worker, []).append((one.name, task.id))
    return ClusterWorkers(
        {
            name: ClusterWorker(name, tuple(own.get(name, ())), tuple(tasks.get(name, ())))
            for name in sorted({*own, *tasks})
        }
    )
