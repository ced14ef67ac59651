"""A real Apache Kafka broker: one KRaft node on the loopback interface."""

from __future__ import annotations

import base64
import os
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.embedded import coordinates, jars, ports
from runtime.embedded.archive import ClassArchive
from runtime.embedded.errors import StartError
from runtime.embedded.java import Java
from runtime.embedded.logs import last_words, open_log
from runtime.embedded.process import spawn

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

# Small and quick to start: a serial collector and the first compiler tier are plenty for one node.
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
)


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Where the broker lives. Its data outlives it; the ports may differ from start to start."""

    folder: Path
    port: int
    controller_port: int

    @property
    def bootstrap(self) -> str:
        return f"{ports.HOST}:{self.port}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"


class Broker:
    """The broker's process."""

    name = "broker"

    def __init__(self, config: BrokerConfig, java: Java) -> None:
        self.config = config
        self._java = java
        self._process: subprocess.Popen[bytes] | None = None
        self._archive: ClassArchive | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def address(self) -> str:
        return self.config.bootstrap

    def cluster_id(self) -> str:
        """As its storage was formatted with."""
        lines = (self.config.data / "meta.properties").read_text().splitlines()
        return next((line.partition("=")[2] for line in lines if line.startswith("cluster.id=")), "")

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it, and formats its storage when that is new. Returns before it is ready."""
        self.config.folder.mkdir(parents=True, exist_ok=True)
        self.config.properties.write_text(server_properties(self.config))
        self._log_start = open_log(self.config.log)
        if not (self.config.data / "meta.properties").exists():
            self._format()
        folder = self._jars()
        self._archive = ClassArchive(self._java, folder)
        command = self._command(folder, self._archive.use_or_record())
        self._process = spawn([*command, "kafka.Kafka", str(self.config.properties)], self.config.log)

    def wait_ready(self, timeout: float) -> None:
        """Returns when it answers and takes part in its own cluster. StartError when it ended or time is up."""
        deadline = time.monotonic() + timeout
        while not ports.answers(self.config.port):
            self._check(deadline, timeout)
            time.sleep(0.03)
        # An open port is not enough: metadata names the broker only when the controller has let it in. And it might
        # be the port of somebody else's broker.
        admin = _admin(self.config.bootstrap)
        while not _answers_for(admin, self.cluster_id()):
            self._check(deadline, timeout)
            time.sleep(0.03)

    def stop(self, graceful: float = 15.0) -> None:
        """SIGTERM, then SIGKILL; returns when it is gone."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(graceful)
        except subprocess.TimeoutExpired:
            self.kill()
        else:
            self._archived(well=True)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._archived(well=False)

    def _archived(self, *, well: bool) -> None:
        if self._archive is not None:
            self._archive.ended(well=well)

    def _check(self, deadline: float, timeout: float) -> None:
        if not self.running():
            code = self._process.returncode if self._process else None
            said = last_words(self.config.log, self._log_start)
            raise StartError(f"the broker ended with code {code}: {said} ({self.config.log})")
        if time.monotonic() > deadline:
            raise StartError(f"the broker did not answer within {timeout:.0f} s, see {self.config.log}")

    def _jars(self) -> Path:
        return jars.fetch("broker", coordinates.BROKER, self._java)

    def _command(self, folder: Path, options: Sequence[str]) -> list[str]:
        # In order, and not as a wildcard: a class archive fits one class path only.
        class_path = os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))
        return [str(self._java.program), *_JVM, *options, *_LOGGING, "-cp", class_path]

    def _format(self) -> None:
        folder = self._jars()
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        command = [*self._command(folder, ClassArchive(self._java, folder).use()), "kafka.tools.StorageTool", "format"]
        command += ["--cluster-id", cluster_id, "--config", str(self.config.properties)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            said = (answer.stderr or answer.stdout or "it said nothing").strip().splitlines()
            raise StartError(f"the broker's storage {self.config.data} could not be formatted: {said[-1]}")


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
        # After kill -9 the next start has to wait until the dead one's session is over.
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
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _admin(bootstrap: str) -> AdminClient:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "socket.timeout.ms": 2000})


def _answers_for(admin: AdminClient, cluster_id: str) -> bool:
    from confluent_kafka import KafkaException

    try:
        metadata = admin.list_topics(timeout=1.0)
    except KafkaException:
        return False
    return bool(metadata.brokers) and metadata.cluster_id == cluster_id
