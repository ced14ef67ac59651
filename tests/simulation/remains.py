"""What must not remain of a deleted connector: statuses in the topic, entries in a worker's view, and an entry that a
follower of a worker's events still shows."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.kafka import Fate, Kafka
from tests.simulation.worker import SimWorker


def remains(name: str, kafka: Kafka, workers: Sequence[SimWorker]) -> str | None:
    """What remains of a connector that is not stored; None if nothing does."""
    if keys := _keys(name, kafka):
        return f"{name} is deleted, but the status topic has {', '.join(keys)}"
    for worker in workers:
        if worker.parts is None:
            continue
        statuses = worker.parts.herder._statuses
        if name in statuses.connectors():
            left = statuses.connector_status(name), statuses.task_statuses(name)
            return f"{name} is deleted, but {worker.name} shows {left}"
        shown = [e.kind for e in worker.parts.events._events if e.data.get("name") == name]
        if shown and shown[-1] != "removed":
            return f"{name} is deleted, but followers of {worker.name}'s events received no `removed`"
    return None


def _keys(name: str, kafka: Kafka) -> list[str]:
    """The keys of the connector's records in the status topic that are not removed."""
    last = {(r.key or b"").decode(): r.value for r in kafka.topic("statuses").records if r.fate is Fate.COMMITTED}
    return [key for key, value in last.items() if value is not None and _is_of(name, key)]


def _is_of(name: str, key: str) -> bool:
    connector, task, topic = f"status-connector-{name}", f"status-task-{name}-", f":connector-{name}"
    return key == connector or key.startswith(task) or key.endswith(topic)
