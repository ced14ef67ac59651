"""Broker: an Apache Kafka broker, one KRaft node on the loopback interface."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.config.properties import dump
from runtime.embedded.errors import StartError
from runtime.embedded.processes import ports
from runtime.embedded.processes.service import Service
from runtime.java.jvm import jars
from runtime.java.jvm.java import SHARED_PAGES, Java, temporary_folder
from runtime.kafka.clients.open_clients import KeptAdmin
from runtime.system.cache import cache_folder

# Maven coordinates of the jars of Apache Kafka's broker.
#
# The list includes all dependencies with pinned versions, so that nothing is resolved when they are downloaded.
BROKER = (
    "at.yawk.lz4:lz4-java:1.10.2",
    "com.dynatrace.hash4j:hash4j:0.22.0",
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    "com.fasterxml.jackson.core:jackson-core:2.21.2",
    "com.fasterxml.jackson.core:jackson-databind:2.21.2",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-csv:2.21.2",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-yaml:2.21.2",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.21.2",
    "com.github.ben-manes.caffeine:caffeine:3.2.0",
    "com.github.luben:zstd-jni:1.5.6-10",
    "com.google.re2j:re2j:1.8",
    "com.typesafe.scala-logging:scala-logging_2.13:3.9.6",
    "com.yammer.metrics:metrics-core:2.2.0",
    "commons-beanutils:commons-beanutils:1.11.0",
    "commons-collections:commons-collections:3.2.2",
    "commons-digester:commons-digester:2.1",
    "commons-logging:commons-logging:1.3.5",
    "commons-validator:commons-validator:1.10.1",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "net.sourceforge.argparse4j:argparse4j:0.7.0",
    "org.apache.kafka:kafka-clients:4.3.0",
    "org.apache.kafka:kafka-coordinator-common:4.3.0",
    "org.apache.kafka:kafka-group-coordinator-api:4.3.0",
    "org.apache.kafka:kafka-group-coordinator:4.3.0",
    "org.apache.kafka:kafka-metadata:4.3.0",
    "org.apache.kafka:kafka-raft:4.3.0",
    "org.apache.kafka:kafka-server-common:4.3.0",
    "org.apache.kafka:kafka-server:4.3.0",
    "org.apache.kafka:kafka-share-coordinator:4.3.0",
    "org.apache.kafka:kafka-storage-api:4.3.0",
    "org.apache.kafka:kafka-storage:4.3.0",
    "org.apache.kafka:kafka-tools-api:4.3.0",
    "org.apache.kafka:kafka-transaction-coordinator:4.3.0",
    "org.apache.kafka:kafka_2.13:4.3.0",
    "org.apache.logging.log4j:log4j-api:2.25.4",
    "org.apache.logging.log4j:log4j-core:2.25.4",
    "org.bitbucket.b_c:jose4j:0.9.6",
    "org.hdrhistogram:HdrHistogram:2.2.2",
    "org.jspecify:jspecify:1.0.0",
    "org.pcollections:pcollections:4.0.2",
    "org.scala-lang:scala-library:2.13.18",
    "org.scala-lang:scala-reflect:2.13.18",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-simple:1.7.36",
    "org.xerial.snappy:snappy-java:1.1.10.7",
    "org.yaml:snakeyaml:2.5",
)
"""org.apache.kafka:kafka_2.13:4.3.0 and an SLF4J binding, without which the broker logs nothing."""


# ClassArchive: the class-data-sharing archive of the broker's JVM, which saves half of its startup CPU time and 60 MB.
#
# The first broker that ends normally writes the archive, which takes three seconds.
# The JVM ignores an archive that it cannot use; its warning would only confuse.
_QUIET = ("-Xshare:auto", *SHARED_PAGES, "-Xlog:disable", "-Xlog:all=error:stderr")


class ClassArchive:
    """The archive for this Java and these jars, which may not exist yet."""

    def __init__(self, java: Java, jars: Path) -> None:
        stat = java.program.stat()
        key = (str(java.program.resolve()), java.version, stat.st_size, stat.st_mtime_ns, str(jars))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        self._file = cache_folder() / "cds" / f"broker-{digest}.jsa"
        self._fresh: Path | None = None

    def use(self) -> list[str]:
        """JVM options that use the archive if it exists."""
        return [*_QUIET, f"-XX:SharedArchiveFile={self._file}"] if self._file.exists() else []

    def use_or_record(self) -> list[str]:
        """JVM options that use the archive, or write it at the end of the JVM if it does not exist."""
        if self._file.exists():
            return self.use()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._fresh = self._file.with_name(f".{self._file.name}.{os.getpid()}.{id(self)}")
        return [*_QUIET, f"-XX:ArchiveClassesAtExit={self._fresh}"]

    def ended(self, *, well: bool) -> None:
        """Keeps the archive if the JVM ended normally; otherwise the archive is incomplete and is removed."""
        if self._fresh is None:
            return
        if well and self._fresh.exists():
            self._fresh.replace(self._file)
        else:
            self._fresh.unlink(missing_ok=True)
        self._fresh = None


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

    def __init__(self, config: BrokerConfig, java: Java, coordinates: Sequence[str] = BROKER) -> None:
        """`coordinates`: of the jars."""
        super().__init__(config.folder / "broker.log", (config.port, config.controller_port))
        self.config = config
        self._java, self._coordinates = java, coordinates
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

        if not ports.is_open(self.config.port):
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
        if "," in str(self.config.data):
            raise StartError(f"Kafka cannot store its data in {self.config.data}: set XDG_STATE_HOME to a folder whose "
                             "path has no comma")  # fmt: skip
        self.config.properties.write_text(server_properties(self.config))
        folder = jars.fetch("broker", self._coordinates, self._java)
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
        return [str(self._java.program), *_JVM, temporary_folder(), *options, *_LOGGING, "-cp", class_path]

    def _format(self, java: Sequence[str]) -> None:
        cluster_id = self.config.cluster_id or new_cluster_id()
        command = [*java, "kafka.tools.StorageTool", "format"]
        # With =, since an id that starts with a dash would otherwise be read as an option.
        command += [f"--cluster-id={cluster_id}", "--config", str(self.config.properties)]
        response = subprocess.run(command, capture_output=True, text=True, check=False)
        if response.returncode:
            output = (response.stderr or response.stdout or "no output").strip().splitlines()
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
        # Otherwise an idle broker appends to its metadata twice a second, for a third of its processor time. Only
        # metrics of the controller need that.
        "metadata.max.idle.interval.ms": 0,
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
    return dump(settings)
