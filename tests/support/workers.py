"""Connect workers as processes: ours, and Apache's on Java."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from runtime.embedded.broker import broker
from runtime.embedded.broker.broker import ClassArchive
from runtime.embedded.processes import ports
from runtime.embedded.processes.process import spawn
from runtime.embedded.processes.service import last_error
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.broker import unique
from tests.support.clusters import rest
from tests.support.free_ports import free_port
from tests.support.java.connect_jars import connect_jars
from tests.support.waiting import wait_until

JVM_TERMINATED = 128 + signal.SIGTERM
"""The exit code of a JVM that SIGTERM ended."""


class WorkerProcess:
    """A Connect worker that a test started. `archive`: its JVM may write this archive when it ends."""

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        log: Path,
        properties: Mapping[str, str],
        archive: ClassArchive | None = None,
    ) -> None:
        """`command`: its last word is the file of `properties`, unless the worker is standalone."""
        self.url = f"http://{ports.HOST}:{port}"
        self.log = log
        self.properties = dict(properties)
        self.command = list(command)
        self._archive = archive
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def properties_file(self) -> Path:
        return Path(self.command[-1])

    def start(self, timeout: float = 60.0, *, wait: bool = True) -> None:
        """Starts the worker, and waits until GET /health answers 200."""
        java_options = [] if self._archive is None else self._archive.use_or_record()
        self._process = spawn([self.command[0], *java_options, *self.command[1:]], self.log)
        if wait:
            self.wait_healthy(timeout)

    @contextmanager
    def started(self, timeout: float = 60.0) -> Iterator[Self]:
        """The worker, which runs until the block ends."""
        self.start(timeout)
        try:
            yield self
        finally:
            if self.running():
                self.stop()

    def wait_healthy(self, timeout: float = 60.0) -> None:
        def healthy() -> bool:
            assert self._process is not None
            code = self._process.poll()
            assert code is None, f"the worker ended with code {code}: {last_error(self.log)}"
            return rest.answers(f"{self.url}/health")

        wait_until(healthy, timeout, f"{self.url}/health")

    def kill(self) -> None:
        """Sends SIGKILL to this process only: its children have to notice."""
        assert self._process is not None
        self._process.kill()
        self.wait(None)

    def stop(self, timeout: float = 30.0) -> int:
        """Sends SIGTERM; returns the exit code, negative if the worker had to be killed."""
        self.terminate()
        try:
            return self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def terminate(self) -> None:
        """Sends SIGTERM."""
        assert self._process is not None
        self._process.terminate()

    def wait(self, timeout: float | None) -> int:
        """Waits for the end; returns the exit code, negative after a signal."""
        assert self._process is not None
        code = self._process.wait(timeout)
        if self._archive is not None:
            self._archive.ended(well=code == JVM_TERMINATED)
        return code

    def restart(self, timeout: float = 60.0) -> None:
        self.stop()
        self.start(timeout)

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and decoded body of a request to its REST API."""
        return rest.request(self.url + path, method, body)


StartWorker = Callable[..., WorkerProcess]
"""Starts our worker: `start()`, `start({"key": "value"})`, `start(start=False)`, `start(bootstrap=…)`."""


@contextmanager
def started_workers(folder: Path, default: str) -> Iterator[StartWorker]:
    """A function that starts workers, which run until the block ends. `default`: their bootstrap servers."""
    started: list[WorkerProcess] = []

    def start(
        properties: Mapping[str, str] | None = None,
        *,
        bootstrap: str | None = None,
        start: bool = True,
        timeout: float = 60.0,
    ) -> WorkerProcess:
        process = our_worker(folder, bootstrap or default, properties or {})
        started.append(process)
        if start:
            process.start(timeout)
        return process

    yield start
    for process in started:
        if process.running():
            process.stop()


def our_worker(folder: Path, bootstrap: str, overrides: Mapping[str, str]) -> WorkerProcess:
    """Our distributed worker, not started yet, with its own group and topics."""
    port = free_port()
    group = unique("workers")
    properties = {**worker_properties(group, port, bootstrap), **overrides}
    file = write_properties(folder / f"{group}.properties", properties)
    command = [sys.executable, "-m", "runtime", "worker", "distributed", str(file)]
    return WorkerProcess(command, port, folder / f"{group}.log", properties)


def java_worker(
    folder: Path, bootstrap: str, overrides: Mapping[str, str], jvm: Sequence[str] | None = None
) -> WorkerProcess:
    """Apache's distributed worker 4.3, not started yet, with its file connectors as plugins. `jvm`: its options."""
    java, port, group = java_connect(folder, jvm), free_port(), unique("java-connect")
    properties = {**worker_properties(group, port, bootstrap), **java.worker_properties(overrides)}
    file = write_properties(folder / f"{group}.properties", properties)
    command = [*java.command, "org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
    return WorkerProcess(command, port, folder / f"{group}.log", properties, java.archive)


def worker_properties(group: str, port: int, bootstrap: str) -> dict[str, str]:
    """The properties that all workers have."""
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "listeners": f"http://{ports.HOST}:{port}",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **storage_topics(group),
        "offset.storage.partitions": "5",
        "status.storage.partitions": "2",
        "offset.flush.interval.ms": "500",
    }


@dataclass(frozen=True, slots=True)
class JavaConnect:
    """The start of a command that runs a class of Apache Connect, and worker properties for its file connectors."""

    command: Sequence[str]
    properties: Mapping[str, str]
    archive: ClassArchive | None

    def worker_properties(self, overrides: Mapping[str, str]) -> dict[str, str]:
        """The properties, overridden. Plugins of another `plugin.path` are also found without service files."""
        properties = {**self.properties, **overrides}
        if "plugin.path" in overrides and "plugin.discovery" not in overrides:
            properties.pop("plugin.discovery", None)
        return properties


def java_connect(folder: Path, jvm: Sequence[str] | None = None) -> JavaConnect:
    """Apache Connect with the given JVM options; without any, it starts in a third of the processor time.

    Its classes are then read from an archive, which the first worker that ends normally writes, and its plugins are
    found by their service files alone.
    """
    java = find_java()
    own_jars = connect_jars()
    class_path = sorted(jars.fetch("broker", broker.BROKER, java).glob("*.jar"))
    plugins = folder / "plugins"
    (plugins / "file").mkdir(parents=True, exist_ok=True)
    for jar in sorted(own_jars.glob("*.jar")):
        if jar.name.startswith("connect-file-"):
            shutil.copy(jar, plugins / "file")
        else:
            class_path.append(jar)
    properties, archive = {"plugin.path": str(plugins)}, None
    if jvm is None:
        archive = ClassArchive(java, own_jars)
        jvm = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        properties["plugin.discovery"] = "service_load"
    command = [str(java.program), *jvm, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return JavaConnect([*command, "-cp", os.pathsep.join(map(str, class_path))], properties, archive)


def storage_topics(group: str) -> dict[str, str]:
    """The properties of the three storage topics, named after the group."""
    topics = {f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")}
    replication = {f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")}
    return {**topics, **replication}


def write_properties(file: Path, properties: Mapping[str, str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return file
