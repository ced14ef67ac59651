"""Starts, runs and stops a worker process.

bind the listeners ─ serve REST (503) ─ brokers, storage topics ─ group ─ control loops ─ ready
                     └ the plugin host and the engine start at the same time
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
from contextlib import closing
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.config.secret_values import WORKER, Secrets
from runtime.config.worker_config import WorkerConfig, load_distributed
from runtime.engine.protocol.descriptors import raise_limit
from runtime.herder.configs.override_policy import policy_of
from runtime.herder.monitoring.metrics import INTERNAL_TOPICS
from runtime.kafka.errors import ClientConfigError, KafkaProblem
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.logs.formats import to_stderr
from runtime.rest.http.server import PortTaken, RestServer
from runtime.rest.security.security import certified, protection, tls
from runtime.worker import loop_monitor
from runtime.worker.assembly import WorkerParts, assemble
from runtime.worker.java_plugins import WorkerJava, check_service_entries
from runtime.worker.login_watch import LoginUsers, LoginWatch
from runtime.worker.loop_monitor import LoopMonitor
from runtime.worker.worker_storage import StorageFactory, client_warnings, kafka_storage

log = logging.getLogger(__name__)

FAILED, BAD_CONFIG = 1, 2

HAND_OVER_TIMEOUT = 15.0
"""Seconds for which a worker that ends waits for other workers to take over its connectors and tasks."""

OnReady = Callable[[WorkerParts], Awaitable[None]]
"""A function to run as soon as the worker is ready; raising WorkerStartError ends the worker."""


class WorkerStartError(Exception):
    """The worker cannot start or continue; the message is for the operator."""


def main(file: str) -> int:
    """Run a distributed worker until SIGTERM, SIGINT or SIGHUP; returns the exit code."""
    with closing(WorkerJava()) as java:
        return run(file, lambda: (load_distributed(Path(file), java), kafka_storage, _nothing))


def run(file: str, load: Callable[[], tuple[WorkerConfig, StorageFactory, OnReady]]) -> int:
    """Run a worker of the kind that `load` describes."""
    faulthandler.enable()
    secrets = Secrets()
    try:
        config, open_storage, on_ready = load()
        secrets.keep(WORKER, config.secrets)
        policy_of(config)  # raises before anything listens
        check_service_entries(config.plugin_path, config.plugin_discovery)
        to_stderr(config.log_format, secrets.scrub)
        warnings = (*config.warnings, *client_warnings(config))
        raise_limit()
        worker = Worker(config, RestListeners(config), open_storage, on_ready, secrets)
    except (ConfigError, ClientConfigError, PortTaken) as e:
        print(f"headrace worker: {e}", file=sys.stderr)
        return BAD_CONFIG
    for warning in warnings:
        log.warning("%s: %s", file, warning)
    return asyncio.run(worker.run())


async def _nothing(_: WorkerParts) -> None:
    return


class RestListeners:
    """The listeners of the REST API and of /admin, and their access control. The constructor binds their ports."""

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
        """Start to answer requests."""
        callers = parts.between_workers.callers
        await self._api.start(self._protection.wrap(parts.api, self._certified, callers))
        await self._admin.start(self._protection.wrap(parts.admin, self._admin_certified))

    async def close(self) -> None:
        await asyncio.gather(self._api.close(), self._admin.close())


class Worker:
    """Starts and stops the parts of a worker in order."""

    def __init__(
        self, config: WorkerConfig, rest: RestListeners, open_storage: StorageFactory, on_ready: OnReady,
        secrets: Secrets,
    ) -> None:  # fmt: skip
        self._config, self._rest, self._open_storage, self._on_ready = config, rest, open_storage, on_ready
        self._secrets = secrets
        self.id = rest.url.partition("://")[2]
        self._stop = asyncio.Event()
        self._failure: str | None = None

    async def run(self) -> int:
        """Run until a signal or a failure; returns the exit code after the last offsets have been committed."""
        started = time.monotonic()
        loop_monitor.tune()
        self._watch_signals()
        monitor = LoopMonitor()
        monitor.start()
        storage = self._open_storage(self._config, self._rest.url)
        parts = assemble(self._config, self._rest.url, storage, self._secrets)
        logging.getLogger().addHandler(parts.lines)
        await self._rest.open(parts)
        log.info("REST API listening at %s after %.2f s", self._rest.url, time.monotonic() - started)
        logins = LoginWatch(self._config, self._login_users(parts, storage.leader))
        logins.start()
        starting = asyncio.create_task(self._start(parts), name="start")
        starting.add_done_callback(self._started)
        await self._stop.wait()
        logins.close()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await self._close(parts)
        monitor.close()
        if self._failure:
            print(f"headrace worker: {self._failure}", file=sys.stderr)
        return FAILED if self._failure else 0

    def _login_users(self, parts: WorkerParts, writer: TransactionalWriter | None) -> LoginUsers:
        configs = parts.configs

        async def renew_writer() -> None:
            if writer is not None:
                await writer.renew()

        return LoginUsers(
            lambda: {name: configs.config(name) or {} for name in configs.names()}, lambda: configs.offset,
            parts.engine.renew_logins, renew_writer, parts.connectors.renew_tasks,
            lambda values: self._secrets.keep(WORKER, values),
        )  # fmt: skip

    def _started(self, starting: asyncio.Task[None]) -> None:
        """An unexpected error must end the worker, which would otherwise answer 503 forever."""
        if not starting.cancelled() and (error := starting.exception()) is not None:
            log.error("The worker could not start", exc_info=error)
            self._fail(f"the worker could not start: {error!r}")

    async def _start(self, parts: WorkerParts) -> None:
        """Engine and plugin host, storage, group, then the connectors. An error that a retry cannot fix ends the worker
        with a one-line message."""
        parts.health.stage = INTERNAL_TOPICS if parts.peers is not None else ""
        try:
            await parts.engine.start()  # first: Spark takes longest
            await parts.host.start()
            await parts.logs.start()
            if parts.peers is not None:
                parts.health.waiting_for = f"the group {self._config.group_id}"
            await parts.configs.read_to_end()
            parts.health.stage = ""
            parts.configs.forget_deleted()
            parts.duties.subscribe(self._lost_group)
            await parts.group.join(parts.duties)
            parts.health.waiting_for = "its connectors"
        except (KafkaProblem, OSError) as e:
            self._fail(str(e))
            return
        parts.configs.subscribe(logger_levels=parts.loggers.set_cluster_level)  # not earlier requests (KIP-976)
        await parts.duties.start()
        parts.configs.subscribe(restarts=parts.herder.restart_requested)
        parts.connectors.start(parts.task_services)
        await parts.connectors.take_over()
        try:
            await self._on_ready(parts)
        except WorkerStartError as e:
            self._fail(str(e))
            return
        parts.between_workers.keys.start(lambda: parts.group.leads)
        parts.health.ready = True
        if parts.peers is not None:
            parts.peers.start()
        parts.progress.start()
        log.info("Worker %s is ready with %d connector(s)", self.id, len(parts.configs.names()))

    async def _close(self, parts: WorkerParts) -> None:
        """Stop the tasks first, so that their offsets are committed, then everything that they need."""
        log.info("Worker %s is stopping", self.id)
        if parts.health.ready:
            await parts.group.hand_over(HAND_OVER_TIMEOUT)
        if parts.peers is not None:
            parts.peers.close()
        parts.events.close()
        parts.health.ready = False
        parts.duties.close()
        parts.progress.close()
        await parts.connectors.close()
        await parts.engine.close(self._config.graceful)
        await parts.host.close()
        await self._rest.close()
        await parts.between_workers.close()
        await parts.group.leave()
        await parts.task_services.offsets.close()
        await parts.logs.close()
        log.info("Worker %s has stopped", self.id)

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(signal.SIGHUP, self._stop.set)  # a terminal that closes sends several

    def _on_signal(self) -> None:
        """The first signal stops the worker, a second one ends the process at once."""
        if self._stop.is_set():
            os._exit(FAILED)
        self._stop.set()

    def _lost_group(self, reason: str) -> None:
        self._fail(f"lost its place in group {self._config.group_id}: {reason}")

    def _fail(self, reason: str) -> None:
        self._failure = reason
        self._stop.set()
