"""A connector that is deleted and created again while its task is still stopping: the new task continues from the
offsets of the old task."""

from __future__ import annotations

from pathlib import Path

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka import topics
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker


def test_a_recreated_connector_waits_for_the_tasks_of_the_deleted_one(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    connect = Connect(worker({"plugin.path": PLUGINS, "task.shutdown.graceful.timeout.ms": "30000"}))
    name, topic, gate = unique("again"), broker.create_topic(), tmp_path / "gate"
    config = {"connector.class": "headrace_test_plugins.BlockingConnector", "gate": str(gate), "topic": topic}
    gate.touch()
    connect.create(name, {**config, **STRINGS})
    wait_until(lambda: topics.count(broker.bootstrap, topic) > 50)
    gate.unlink()
    connect.request("DELETE", f"/connectors/{name}")
    connect.create(name, {**config, **STRINGS})
    made = topics.count(broker.bootstrap, topic)
    gate.touch()
    connect.wait(name, "RUNNING", ["RUNNING"])
    wait_until(lambda: topics.count(broker.bootstrap, topic) > made + 50)
    connect.ask("PUT", f"/connectors/{name}/stop", None)
    connect.wait(name, "STOPPED", [])
    found = topics.values(broker.bootstrap, topic, topics.count(broker.bootstrap, topic))
    assert found == [str(n).encode() for n in range(len(found))]
    connect.ask("DELETE", f"/connectors/{name}", None)
    wait_until(lambda: connect.request("GET", f"/connectors/{name}/status")[0] == 404)
