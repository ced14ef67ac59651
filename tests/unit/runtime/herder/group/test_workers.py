"""Cordoned and draining workers are stored in the journal, where every worker reads them."""

from __future__ import annotations

from runtime.herder.group.group import WorkerState
from runtime.herder.group.workers import Cordons
from runtime.storage.documents import Documents
from tests.support.herder.memory_logs import TestLogs, topic


async def test_states_are_read_from_the_journal() -> None:
    documents = Documents(TestLogs(), topic("j"))
    cordons = Cordons(documents, clock=lambda: 1.5)
    await cordons.put("a:8083", WorkerState.CORDONED, "ann")
    await cordons.put("b:8083", WorkerState.DRAINING, "")
    assert documents.get("worker:a:8083") == {"state": "CORDONED", "since": 1500, "who": "ann"}
    assert Cordons(documents).states() == {"a:8083": WorkerState.CORDONED, "b:8083": WorkerState.DRAINING}
    await cordons.put("a:8083", WorkerState.DRAINING, "ann")
    await cordons.remove(["b:8083", "never-cordoned:8083"])
    assert cordons.states() == {"a:8083": WorkerState.DRAINING}


async def test_a_state_of_a_newer_version_is_ignored() -> None:
    documents = Documents(TestLogs(), topic("j"))
    await documents.put("worker:a:8083", {"state": "QUARANTINED"})
    await documents.put("worker:b:8083", {})
    assert Cordons(documents).states() == {}
