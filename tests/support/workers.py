"""Connect workers as processes: ours, and Apache's on Java."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.embedded.broker import coordinates
from runtime.embedded.processes import ports
from runtime.embedded.processes.logs import last_error
from runtime.embedded.processes.process import ProcessRef, spawn
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support import rest
from tests.support.broker import unique
from tests.support.waiting import wait_until


class WorkerProcess:
    """A Connect worker that a test started."""

    def __init__(self, command: Sequence[str], port: int, log: Path, properties: Mapping[str, str]) -> None:
        self.url = f"http://{ports.HOST}:{port}"
        self.log = log
        self.properties = dict(properties)
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, timeout: float = 60.0, *, wait: bool = True) -> None:
        """Starts the worker, and waits until GET /health answers 200."""
        self._process = spawn(self._command, self.log)
        if wait:
            self.wait_healthy(timeout)

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
        self._process.wait()

    def stop(self, timeout: float = 30.0) -> int:
        """Sends SIGTERM; returns the exit code, negative if the worker had to be killed."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def restart(self, timeout: float = 60.0) -> None:
        self.stop()
        self.start(timeout)

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and decoded body of a request to its REST API."""
        return rest.request(self.url + path, method, body)


def our_worker(folder: Path, bootstrap: str, overrides: Mapping[str, str]) -> WorkerProcess:
    """Our distributed worker, not started yet, with its own group and topics."""
    port = ports.choose()
    group = unique("workers")
    properties = {
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
        **overrides,
    }
    file = write_properties(folder / f"{group}.properties", properties)
    command = [sys.executable, "-m", "runtime", "worker", "distributed", str(file)]
    return WorkerProcess(command, port, folder / f"{group}.log", properties)


_QUICK_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def java_worker(
    folder: Path, bootstrap: str, overrides: Mapping[str, str], jvm: Sequence[str] = _QUICK_JVM
) -> WorkerProcess:
    """Apache's distributed worker 4.3, not started yet, with its file connectors as plugins."""
    command, plugins = java_connect(folder, jvm)
    port = ports.choose()
    group = unique("java-connect")
    properties = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "listeners": f"http://{ports.HOST}:{port}",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **storage_topics(group),
        "offset.flush.interval.ms": "2000",
        "plugin.path": str(plugins),
        **overrides,
    }
    file = write_properties(folder / f"{group}.properties", properties)
    command += ["org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
    return WorkerProcess(command, port, folder / f"{group}.log", properties)


def java_connect(folder: Path, jvm: Sequence[str] = _QUICK_JVM) -> tuple[list[str], Path]:
    """The start of a command that runs a class of Apache Connect, and the `plugin.path` for its file connectors."""
    java = find_java()
    broker_jars = jars.fetch("broker", coordinates.BROKER, java)
    connect_jars = jars.fetch("java-connect", coordinates.JAVA_CONNECT, java)
    plugins = folder / "plugins"
    (plugins / "file").mkdir(parents=True, exist_ok=True)
    class_path = [f"{broker_jars}/*"]
    for jar in sorted(connect_jars.glob("*.jar")):
        if jar.name.startswith("connect-file-"):
            shutil.copy(jar, plugins / "file")
        else:
            class_path.append(str(jar))
    command = [str(java.program), *jvm]
    command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", os.pathsep.join(class_path)]
    return command, plugins


def children(pid: int) -> list[ProcessRef]:
    """All processes below this one, deepest last."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    by_parent: dict[int, list[int]] = {}
    for line in listing.splitlines():
        child, parent = map(int, line.split())
        by_parent.setdefault(parent, []).append(child)
    found: list[int] = []
    todo = [pid]
    while todo:
        below = by_parent.get(todo.pop(0), [])
        found += below
        todo += below
    refs = []
    for child in found:
        try:
            refs.append(ProcessRef.of(child))
        except ProcessLookupError:
            continue
    return refs


def storage_topics(group: str) -> dict[str, str]:
    """The properties of the three storage topics, named after the group."""
    topics = {f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")}
    replication = {f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")}
    return {**topics, **replication}


def write_properties(file: Path, properties: Mapping[str, str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return file
