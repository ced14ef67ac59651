"""The interface between the herder and the group of workers: what this worker runs, who leads, and who the others are.

A distributed worker's group is `worker_group.WorkerGroup`; a standalone worker is alone (`SoleWorker`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from runtime.herder.group.assignor import Unit
from runtime.kafka.group.protocol import CONNECTOR


class WorkerState(StrEnum):
    """What the group gives to a worker."""

    ACTIVE = "ACTIVE"
    CORDONED = "CORDONED"
    """Receives no further connectors and tasks, keeps those it has."""
    DRAINING = "DRAINING"
    """As CORDONED; its connectors and tasks are moved to other workers."""
    FOREIGN = "FOREIGN"
    """Another implementation of Connect in a group that is not meant to be mixed: receives nothing."""


@dataclass(frozen=True, slots=True)
class GroupWorkerInfo:
    """A worker in the group, with the connectors and tasks that the last assignment left it with."""

    worker_id: str
    """host:port of its REST API, as in statuses."""
    url: str
    """Its REST API, as it joined with (`http://host:port/`)."""
    member_id: str
    units: frozenset[Unit] = frozenset()
    implementation: str = "headrace"
    """`headrace`, or `connect` for Apache's."""
    version: str = ""
    slots: int = 0
    load: float = 0.0
    """Processor cores in use at `load_at` (time.time()), which is when the worker last joined."""
    load_at: float = 0.0
    state: WorkerState = WorkerState.ACTIVE
    process: Mapping[str, Any] = field(default_factory=dict)
    """The identity of its process on its machine (system.process_identity); empty if unknown."""
    elsewhere: bool = False
    """Its slots run on a cluster, and may outlive its process by their leases."""
    stopping: frozenset[Unit] = frozenset()
    """What the last assignment has taken away: it ends there before the next rebalance."""


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """The group since its last rebalance, as this worker knows it. `leader` is a worker id; empty while unknown.

    `waiting` are units reserved until a time (time.time()) for a worker that may return; no worker accepts
    `unassignable` units."""

    group_id: str = ""
    generation: int = 0
    leader: str = ""
    workers: Sequence[GroupWorkerInfo] = ()
    waiting: Mapping[Unit, float] = field(default_factory=dict)
    unassignable: frozenset[Unit] = frozenset()
    rebalancing: bool = False


class Group(Protocol):
    """Event loop only."""

    @property
    def worker_id(self) -> str:
        """host:port of this worker's REST API."""

    @property
    def leads(self) -> bool:
        """Whether this worker is certainly the leader now: changes are carried out here."""

    @property
    def leader_url(self) -> str | None:
        """The REST URL of the leader (`http://host:port/`); None while it is unknown."""

    @property
    def last_leader_url(self) -> str | None:
        """The REST URL of the last known leader, if it was another worker: it may still lead. Requests may be tried
        there, since each worker checks whether it leads."""

    @property
    def cannot_lead(self) -> str:
        """The reason why this worker cannot lead although it has been elected; empty otherwise."""

    @property
    def snapshot(self) -> GroupSnapshot:
        """All workers, with their units. Complete at the leader; elsewhere as of the last rebalance."""

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        """Whether this worker owns a task, or the connector itself: it runs here, and nowhere else."""

    def owner_url(self, connector: str, task: int = CONNECTOR) -> str | None:
        """The REST URL of the worker that owns a unit; None while it has no owner. Known to the leader only."""

    def peers(self) -> Sequence[GroupWorkerInfo]:
        """The other Headrace workers of the group."""

    def rejoin(self) -> None:
        """Request a rebalance, because what the leader decides on has changed."""


class GroupListener(Protocol):
    """Calls on the event loop after a rebalance."""

    def entered(self, generation: int) -> None:
        """The worker is a member in this generation."""

    def ownership_changed(self) -> None:
        """The connectors and tasks that this worker owns have changed."""

    def members_read(self) -> None:
        """The snapshot is that of the last rebalance: until then a worker that does not lead knows an earlier one."""

    def leading(self, leads: bool, unassigned: Collection[Unit]) -> None:
        """The worker is the leader of the new generation, or is not. `unassigned` units wait for workers that may
        return, or no worker accepts them."""

    def refused(self, reason: str) -> None:
        """The worker cannot remain in this group, and must end."""


class SoleWorker:
    """The group of a standalone worker, which runs everything."""

    leads, leader_url = True, None
    last_leader_url = None
    trouble = cannot_lead = ""

    def __init__(self, worker_id: str, connectors: Callable[[], Sequence[str]] = tuple) -> None:
        """`connectors`: the names of all stored connectors."""
        self.worker_id, self.owned = worker_id, connectors

    async def join(self, listener: GroupListener) -> None:
        listener.entered(0)
        listener.leading(True, ())

    async def hand_over(self, within: float) -> None:
        return

    async def leave(self) -> None:
        return

    @property
    def snapshot(self) -> GroupSnapshot:
        return GroupSnapshot(leader=self.worker_id, workers=[GroupWorkerInfo(self.worker_id, "", "")])

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return True

    def owns_any(self, connector: str) -> bool:
        return True

    def units(self, connector: str) -> frozenset[int]:
        return frozenset()

    def runs_elsewhere(self, worker_id: str, connector: str, task: int) -> bool:
        return False

    def is_outside(self, worker_id: str, generation: int) -> bool:
        return worker_id != self.worker_id

    def owned_by_apache(self) -> Sequence[str]:
        return ()

    def configured(self, name: str) -> None:
        return

    def slots_up(self) -> None:
        return

    def owner_url(self, connector: str, task: int = CONNECTOR) -> str | None:
        return None

    def peers(self) -> Sequence[GroupWorkerInfo]:
        return ()

    def rejoin(self) -> None:
        return

    def stopped(self, connector: str, tasks: Collection[int]) -> None:
        return
