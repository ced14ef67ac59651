"""A group of two workers with exactly-once sources and a sink, of whose three brokers one dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.soak.feeder import Feeder
from tests.support.broker import EmbeddedBroker, unique
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.connect import SINK, SOURCE, STRINGS
from tests.support.kafka.broker_cluster import BrokerCluster
from tests.support.process_usage import usage
from tests.support.waiting import wait_until

SETTLED = 5.0  # seconds of an outage before the processor time is measured
LINES = 40  # a second of each source
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


@dataclass
class Pipeline:
    """Lines of files go to topics, and from there to the file `out`."""

    cluster: BrokerCluster
    group: WorkerGroup
    feeder: Feeder
    reader: Reader
    out: Path

    def cpu(self, seconds: float) -> list[float]:
        """% of a core of each worker with its processes."""
        before = [usage(worker.pid).cpu for worker in self.group.workers]
        time.sleep(seconds)
        after = [usage(worker.pid).cpu for worker in self.group.workers]
        return [round((now - then) / seconds * 100, 1) for now, then in zip(after, before, strict=True)]

    def outage(self, broker: EmbeddedBroker, seconds: float) -> tuple[float, list[float]]:
        """Kill the broker and start it again. Seconds from the election until all topics have grown, and cpu() for so
        many seconds while the broker is away."""
        number = self.cluster.brokers.index(broker) + 1
        broker.kill()
        wait_until(lambda: self._leads_nothing(number), 60, "the election of new leaders", every=0.05)
        elected = time.monotonic()
        self.reader.await_flow()
        flowing = time.monotonic() - elected
        time.sleep(SETTLED)
        cpu = self.cpu(seconds)
        broker.start()
        self.cluster.wait_in_sync(120)
        return flowing, cpu

    def _leads_nothing(self, broker: int) -> bool:
        """Whether the broker leads no partition, as another one says."""
        try:
            topics = AdminClient({"bootstrap.servers": self.cluster.bootstrap, "log_level": 0}).list_topics(timeout=5)
        except KafkaException:
            return False
        return all(at.leader not in (-1, broker) for t in topics.topics.values() for at in t.partitions.values())


@contextmanager
def pipeline(folder: Path, cluster: BrokerCluster, *, java: bool = False, lines: int = LINES) -> Iterator[Pipeline]:
    """It flows. `java`: on Apache's workers. `lines`: a second of each source."""
    factors = {f"{kind}.storage.replication.factor": "3" for kind in ("config", "offset", "status")}
    with worker_group(folder / "workers", cluster, {**factors, "exactly.once.source.support": "enabled"}) as group:
        make = group.java if java else group.ours
        group.start(make(), make())
        topics = [cluster.create_topic() for _ in range(SOURCES)]
        files = [folder / f"{number}.in" for number in range(SOURCES)]
        out = folder / "lines.out"
        names = _create(group, topics, files, out)
        group.wait_running(names, 120)
        cluster.wait_in_sync()
        feeder, reader = Feeder(files, lines * SOURCES), Reader(cluster.bootstrap, topics)
        feeder.start()
        try:
            reader.await_flow()
            yield Pipeline(cluster, group, feeder, reader, out)
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
