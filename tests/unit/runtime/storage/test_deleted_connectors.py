"""Stores of workers whose connectors come and go: nothing in memory remains of a deleted connector."""

from __future__ import annotations

import pytest

from runtime.model.states import State, TaskId
from runtime.storage.configs import ConfigStore
from runtime.storage.statuses import StatusRecord, StatusStore
from tests.support.herder.memory_logs import TestLogs, topic


def sizes(store: object) -> dict[str, int]:
    """The number of entries of each collection of a store that is not empty."""
    return {name: len(value) for name, value in vars(store).items() if isinstance(value, dict | set | list) and value}


@pytest.mark.parametrize("mixed", [False, True])
async def test_nothing_of_deleted_connectors_remains_in_the_config_store(mixed: bool) -> None:
    store = ConfigStore(TestLogs(), topic("c"), mixed=mixed)
    for name in ("a", "b"):
        await store.put_connector(name, {"name": name})
        await store.put_tasks(name, [{"n": "0"}, {"n": "1"}])
        await store.remove_connector(name)
    await store.remove_remains()
    assert sizes(store) == {}


async def test_earlier_tasks_of_an_exactly_once_source_are_fenced_also_if_it_was_deleted_meanwhile() -> None:
    store = ConfigStore(TestLogs(), topic("c"))
    await store.put_connector("a", {"name": "a"})
    await store.put_tasks("a", [{"n": "0"}, {"n": "1"}])
    stored = store.connector("a")
    assert stored is not None
    await store.put_fencing_count(stored)
    await store.put_tasks("a", [{"n": "0"}])
    await store.remove_connector("a")
    assert store.pending_fencing("a")


async def test_nothing_of_deleted_connectors_remains_in_the_status_store() -> None:
    store, running = StatusStore(TestLogs(), topic("s")), StatusRecord(State.RUNNING, None, "w:1", 1)
    for name in ("a", "b"):
        task = TaskId(name, 0)
        store.put_connector(name, running)
        store.put_task(task, running)
        store.put_topic(task, "t")
        store.remove_task(task)
        store.remove_topics(name)
        store.remove_connector(name)
        store.put_task(task, running)  # late, from a worker that was frozen
        store.remove_task(task)
    assert sizes(store) == {}
