"""The embedded cluster's worker: our own, distributed, in a group of one."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtime.embedded import ports
from runtime.embedded.errors import StartError
from runtime.embedded.logs import last_words, open_log
from runtime.embedded.process import spawn

GROUP = "headrace-embedded"


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Where the worker lives and which broker it works with."""

    folder: Path
    port: int
    bootstrap: str

    @property
    def url(self) -> str:
        return f"http://{ports.HOST}:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "worker.log"

    @property
    def properties(self) -> Path:
        return self.folder / "worker.properties"


class Worker:
    """The worker's process. It waits for its broker by itself."""

    name = "worker"

    def __init__(self, config: WorkerConfig) -> None:
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def address(self) -> str:
        return self.config.url

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Returns before it is ready."""
        self.config.folder.mkdir(parents=True, exist_ok=True)
        self.config.properties.write_text(worker_properties(self.config))
        self._log_start = open_log(self.config.log)
        command = [sys.executable, "-m", "runtime", "worker", "distributed", str(self.config.properties)]
        self._process = spawn(command, self.config.log)

    def wait_ready(self, timeout: float) -> None:
        """Returns when GET /health is 200. StartError when the worker ended or time is up."""
        deadline = time.monotonic() + timeout
        while not self.healthy():
            if not self.running():
                code = self._process.returncode if self._process else None
                said = last_words(self.config.log, self._log_start)
                raise StartError(f"the worker ended with code {code}: {said} ({self.config.log})")
            if time.monotonic() > deadline:
                raise StartError(f"the worker was not ready within {timeout:.0f} s, see {self.config.log}")
            time.sleep(0.05)

    def healthy(self) -> bool:
        connection = http.client.HTTPConnection(ports.HOST, self.config.port, timeout=5.0)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self, graceful: float = 20.0) -> None:
        """SIGTERM, then SIGKILL; returns when it and what it had started are gone."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(graceful)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # It leads a process group of its own; nobody of that group may outlive it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def worker_properties(config: WorkerConfig) -> str:
    """The worker's configuration file."""
    settings = {
        "bootstrap.servers": config.bootstrap,
        "group.id": GROUP,
        "listeners": config.url,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "config.storage.topic": "headrace-configs",
        "config.storage.replication.factor": "1",
        "offset.storage.topic": "headrace-offsets",
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "5",
        "status.storage.topic": "headrace-status",
        "status.storage.replication.factor": "1",
        "status.storage.partitions": "2",
        "offset.flush.interval.ms": "1000",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())
