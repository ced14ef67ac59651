"""The rights that exactly-once sources need (Connect's documentation, "Exactly-once support"), with a worker on a
broker with ACLs, and the clusters and credentials with which the offsets of sinks are read and changed.

Each right is missing once; the task is FAILED with an error that names the right. Two properties of brokers limit
this: WRITE and READ include DESCRIBE, and since Kafka 2.8 IDEMPOTENT_WRITE on the cluster is not needed, so that
nothing here grants it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka.secured_broker import CONNECTOR, SecuredBroker
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

KINDS = ("admin", "consumer", "producer")


@dataclass
class Cluster:
    """A worker with the principal User:connect, whose connectors have the principal User:connector."""

    broker: SecuredBroker
    connect: Connect
    refusals: list[str] = field(default_factory=list)
    """What the worker reported while a right was missing at its start."""

    @property
    def group(self) -> str:
        return self.connect.worker.properties["group.id"]

    @property
    def offsets_topic(self) -> str:
        return self.connect.worker.properties["offset.storage.topic"]

    def reported(self, right: str) -> str:
        """Waits until the worker's log names a right."""
        wait_until(lambda: right in self.connect.worker.log.read_text(), 60, right)
        return right

    def source(self, name: str, **more: str) -> str:
        """Creates a source with the rights to write its records; returns its topic."""
        topic = self.broker.create_topic(f"{name}-records")
        self.broker.grant([("TOPIC", topic, "WRITE")], CONNECTOR)
        overrides = {f"{kind}.override.{k}": v for kind in KINDS for k, v in self.broker.client(CONNECTOR).items()}
        del overrides["producer.override.bootstrap.servers"]
        config = {
            "connector.class": "FileStreamSource",
            "file": __file__,
            "topic": topic,
            **STRINGS,
            **overrides,
            **more,
        }
        self.connect.create(name, config)
        return topic

    def grant(self, name: str, kind: str, resource: str, operation: str) -> None:
        """Grants a right to connectors, and restarts the task."""
        self.broker.grant([(kind, resource, operation)], CONNECTOR)
        self.connect.ask("POST", f"/connectors/{name}/tasks/0/restart")

    def runs(self, name: str) -> None:
        """Waits until a source has committed its offsets; stops it, and alters and resets them."""
        self.connect.wait(name, "RUNNING", ["RUNNING"], 60)
        wait_until(lambda: self.connect.offsets(name), 60)
        self.connect.stop(name)
        partition = {"filename": __file__}
        self.connect.alter(name, (partition, {"position": 3}))
        assert self.connect.offsets(name) == [{"partition": partition, "offset": {"position": 3}}]
        self.connect.ask("DELETE", f"/connectors/{name}/offsets")
        assert self.connect.offsets(name) == []


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    broker = SecuredBroker(tmp_path_factory.mktemp("secured"))
    prefixes = "", *(f"{kind}." for kind in KINDS)
    properties = {f"{prefix}{k}": v for prefix in prefixes for k, v in broker.client_lines().items()}
    properties["exactly.once.source.support"] = "enabled"
    worker = our_worker(tmp_path_factory.mktemp("worker"), broker.secured, properties)
    found = Cluster(broker, Connect(worker))
    try:
        broker.start()
        operations = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
        broker.grant([("GROUP", found.group, "READ"), *(("TOPIC", found.group, operation) for operation in operations)])
        worker.start(wait=False)
        leader = f"connect-cluster-{found.group}"
        for operation in ("DESCRIBE", "WRITE"):
            right = f"User:connect is not authorized to {operation} transactional id {leader}"
            found.refusals.append(found.reported(right))
            broker.grant([("TRANSACTIONAL_ID", leader, operation)])
        worker.wait_healthy()
        yield found
    finally:
        worker.stop()
        broker.stop()


def test_the_worker_needs_the_transactional_id_of_the_leader(cluster: Cluster) -> None:
    assert len(cluster.refusals) == 2
    name = unique("c")
    cluster.connect.create(name, {"connector.class": "FileStreamSource", "topic": name}, initial_state="STOPPED")
    assert name in cluster.connect.ask("GET", "/connectors")


