"""Broker: an Apache Kafka broker, one KRaft node on the loopback interface."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.embedded.broker import coordinates
from runtime.embedded.broker.archive import ClassArchive
from runtime.embedded.errors import StartError
from runtime.embedded.processes import ports
from runtime.embedded.processes.service import Service
from runtime.java.jvm import jars
from runtime.java.jvm.java import Java
from runtime.kafka.clients.open_clients import KeptAdmin

# For a small heap and a quick start: a serial collector and the first compiler tier suffice for one node.
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_TERMINATED = 128 + signal.SIGTERM
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
)


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Folder and ports of the broker, and settings beside those of server_properties(). The data is kept between
    starts; the ports may change."""

    folder: Path
    port: int
    controller_port: int
    settings: Mapping[str, object] = field(default_factory=dict)
    cluster_id: str = ""  # for the first start; random if empty

    @property
    def bootstrap(self) -> str:
        return f"{ports.HOST}:{self.port}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"


class Broker(Service):
    """The broker's process."""

    name = "broker"
    graceful = 15.0

    def __init__(self, config: BrokerConfig, java: Java) -> None:
        super().__init__(config.folder / "broker.log", (config.port, config.controller_port))
        self.config = config
        self._java = java
        self._archive: ClassArchive | None = None
        self._admin = KeptAdmin({"bootstrap.servers": config.bootstrap, "socket.timeout.ms": 2000})

    @property
    def address(self) -> str:
        return self.config.bootstrap

    def cluster_id(self) -> str:
        """The cluster id with which the storage was formatted."""
        lines = (self.config.data / "meta.properties").read_text().splitlines()
        return next((line.partition("=")[2] for line in lines if line.startswith("cluster.id=")), "")

    def ready(self) -> bool:
        """Whether the broker has registered, which its metadata shows; an open port may belong to another broker."""
        from confluent_kafka import KafkaException

        if not ports.answers(self.config.port):
            return False
        try:
            with self._admin.use() as admin:
                metadata = admin.list_topics(timeout=1.0)
        except KafkaException:
            return False
        if not metadata.brokers or metadata.cluster_id != self.cluster_id():
            return False
        self._admin.close()
        return True

    def _prepare(self) -> list[str]:
        self.config.properties.write_text(server_properties(self.config))
        folder = jars.fetch("broker", coordinates.BROKER, self._java)
        self._archive = ClassArchive(self._java, folder)
        if not (self.config.data / "meta.properties").exists():
            self._format(self._command(folder, self._archive.use()))
        return [*self._command(folder, self._archive.use_or_record()), "kafka.Kafka", str(self.config.properties)]

    def _ended(self) -> None:
        if self._archive is not None and self._process is not None:
            # The JVM of a failed broker writes an archive too, without most classes.
            self._archive.ended(well=self._process.returncode == _TERMINATED)

    def _command(self, folder: Path, options: Sequence[str]) -> list[str]:
        # Sorted and without wildcards: a class archive is valid for one class path only.
        class_path = os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))
        return [str(self._java.program), *_JVM, *options, *_LOGGING, "-cp", class_path]

    def _format(self, java: Sequence[str]) -> None:
        cluster_id = self.config.cluster_id or new_cluster_id()
        command = [*java, "kafka.tools.StorageTool", "format"]
        # With =, since an id that starts with a dash would otherwise be read as an option.
        command += [f"--cluster-id={cluster_id}", "--config", str(self.config.properties)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            output = (answer.stderr or answer.stdout or "no output").strip().splitlines()
            raise StartError(f"the broker's storage {self.config.data} could not be formatted: {output[-1]}")


def new_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def server_properties(config: BrokerConfig) -> str:
    """The broker's configuration file."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{ports.HOST}:{config.controller_port}",
        "listeners": f"PLAINTEXT://{config.bootstrap},CONTROLLER://{ports.HOST}:{config.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{config.bootstrap}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": config.data,
        # After kill -9 the next start waits until the session of the killed broker ends.
        "broker.session.timeout.ms": 2000,
        "broker.heartbeat.interval.ms": 500,
        "group.initial.rebalance.delay.ms": 0,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 1,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        **config.settings,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())
