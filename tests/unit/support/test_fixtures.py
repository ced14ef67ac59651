"""The fixtures: a real broker and a real Java worker."""

from __future__ import annotations

from tests.support.broker import KafkaBroker
from tests.support.workers import WorkerProcess


def test_the_broker_creates_topics(broker: KafkaBroker) -> None:
    from confluent_kafka.admin import AdminClient

    topic = broker.create_topic(partitions=3, cleanup_policy="compact")
    metadata = AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(topic, timeout=10)
    assert len(metadata.topics[topic].partitions) == 3
    broker.delete_topics(topic)


def test_java_connect_answers_requests(java_connect: WorkerProcess) -> None:
    status, body = java_connect.request("GET", "/")
    assert (status, body["version"]) == (200, "4.3.0")
    _, plugins = java_connect.request("GET", "/connector-plugins")
    assert "org.apache.kafka.connect.file.FileStreamSourceConnector" in [plugin["class"] for plugin in plugins]
