"""A connector with the name of a deleted one, after the broker has compacted the deletion away (KAFKA-16838)."""

from __future__ import annotations

import pytest

from tests.support.broker import EmbeddedBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka import topics
from tests.support.kafka.compaction import CompactedTopic
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker


@pytest.mark.soak
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_the_next_connector_gets_nothing_of_a_deleted_one(
    own_broker: EmbeddedBroker, worker: StartWorker, exactly_once: str
) -> None:
    """Neither from a deletion by this worker, nor from one by Apache's; the next leader removes the task configs of
    deleted connectors. A connector whose own record is compacted away from before its tasks keeps them."""
    configs, topic = CompactedTopic(own_broker, unique("configs")), own_broker.create_topic()
    properties = {
        "plugin.path": PLUGINS,
        "config.storage.topic": configs.name,
        "exactly.once.source.support": exactly_once,
        "headrace.slots": "1",
    }
    connect = Connect(worker(properties, bootstrap=own_broker.bootstrap))
    counting = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, **STRINGS}
    for name in ("ours", "apaches", "gone", "living"):
        connect.create(name, counting)
        connect.wait(name, "RUNNING", ["RUNNING"])
    connect.ask("PUT", "/connectors/living/pause")
    connect.wait("living", "PAUSED", ["PAUSED"])
    connect.ask("PUT", "/connectors/living/config", {**counting, "headrace.rate.records": "1000"})
    for name in ("ours", "gone"):
        connect.ask("DELETE", f"/connectors/{name}")
    configs.write((b"connector-apaches", None), (b"target-state-apaches", None))
    wait_until(lambda: connect.ask("GET", "/connectors") == ["living"])
    configs.wait_without(b"connector-ours", b"connector-apaches", b"connector-gone")
    assert {b"task-ours-0", b"task-apaches-0", b"task-gone-0"} <= configs.keys()

    broken = {**counting, "connector.class": "headrace_test_plugins.BrokenStartConnector"}
    for name in ("ours", "apaches"):
        connect.create(name, broken)
        connect.wait(name, "FAILED", [])
    written = topics.count(own_broker.bootstrap, topic)
    connect.worker.restart()
    for name in ("ours", "apaches"):
        assert connect.ask("GET", f"/connectors/{name}/tasks") == []
        connect.wait(name, "FAILED", [])
    assert len(connect.ask("GET", "/connectors/living/tasks")) == 1
    connect.wait("living", "PAUSED", ["PAUSED"])
    assert topics.count(own_broker.bootstrap, topic) == written
    configs.wait_without(b"task-gone-0", b"commit-gone")
