"""Workers with exactly-once support on a real broker: fencing, stored records, and the leader's right to write."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from runtime.config.exactly_once import leader_transactional_id
from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.kafka.topics import pairs
from tests.support.waiting import wait_until

ENABLED = {"exactly.once.source.support": "enabled", "headrace.slots": "1"}
SOON = 45.0
"""Seconds within which everything is done, less than the 60 s after which Kafka aborts a transaction itself."""


@pytest.fixture(scope="module")
def group(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerGroup]:
    with worker_group(tmp_path_factory.mktemp("exactly-once"), broker, ENABLED) as group:
        group.start(group.ours(), group.ours())
        yield group


class Source:
    """A file source, its file and its topic."""

    def __init__(self, group: WorkerGroup, folder: Path) -> None:
        self.group, self.broker = group, group.broker
        self.name, self.file, self.topic = unique("source"), folder / "in.txt", group.broker.create_topic()
        self.written = 0
        self.file.touch()

    def create(self) -> None:
        self.group.connect.source(self.name, str(self.file), self.topic)

    def write(self, count: int) -> None:
        with self.file.open("a") as file:
            file.writelines(f"line {number}\n" for number in range(self.written, self.written + count))
        self.written += count

    def check(self) -> None:
        """The topic has every line once, in order, for readers of committed records."""
        expected = [f"line {number}".encode() for number in range(self.written)]
        wait_until(lambda: len(pairs(self.broker.bootstrap, self.topic)) >= self.written, SOON)
        assert [value for _, value in pairs(self.broker.bootstrap, self.topic)] == expected

    def zombie(self, position: int) -> Producer:
        """A producer with the id of the source's task, whose open transaction has a record and an offset."""
        settings = {"bootstrap.servers": self.broker.bootstrap, "partitioner": "murmur2_random"}
        producer = Producer({**settings, "transactional.id": f"{self.group.group_id}-{self.name}-0"})
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.produce(self.topic, b"of a zombie")
        key = json.dumps([self.name, {"filename": str(self.file)}], separators=(",", ":")).encode()
        producer.produce(self.offsets_topic, json.dumps({"position": position}).encode(), key)
        producer.flush(20)
        return producer

    @property
    def offsets_topic(self) -> str:
        return self.group.properties["offset.storage.topic"]

    def config_records(self, kind: str) -> list[Any]:
        found = pairs(self.broker.bootstrap, self.group.properties["config.storage.topic"])
        return [json.loads(value) for key, value in found if value and key == f"{kind}-{self.name}".encode()]


@pytest.mark.slow
def test_task_counts_are_recorded_as_apache_workers_record_them(group: WorkerGroup, tmp_path: Path) -> None:
    source = Source(group, tmp_path)
    source.create()
    connect = group.connect
    assert source.config_records("tasks-fencing") == [{"task-count": 1}]
    config = connect.ask("GET", f"/connectors/{source.name}/config")
    connect.ask("PUT", f"/connectors/{source.name}/config", config)  # unchanged
    connect.stop(source.name)
    connect.resume(source.name)
    assert source.config_records("tasks-fencing") == [{"task-count": 1}] * 2
    connect.stop(source.name)
    connect.ask("DELETE", f"/connectors/{source.name}/offsets")
    assert source.config_records("tasks-fencing") == [*[{"task-count": 1}] * 2, {"task-count": 0}]
    connect.resume(source.name)
    assert source.config_records("tasks-fencing")[3:] == [{"task-count": 1}]
    source.write(10)
    source.check()


@pytest.mark.slow
def test_transactions_that_killed_tasks_left_open_are_aborted_before_offsets_are_read(
    group: WorkerGroup, tmp_path: Path
) -> None:
    source, other = Source(group, tmp_path), Source(group, tmp_path)
    elsewhere = other.zombie(0)  # an open transaction of another connector in the same offsets topic
    left = source.zombie(1_000_000)
    source.write(10)
    started = time.monotonic()
    source.create()
    source.check()
    with pytest.raises(KafkaException):
        left.commit_transaction(20)
    group.connect.stop(source.name)
    [entry] = group.connect.offsets(source.name)
    entry["offset"]["position"] = 7
    left = source.zombie(1_000_000)
    group.connect.ask("PATCH", f"/connectors/{source.name}/offsets", {"offsets": [entry]})
    with pytest.raises(KafkaException):
        left.commit_transaction(20)
    assert group.connect.offsets(source.name) == [entry]
    assert time.monotonic() - started < SOON
    elsewhere.abort_transaction(20)


@pytest.mark.slow
def test_a_leader_whose_writes_are_fenced_does_not_write_until_it_leads_again(
    group: WorkerGroup, tmp_path: Path
) -> None:
    source = Source(group, tmp_path)
    source.create()
    other = Producer({
        "bootstrap.servers": group.broker.bootstrap, "transactional.id": leader_transactional_id(group.group_id),
    })  # fmt: skip
    other.init_transactions(20)  # as another leader, which is killed before it commits
    other.begin_transaction()
    other.produce(group.properties["config.storage.topic"], b'{"properties":{"name":"ghost"}}', b"connector-ghost")
    other.flush(20)
    started = time.monotonic()
    path = f"/connectors/{source.name}/config"
    status, body = group.workers[0].request("PATCH", path, {"marked": "late"})
    assert (status, "another producer has taken over" in body["message"]) == (503, True)
    group.connect.ask("PATCH", path, {"marked": "again"})  # repeats the request until it is answered
    assert [c["properties"].get("marked") for c in source.config_records("connector")] == [None, "again"]
    assert time.monotonic() - started < SOON
    with pytest.raises(KafkaException):
        other.commit_transaction(20)
    assert "ghost" not in group.connect.ask("GET", "/connectors")
