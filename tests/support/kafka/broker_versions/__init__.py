"""Brokers of other versions of Kafka. `VERSION.txt` lists the jars of a version by coordinates."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from runtime.embedded.processes import ports
from runtime.embedded.processes.process import spawn
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.broker import EmbeddedBroker, KafkaBroker
from tests.support.free_ports import free_port
from tests.support.processes import Startable
from tests.support.waiting import wait_until
from tests.support.workers import write_properties

HERE = Path(__file__).parent
VERSIONS = tuple(sorted(file.stem for file in HERE.glob("*.txt")))
_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


def broker_of(version: str, folder: Path) -> ZooKeeperBroker | EmbeddedBroker:
    """A broker of this version, not started yet."""
    coordinates = (HERE / f"{version}.txt").read_text("utf-8").split()
    if version < "4":
        return ZooKeeperBroker(folder, version, coordinates)
    return EmbeddedBroker(folder, coordinates=coordinates)


class ZooKeeperBroker(Startable, KafkaBroker):
    """A broker and its ZooKeeper, on loopback."""

    def __init__(self, folder: Path, version: str, coordinates: Sequence[str]) -> None:
        super().__init__(f"{ports.HOST}:{free_port()}")
        java = find_java()
        class_path = sorted(jars.fetch(f"broker-{version}", coordinates, java).glob("*.jar"))
        self._java = [str(java.program), *_JVM, "-cp", os.pathsep.join(map(str, class_path))]
        self._folder, self._zookeeper = folder, free_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Starts both, and waits until the broker has registered."""
        keeper = {
            "dataDir": str(self._folder / "zookeeper"), "clientPort": str(self._zookeeper),
            "clientPortAddress": ports.HOST, "admin.enableServer": "false",
        }  # fmt: skip
        self._run("zookeeper", "org.apache.zookeeper.server.quorum.QuorumPeerMain", keeper)
        wait_until(lambda: ports.is_open(self._zookeeper), 60, "ZooKeeper")
        listener = f"PLAINTEXT://{self.bootstrap}"
        broker = {
            "broker.id": "1", "zookeeper.connect": f"{ports.HOST}:{self._zookeeper}", "listeners": listener,
            "advertised.listeners": listener, "log.dirs": str(self._folder / "data"),
            "group.initial.rebalance.delay.ms": "0", "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4", "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1", "transaction.state.log.num.partitions": "4",
            "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        }  # fmt: skip
        self._run("broker", "kafka.Kafka", broker)
        wait_until(self._is_ready, 60, "the broker")

    def stop(self) -> None:
        """Ends the broker, then ZooKeeper."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _run(self, name: str, main: str, properties: dict[str, str]) -> None:
        file = write_properties(self._folder / f"{name}.properties", properties)
        self._processes.append(spawn([*self._java, main, str(file)], self._folder / f"{name}.log"))

    def _is_ready(self) -> bool:
        assert self._processes[-1].poll() is None, (self._folder / "broker.log").read_text()[-2000:]
        try:
            admin = AdminClient({"bootstrap.servers": self.bootstrap, "socket.timeout.ms": 2000, "log_level": 0})
            return bool(admin.list_topics(timeout=1.0).brokers)
        except KafkaException:
            return False