def test_a_source_needs_its_transactional_ids_and_the_offset_topic_of_the_worker(cluster: Cluster) -> None:
    """READ, DESCRIBE and CREATE on this topic are needed by the worker's principal only, which reads it."""
    name = unique("c")
    task = f"{cluster.group}-{name}-0"
    cluster.source(name)
    for operation in ("DESCRIBE", "WRITE"):
        cluster.connect.wait_failed(name, f"User:connector is not authorized to {operation} transactional id {task}")
        cluster.grant(name, "TRANSACTIONAL_ID", task, operation)
    cluster.connect.wait_failed(name, f"WRITE on topic {cluster.offsets_topic} is not granted to User:connector")
    cluster.grant(name, "TOPIC", cluster.offsets_topic, "WRITE")
    cluster.runs(name)


def test_a_source_needs_its_own_offset_topic(cluster: Cluster) -> None:
    name = unique("c")
    own = f"{name}-offsets"
    cluster.broker.grant(
        [("TRANSACTIONAL_ID", f"{cluster.group}-{name}", operation) for operation in ("DESCRIBE", "WRITE")], CONNECTOR
    )
    cluster.source(name, **{"offsets.storage.topic": own})
    for operation in ("CREATE", "DESCRIBE", "READ"):
        cluster.connect.wait_failed(name, f"User:connector is not authorized to {operation} topic {own}")
        cluster.grant(name, "TOPIC", own, operation)
    cluster.connect.wait_failed(name, f"WRITE on topic {own} is not granted to User:connector")
    cluster.grant(name, "TOPIC", own, "WRITE")
    cluster.runs(name)


@pytest.mark.parametrize("kinds", [("consumer",), ("consumer", "admin")], ids=["consumer", "consumer and admin"])
def test_offsets_of_a_sink_are_in_the_cluster_of_its_consumer(
    cluster: Cluster, broker: KafkaBroker, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    """The sink reads from a second cluster, without the security of the worker's cluster."""
    name, topic, connect = unique("snk"), broker.create_topic(), cluster.connect
    broker.produce(topic, b"a", b"b", b"c")
    reached = {"bootstrap.servers": broker.bootstrap, "security.protocol": "PLAINTEXT"}
    overrides = {f"{kind}.override.{key}": value for kind in kinds for key, value in reached.items()}
    connect.sink(name, str(tmp_path / "out"), topic, **overrides)
    at = {"kafka_partition": 0, "kafka_topic": topic}
    wait_until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text() == "a\nb\nc\n", 60)
    connect.stop(name)
    assert connect.offsets(name) == [{"partition": at, "offset": {"kafka_offset": 3}}]
    connect.alter(name, (at, {"kafka_offset": 1}))
    (entry,) = connect.ask("GET", f"/connectors/{name}/offsets?detail=true")["offsets"]
    assert (entry["end"], entry["lag"]["records"]) == (3, 2)
    resolved = connect.ask("POST", f"/connectors/{name}/offsets/resolve", {"to": "latest"})
    assert (resolved["skipped"], resolved["offsets"]) == (2, [{"partition": at, "offset": {"kafka_offset": 3}}])
    connect.ask("DELETE", f"/connectors/{name}/offsets")
    assert connect.offsets(name) == []
    connect.ask("DELETE", f"/connectors/{name}")


def test_offsets_of_a_sink_are_asked_for_with_the_credentials_of_its_admin_client(cluster: Cluster) -> None:
    name, connect = unique("snk"), cluster.connect
    topic = cluster.broker.create_topic(f"{name}-records")
    overrides = {f"admin.override.{k}": v for k, v in cluster.broker.client(CONNECTOR).items()}
    config = {"connector.class": "FileStreamSink", "topics": topic, "consumer.override.group.id": name, **overrides}
    connect.create(name, config, initial_state="STOPPED")
    path = f"/connectors/{name}/offsets"
    assert connect.request("GET", path)[1]["message"].startswith(
        f"User:{CONNECTOR} is not authorized to DESCRIBE group {name}"
    )
    cluster.broker.grant([("GROUP", name, "DESCRIBE")], CONNECTOR)
    assert connect.ask("GET", path) == {"offsets": []}
