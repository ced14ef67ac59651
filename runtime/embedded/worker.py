"""The worker of the embedded cluster: a distributed Headrace worker, alone in its group."""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from pathlib import Path

from runtime.config.properties import dump
from runtime.embedded.processes import ports
from runtime.embedded.processes.service import Service
from runtime.system.python_process import module_command

GROUP = "headrace-embedded"


@dataclass(frozen=True, slots=True)
class EmbeddedWorkerConfig:
    """Folder and port of the worker, and its broker."""

    folder: Path
    port: int
    bootstrap: str

    @property
    def url(self) -> str:
        return f"http://{ports.HOST}:{self.port}"

    @property
    def plugins(self) -> Path:
        """The folder of Python plugins; `headrace plugin run` puts plugins there."""
        return self.folder / "plugins"

    @property
    def properties(self) -> Path:
        return self.folder / "worker.properties"


class EmbeddedWorker(Service):
    """The worker's process, which waits for the broker itself."""

    name = "worker"
    graceful = 20.0

    def __init__(self, config: EmbeddedWorkerConfig) -> None:
        super().__init__(config.folder / "worker.log", (config.port,))
        self.config = config

    @property
    def address(self) -> str:
        return self.config.url

    def ready(self) -> bool:
        """Whether GET /health is 200."""
        connection = http.client.HTTPConnection(ports.HOST, self.config.port, timeout=1.0)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _prepare(self) -> list[str]:
        self.config.plugins.mkdir(parents=True, exist_ok=True)
        self.config.properties.write_text(worker_properties(self.config))
        return module_command("runtime", "worker", "distributed", str(self.config.properties))


def worker_properties(config: EmbeddedWorkerConfig) -> str:
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
        "plugin.path": str(config.plugins),
    }
    return dump(settings)
