"""What this worker owns of each connector, as the control loops see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from runtime.kafka.group.protocol import CONNECTOR


class OwnedUnits(Protocol):
    """Connectors and tasks that the group has assigned to this worker. Event loop only."""

    worker_id: str

    def owned(self) -> Sequence[str]:
        """The connectors of which this worker owns anything, or must stop anything."""

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        """Whether this worker owns a task, or the connector itself."""

    def owns_any(self, connector: str) -> bool:
        """Whether this worker owns the connector or any of its tasks."""

    def units(self, connector: str) -> frozenset[int]:
        """The units that this worker owns, and those that must stop here before another worker may start them."""

    def stopped(self, connector: str, tasks: Collection[int]) -> None:
        """These units do not run here any more."""

    def runs_elsewhere(self, worker_id: str, connector: str, task: int) -> bool:
        """Whether this is another worker in the group that has this task, or must still stop it."""

    def is_outside(self, worker_id: str, generation: int) -> bool:
        """Whether a worker that has reported in this generation is in another group: a worker that has left this one
        reports in an earlier generation. False while the membership is not confirmed: after this worker has been
        frozen, its units may belong to workers that it does not know."""

    def owned_by_apache(self) -> Sequence[str]:
        """The connectors of Apache's workers, which leave it to the leader to remove statuses of tasks."""

    def slots_up(self) -> None:
        """The first slot is up: this worker can run tasks."""
