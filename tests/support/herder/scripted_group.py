"""A Group whose place and members a test determines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import GroupSnapshot, GroupWorkerInfo
from runtime.kafka.group.protocol import CONNECTOR


def info(worker_id: str, *units: tuple[str, int], **fields: object) -> GroupWorkerInfo:
    """A worker of the group with these units."""
    one = GroupWorkerInfo(worker_id, f"http://{worker_id}/", f"member-{worker_id}", frozenset(Unit(*u) for u in units))
    return replace(one, **fields)  # type: ignore[arg-type]  # the tests give fields of GroupWorkerInfo


class ScriptedGroup:
    """The group as `snapshot` describes it, seen by one of its workers. `rejoins` counts requested rebalances."""

    def __init__(self, worker_id: str, snapshot: GroupSnapshot) -> None:
        self.worker_id, self.snapshot = worker_id, snapshot
        self.rejoins = 0
        self.cannot_lead = ""
        self.last_leader_url: str | None = None

    @property
    def leads(self) -> bool:
        return self.snapshot.leader == self.worker_id

    @property
    def leader_url(self) -> str | None:
        return next((w.url for w in self.snapshot.workers if w.worker_id == self.snapshot.leader), None)

    @property
    def generation(self) -> int:
        return self.snapshot.generation

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return any(w.worker_id == self.worker_id and Unit(connector, task) in w.units for w in self.snapshot.workers)

    def owns_any(self, connector: str) -> bool:
        own = (w for w in self.snapshot.workers if w.worker_id == self.worker_id)
        return any(unit.connector == connector for w in own for unit in w.units)

    def owner_url(self, connector: str, task: int = CONNECTOR) -> str | None:
        return next((w.url for w in self.snapshot.workers if Unit(connector, task) in w.units), None)

    def peers(self) -> Sequence[GroupWorkerInfo]:
        return [w for w in self.snapshot.workers if w.worker_id != self.worker_id and w.implementation == "headrace"]

    def rejoin(self) -> None:
        self.rejoins += 1

    def stopped(self, connector: str, tasks: Collection[int]) -> None:
        return
