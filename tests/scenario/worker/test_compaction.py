"""A connector with the name of a deleted one, after the broker has compacted the deletion away (KAFKA-16838)."""

from __future__ import annotations

import pytest

from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka import topics
from tests.support.plugins import PLUGINS
from tests.support.waiting import allowed, wait_until
from tests.support.workers import StartWorker


class CompactedTopic:
    """A topic with one partition that the broker compacts within seconds, tombstones included. The broker belongs to
    the test, since its cleaner runs without pauses from now on."""

    def __init__(self, broker: KafkaBroker, name: str) -> None:
        self.name, self._bootstrap = name, broker.bootstrap
        _clean_at_once(broker.bootstrap)
        broker.create_topic(
            name, cleanup_policy="compact", min_cleanable_dirty_ratio="0.001", delete_retention_ms="1", segment_ms="10"
        )

    def keys(self) -> set[bytes | None]:
        """The keys of all records, tombstones included."""
        return {key for key, _ in topics.pairs(self._bootstrap, self.name)}

    def write(self, *records: tuple[bytes, bytes | None]) -> None:
        """Writes records as another worker would."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self._bootstrap, "log_level": 0})
        for key, value in records:
            producer.produce(self.name, value, key)
        assert producer.flush(60) == 0

    def wait_without(self, *gone: bytes) -> None:
        """Waits until the cleaner has removed all records with these keys, with their tombstones."""

        def removed() -> bool:
            self.write((b"logger-cluster-test.compaction", b'{"level":"INFO"}'))  # only closed segments are compacted
            return not self.keys() & set(gone)

        wait_until(removed, 60, f"{self.name} without {gone}", every=0.2)


def _clean_at_once(bootstrap: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

    entry = ConfigEntry("log.cleaner.backoff.ms", "50", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
    client = AdminClient({"bootstrap.servers": bootstrap})
    for future in client.incremental_alter_configs([resource]).values():
        future.result(allowed(20))


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
