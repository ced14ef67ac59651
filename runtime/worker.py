"""A distributed worker from start to end.

    bind the listener ─ serve REST (503) ─ brokers, storage topics ─ group ─ ready ─ control loops ─ tasks
                        └ plugin host and engine start beside it
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from pathlib import Path

from runtime.config import WorkerConfig, WorkerConfigError, load_distributed
from runtime.engine.settings import EngineSettings
from runtime.engine.supervisor import Supervisor
from runtime.herder.board import Board
from runtime.herder.events import EventLog
from runtime.herder.fleet import Fleet
from runtime.herder.health import WorkerHealth
from runtime.herder.herder import Herder, TopicTracking
from runtime.herder.offsets import OffsetsDesk
from runtime.herder.tasks import Parts
from runtime.host.client import Host
from runtime.host.settings import HostSettings
from runtime.kafka.clients import client_config
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.groups import Groups
from runtime.kafka.log import TopicLogs
from runtime.kafka.membership import Membership
from runtime.rest.app import application
from runtime.rest.events import EventStream
from runtime.rest.routes import Services
from runtime.rest.server import PortTaken, RestServer
from runtime.storage.configs import ConfigStore
from runtime.storage.offsets import OffsetStore
from runtime.storage.statuses import StatusStore

log = logging.getLogger(__name__)

FAILED, BAD_CONFIG = 1, 2


def main(file: str) -> int:
    """Run a worker until SIGTERM or SIGINT; the exit code."""
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)",
    )
    try:
        config = load_distributed(Path(file))
        worker = Worker(config, RestServer(config.host, config.port))
    except (WorkerConfigError, PortTaken) as e:
        print(f"headrace worker: {e}", file=sys.stderr)
        return BAD_CONFIG
    for warning in config.warnings:
        log.warning("%s: %s", file, warning)
    return asyncio.run(worker.run())


class Worker:
    """Builds the parts of a distributed worker and leads them through their lives."""

    def __init__(self, config: WorkerConfig, server: RestServer) -> None:
        self._config, self._server = config, server
        self.id = f"{config.advertised_host}:{config.advertised_port or server.port}"
        self._stop = asyncio.Event()
        self._failure: str | None = None

    async def run(self) -> int:
        """Everything, from REST to the last offset committed."""
        started = time.monotonic()
        self._watch_signals()
        self._build()
        await self._server.start(application(self._services))
        log.info("REST API at http://%s (%.2f s)", self.id, time.monotonic() - started)
        starting = asyncio.create_task(self._start(), name="start")
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done() and not self._stop.is_set() and starting.exception() is None:
            await stopping
        await self._close(starting)
        if self._failure:
            print(f"headrace worker: {self._failure}", file=sys.stderr)
        return FAILED if self._failure else 0

    def _build(self) -> None:
        c = self._config
        admin = client_config(c.originals, "admin", client_id=f"{c.group_id}-shared-admin").settings
        self._logs = TopicLogs(admin)
        self._configs = ConfigStore(self._logs, c.configs, self._on_config)
        self._statuses = StatusStore(self._logs, c.statuses, self.id)
        self._offsets = OffsetStore(self._logs, c.offsets)
        self._groups = Groups(admin)
        self._health = WorkerHealth(self._logs, waiting_for=f"Kafka at {c.bootstrap_servers}")
        self._events = EventLog()
        self._board = Board(self._statuses, self._events, self.id, self._entry)
        self._fleet = Fleet(self._configs, self._statuses, self._board)
        self._host = Host(_host_settings(c), self._fleet)
        self._engine = Supervisor(EngineSettings(slots=c.slots), self._fleet)
        self._membership = Membership(admin, c.group_id, f"http://{self.id}/", self._on_lost)
        self._herder = Herder(self._configs, self._statuses, self._host, self._fleet, _tracking(c))
        desk = OffsetsDesk(self._herder, self._fleet, self._host, self._offsets, self._groups)
        self._services = Services(self._herder, desk, self._health, EventStream(self._events, self._herder))
