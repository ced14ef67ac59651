"""Compaction by the broker's own cleaner, which tests provoke and wait for."""

from __future__ import annotations

from tests.support.broker import KafkaBroker
from tests.support.kafka import topics
from tests.support.waiting import allowed, wait_until


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
