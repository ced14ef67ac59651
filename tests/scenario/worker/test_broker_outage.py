"""One of three brokers dies under two workers: records flow again soon after the election, none is lost or doubled, and
the workers' clients do not take the processor while the broker is away."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.soak.feeder import Feeder
from tests.support.broker import EmbeddedBroker, unique
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.connect import SINK, SOURCE, STRINGS
from tests.support.kafka.broker_cluster import BrokerCluster
from tests.support.process_usage import usage
from tests.support.waiting import allowed, wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

FLOWING = 10.0  # seconds from the election of the new leaders to the next committed records
SETTLED, WATCHED = 5.0, 20.0  # seconds of an outage before the processor time is measured, and of the measurement
MOST_CPU = 5.0  # % of a core for each worker with its processes, beyond what it takes with all brokers
LINES = 40  # a second
SOURCES = 4


class Reader:
    """Reads the committed records of topics with one partition, in a thread."""

    def __init__(self, bootstrap: str, topics: list[str]) -> None:
        self.values: dict[str, list[bytes]] = {topic: [] for topic in topics}
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": unique("reader"), "enable.auto.commit": False,
            "isolation.level": "read_committed", "auto.offset.reset": "error", "log_level": 0,
        })  # fmt: skip
        self._consumer.assign([TopicPartition(topic, 0, 0) for topic in topics])
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="reader")
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()
        self._consumer.close()

    def await_flow(self) -> None:
        """Wait until each topic has grown."""
        before = {topic: len(values) for topic, values in self.values.items()}
        wait_until(lambda: all(len(self.values[topic]) > then for topic, then in before.items()), 120, "records")

    def _run(self) -> None:
        while not self._end.is_set():
            for message in self._consumer.consume(1000, 0.1):
                if message.error() is None:
                    self.values[str(message.topic())].append(bytes(message.value() or b"")[:9])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[BrokerCluster]:
    found = BrokerCluster(tmp_path / "brokers")
    try:
        found.start()
        yield found
    finally:
        found.stop()


def test_one_of_three_brokers_dies(cluster: BrokerCluster, tmp_path: Path) -> None:
    factors = {f"{kind}.storage.replication.factor": "3" for kind in ("config", "offset", "status")}
    overrides = {**factors, "exactly.once.source.support": "enabled"}
    with worker_group(tmp_path / "workers", cluster, overrides) as group:
        group.start(group.ours(), group.ours())
        topics = [cluster.create_topic() for _ in range(SOURCES)]
        files = [tmp_path / f"{number}.in" for number in range(SOURCES)]
        out = tmp_path / "lines.out"
        names = _create(group, topics, files, out)
        group.wait_running(names, 120)
        cluster.wait_in_sync()
        feeder, reader = Feeder(files, LINES * SOURCES), Reader(cluster.bootstrap, topics)
        feeder.start()
        try:
            reader.await_flow()
            before = _cpu(group, WATCHED)
            for broker in cluster.brokers:
                flowing, cpu = _outage(cluster, group, broker, reader)
                print(f"flowing {flowing:.1f} s after the election; % of a core: {before} before, {cpu} during it")
                assert flowing < allowed(FLOWING)
                assert all(now < then + MOST_CPU for now, then in zip(cpu, before, strict=True)), (before, cpu)
            feeder.stop()
            _check(reader, out, feeder.written)
        finally:
            feeder.stop()
            reader.stop()


def _create(group: WorkerGroup, topics: list[str], files: list[Path], out: Path) -> list[str]:
    names = [unique("source") for _ in topics]
    for name, topic, file in zip(names, topics, files, strict=True):
        file.touch()
        own = {"file": str(file), "topic": topic, "exactly.once.support": "required"}
        group.connect.create(name, {"connector.class": SOURCE, "tasks.max": "1", **STRINGS, **own})
    sink = {"connector.class": SINK, "tasks.max": "1", "file": str(out), "topics": ",".join(topics), **STRINGS}
    group.connect.create(unique("sink"), {**sink, "consumer.override.isolation.level": "read_committed"})
    return names


def _outage(
    cluster: BrokerCluster, group: WorkerGroup, broker: EmbeddedBroker, reader: Reader
) -> tuple[float, list[float]]:
    """Kill the broker and start it again. Seconds from the election until all topics have grown, and % of a core."""
    number = cluster.brokers.index(broker) + 1
    broker.kill()
    wait_until(lambda: _has_no_partition(cluster, number), 60, "the election of new leaders", every=0.05)
    elected = time.monotonic()
    reader.await_flow()
    flowing = time.monotonic() - elected
    time.sleep(SETTLED)
    cpu = _cpu(group, WATCHED)
    broker.start()
    cluster.wait_in_sync(120)
    return flowing, cpu


def _has_no_partition(cluster: BrokerCluster, broker: int) -> bool:
    """Whether the broker leads nothing, as another one says."""
    try:
        topics = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0}).list_topics(timeout=5).topics
    except KafkaException:
        return False
    return all(at.leader not in (-1, broker) for topic in topics.values() for at in topic.partitions.values())


def _cpu(group: WorkerGroup, seconds: float) -> list[float]:
    """% of a core of each worker with its processes."""
    before = [usage(worker.pid).cpu for worker in group.workers]
    time.sleep(seconds)
    after = [usage(worker.pid).cpu for worker in group.workers]
    return [round((now - then) / seconds * 100, 1) for now, then in zip(after, before, strict=True)]


def _check(reader: Reader, out: Path, lines: int) -> None:
    """Each line is once in its topic, and at least once in the sink's file for each topic."""
    wanted = [b"%09d" % number for number in range(lines)]
    wait_until(lambda: all(len(values) >= lines for values in reader.values.values()), 120, "all lines")
    assert all(values == wanted for values in reader.values.values())
    counts = Counter(dict.fromkeys(wanted, len(reader.values)))
    wait_until(lambda: Counter(line[:9] for line in out.read_bytes().splitlines()) >= counts, 120, "the sink's lines")
