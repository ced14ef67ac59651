"""Attacks on Kafka by the author of connectors whose tasks have a principal with few rights (`producer.`, `consumer.`
and `admin.` of the worker's properties), on a broker with ACLs. The worker's own principal may read and write the
storage topics; connectors must not reach them through it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.broker import unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka.secured_broker import CONNECT, CONNECTOR, SecuredBroker
from tests.support.kafka.topics import count, messages
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

pytestmark = pytest.mark.soak

KINDS = ("admin", "consumer", "producer")
TOPIC_RIGHTS = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")


@dataclass
class Cluster:
    """A worker with the principal User:connect, whose connectors have the principal User:connector."""

    broker: SecuredBroker
    connect: Connect
    folder: Path

    @property
    def group(self) -> str:
        return self.connect.worker.properties["group.id"]

    @property
    def configs_topic(self) -> str:
        return self.connect.worker.properties["config.storage.topic"]

    def refused(self, kind: str, right: str, **config: str) -> str:
        """Creates a connector, and waits until its task is FAILED for the lack of a right; returns its name."""
        name = unique("tenant")
        self.connect.create(name, {"connector.class": kind, "file": str(self.folder / name), **STRINGS, **config})
        self.connect.wait_failed(name, right)
        return name


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("tenant")
    broker = SecuredBroker(tmp_path_factory.mktemp("secured"))
    properties = {"headrace.slots": "1", "headrace.file.paths": str(folder)}
    for prefix, user in (("", CONNECT), *((f"{kind}.", CONNECTOR) for kind in KINDS)):
        properties |= {f"{prefix}{k}": v for k, v in broker.client_lines(user).items()}
    worker = our_worker(tmp_path_factory.mktemp("worker"), broker.secured, properties)
    found = Cluster(broker, Connect(worker), folder)
    broker.start()
    try:
        broker.grant([("GROUP", found.group, "READ"), *(("TOPIC", found.group, right) for right in TOPIC_RIGHTS)])
        broker.grant([("GROUP", "connect-", right) for right in ("READ", "DESCRIBE", "DELETE")])
        broker.grant([("GROUP", "connect-", "READ")], CONNECTOR)
        broker.grant([("TOPIC", found.configs_topic.removesuffix("configs"), "WRITE")], CONNECT)
        worker.start()
        yield found
    finally:
        worker.stop()
        broker.stop()


def test_a_source_of_a_tenant_cannot_write_into_the_storage_topics(cluster: Cluster) -> None:
    (cluster.folder / "in").write_text('"planted"\n')
    topic = cluster.configs_topic
    source = {"topic": topic, "file": str(cluster.folder / "in")}
    cluster.broker.grant([("TOPIC", "t-", "WRITE")], CONNECTOR)  # without any, a producer gets no id
    cluster.refused("FileStreamSource", f"WRITE on topic {topic}", **source)
    assert b'"planted"' not in [message.value() for message in messages(cluster.broker.bootstrap, topic)]


def test_a_sink_of_a_tenant_cannot_read_the_storage_topics(cluster: Cluster) -> None:
    name = cluster.refused("FileStreamSink", "not authorized", topics=cluster.configs_topic)
    assert not (cluster.folder / name).exists() or (cluster.folder / name).read_text() == ""


def test_a_sink_of_a_tenant_cannot_join_the_group_of_the_workers(cluster: Cluster) -> None:
    config = {"connector.class": "FileStreamSink", "topics": "t", "consumer.override.group.id": cluster.group}
    status, answer = cluster.connect.request("POST", "/connectors", {"name": "joins", "config": config})
    assert (status, "conflicts with Connect worker group" in answer["message"]) == (400, True)


def test_a_tenant_cannot_reset_the_offsets_of_a_foreign_group(cluster: Cluster) -> None:
    """The group is asked for with the admin client of the connector (`admin.` of the worker's properties), whose
    principal may use no other groups than those of sinks (`connect-`)."""
    topic, group = cluster.broker.create_topic(unique("t")), unique("payments")
    cluster.broker.grant([("TOPIC", topic, right) for right in ("READ", "DESCRIBE")], CONNECTOR)
    committed = TopicPartition(topic, 0, 7)
    consumer = Consumer({"bootstrap.servers": cluster.broker.bootstrap, "group.id": group})
    consumer.commit(offsets=[committed], asynchronous=False)
    name = unique("tenant")
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(cluster.folder / name), **STRINGS}
    own = {**config, "consumer.override.group.id": group}
    cluster.connect.create(name, own, initial_state="STOPPED")
    cluster.connect.wait(name, "STOPPED", [])
    change = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 0}}

    def names_the_group(method: str, body: Any = None) -> bool:
        status, answer = cluster.connect.request(method, f"/connectors/{name}/offsets", body)
        assert status >= 400, answer
        return group in answer["message"]  # not until the broker has applied the rights to the topic, which exists

    wait_until(lambda: names_the_group("DELETE"), 30)
    wait_until(lambda: names_the_group("PATCH", {"offsets": [change]}), 30)
    assert consumer.committed([TopicPartition(topic, 0)], 20)[0].offset == 7
    consumer.close()


def test_credentials_that_a_tenant_overrides_are_those_of_the_overridden_principal(cluster: Cluster) -> None:
    """A wrong password ends the task; it never falls back to the worker's principal."""
    topic = cluster.broker.create_topic(unique("t"))
    (cluster.folder / "in").write_text("a\n")
    jaas = cluster.broker.client()["sasl.jaas.config"].replace("connect-secret", "guessed")
    name = unique("tenant")
    cluster.connect.create(name, {
        "connector.class": "FileStreamSource", "file": str(cluster.folder / "in"), "topic": topic, **STRINGS,
        "producer.override.sasl.jaas.config": jaas,
    })  # fmt: skip
    cluster.connect.wait(name, "RUNNING", ["FAILED"], 90)
    assert count(cluster.broker.bootstrap, topic) == 0
