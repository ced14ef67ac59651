"""A worker from start to end.

bind the listener ─ serve REST (503) ─ brokers, storage topics ─ group ─ ready ─ control loops ─ tasks
                    └ plugin host and engine start beside it
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.config.secret_values import WORKER, Secrets
from runtime.config.worker_config import WorkerConfig, load_distributed
from runtime.engine.protocol.descriptors import raise_limit
from runtime.herder.configs.override_policy import OverridePolicy
from runtime.kafka.errors import ClientConfigError, KafkaProblem
from runtime.logs.formats import to_stderr
from runtime.rest.http.server import PortTaken, RestServer
from runtime.rest.security.security import certified, protection, tls
from runtime.worker.assembly import WorkerParts, assemble
from runtime.worker.loop_monitor import LoopMonitor
from runtime.worker.worker_storage import StorageFactory, client_warnings, kafka_storage

log = logging.getLogger(__name__)

FAILED, BAD_CONFIG = 1, 2

OnReady = Callable[[WorkerParts], Awaitable[None]]
"""What a worker does as soon as it is ready; a WorkerEnd ends it."""


class WorkerStartError(Exception):
    """The worker cannot do what it was started for; the message is for the operator."""


def main(file: str) -> int:
    """Run a distributed worker until SIGTERM or SIGINT; the exit code."""
    return run(file, lambda: (load_distributed(Path(file)), kafka_storage, _nothing))


def run(file: str, load: Callable[[], tuple[WorkerConfig, StorageFactory, OnReady]]) -> int:
    """Run a worker of the kind that `load` describes."""
    faulthandler.enable()
    secrets = Secrets()
    try:
        config, make_backing, first = load()
        secrets.keep(WORKER, config.secrets)
        OverridePolicy.of(config.originals)  # refused before anything listens
        to_stderr(config.log_format, secrets.scrub)
        warnings = (*config.warnings, *client_warnings(config))
        raise_limit()
        worker = Worker(config, RestListeners(config), make_backing, first, secrets)
    except (ConfigError, ClientConfigError, PortTaken) as e:
        print(f"headrace worker: {e}", file=sys.stderr)
        return BAD_CONFIG
    for warning in warnings:
        log.warning("%s: %s", file, warning)
    return asyncio.run(worker.run())


async def _nothing(_: WorkerParts) -> None:
    return


class RestListeners:
    """All listeners, bound as soon as it is made, and what protects them."""

    def __init__(self, config: WorkerConfig) -> None:
        props, admin = config.originals, config.admin_listeners or ()
        names = (listener.host for listener in (*config.listeners, *admin))
        self._protection = protection(props, [*names, config.advertised.host or ""])
        self._certified = certified(props, config.listeners, "listeners.https.")
        self._admin_certified = certified(props, admin, "admin.listeners.https.")
        self._api = RestServer("listeners", config.listeners, tls(props, config.listeners, "listeners.https."))
        self._admin = RestServer("admin.listeners", admin, tls(props, admin, "admin.listeners.https."))
        listener, port = next(b for b in self._api.bound if b[0].scheme == config.advertised.scheme)
        self.url = config.advertised.url(listener, port)

    async def open(self, parts: WorkerParts) -> None:
        await self._api.start(self._protection.wrap(parts.api, self._certified))
        await self._admin.start(self._protection.wrap(parts.admin, self._admin_certified))

    async def close(self) -> None:
        await asyncio.gather(self._api.close(), self._admin.close())


class Worker:
    """Leads the parts of a worker through their lives."""

    def __init__(
        self, config: WorkerConfig, door: RestListeners, make_backing: StorageFactory, first: OnReady, secrets: Secrets
    ) -> None:
        self._config, self._door, self._make_backing, self._first = config, door, make_backing, first
        self._secrets = secrets
        self.id = door.url.partition("://")[2]
        self._stop = asyncio.Event()
        self._failure: str | None = None

    async def run(self) -> int:
        """Everything, from the first request to the last offset committed."""
        started = time.monotonic()
        self._watch_signals()
        monitor = LoopMonitor()
        monitor.start()
        backing = self._make_backing(self._config, self._door.url, self._lost_group)
        parts = assemble(self._config, self._door.url, backing, self._secrets)
        logging.getLogger().addHandler(parts.lines)
        await self._door.open(parts)
        log.info("REST API at %s after %.2f s", self._door.url, time.monotonic() - started)
        starting = asyncio.create_task(self._start(parts), name="start")
        await self._stop.wait()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await self._close(parts)
        monitor.close()
        if self._failure:
            print(f"headrace worker: {self._failure}", file=sys.stderr)
        return FAILED if self._failure else 0

    async def _start(self, parts: WorkerParts) -> None:
        """Brokers, stores, group, then the connectors. What cannot be waited out ends the worker with one line."""
        try:
            await parts.engine.start()  # first: Spark takes longest
            await parts.host.start()
            await parts.logs.start()
            parts.health.waiting_for = f"the group {self._config.group_id}"
            joined = await parts.place.join()
            await parts.configs.read_to_end()
            parts.configs.forget_deleted()
        except (KafkaProblem, OSError) as e:
            self._fail(str(e))
            return
        parts.board.generation = joined.generation
        parts.configs.on_logger_level = parts.loggers.heard  # only what is asked from now on (KIP-976)
        if not await parts.desk.changes.finish():
            parts.desk.changes.finish_later()
        parts.configs.on_restart = parts.herder.restart_requested
        parts.fleet.start(parts.for_tasks)
        await parts.fleet.take_over()
        try:
            await self._first(parts)
        except WorkerStartError as e:
            self._fail(str(e))
            return
        parts.health.ready = True
        parts.progress.start()
        log.info("Worker %s is ready: %d connectors", self.id, len(parts.configs.names()))

    async def _close(self, parts: WorkerParts) -> None:
        """Tasks first, so that their offsets are committed; then what they needed."""
        log.info("Worker %s is stopping", self.id)
        parts.events.close()
        parts.health.ready = False
        parts.desk.changes.close()
        parts.progress.close()
        await parts.fleet.close()
        await parts.engine.close(self._config.graceful)
        await parts.host.close()
        await self._door.close()
        await parts.place.leave()
        await parts.for_tasks.offsets.close()
        await parts.logs.close()
        log.info("Worker %s has stopped", self.id)

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        """The first one asks, the second one insists."""
        if self._stop.is_set():
            os._exit(FAILED)
        self._stop.set()

    def _lost_group(self, reason: str) -> None:
        self._fail(f"lost its place in group {self._config.group_id}: {reason}")

    def _fail(self, reason: str) -> None:
        self._failure = reason
        self._stop.set()
