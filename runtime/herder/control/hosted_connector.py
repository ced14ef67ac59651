"""One connector in the plugin host: its instance, its task configs and its reported state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from runtime.api.errors import ConfigError
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.control.instance import Instance, Starter, TaskConfigs
from runtime.herder.control.start_control import StartControl
from runtime.herder.control.tasks import Tasks
from runtime.herder.status.status_board import StatusBoard
from runtime.host.port import ConnectorInfo, HostError, UnknownPluginError
from runtime.kafka.errors import RecordTooLarge
from runtime.model.states import State
from runtime.storage.configs import ConfigStore, StoredConnector

log = logging.getLogger(__name__)

MAX_TASK_CONFIGS_DELAY = 60.0
"""Seconds, the longest delay between calls of task_configs() that fail."""

PutTasks = Callable[[StoredConnector, Sequence[Mapping[str, str]]], Awaitable[None]]
"""Stores the task configs that were generated from this configuration, through the leader of the group."""


class HostedConnector:
    """Event loop only; the connector's control loop is the only caller. `wake` makes the loop run another step."""

    def __init__(
        self, name: str, configs: ConfigStore, host: ResolvingHost, board: StatusBoard, tasks: Tasks,
        starts: StartControl, put_tasks: PutTasks, wake: Callable[[], None],
    ) -> None:  # fmt: skip
        self._name, self._configs, self._host, self._board, self._tasks = name, configs, host, board, tasks
        self._starts, self._starter = starts, Starter(name, host, starts, tasks)
        self._put_tasks, self._wake = put_tasks, wake
        self._instance = Instance()
        self._awaited: asyncio.Task[TaskConfigs] | None = None  # wakes the loop when done
        self._resolved: Mapping[str, str] | None = None
        self.info: ConnectorInfo | None = None

    @property
    def failed(self) -> bool:
        """Whether the connector is FAILED with its latest configuration."""
        return self._instance.failed

    @property
    def start_failed(self) -> bool:
        """Whether the connector is FAILED because its start has failed, not because of its task configs."""
        return self._instance.failed and not self._instance.started

    @property
    def pending(self) -> bool:
        """Whether the instance must still be started, or its task configs stored."""
        return self._instance.pending

    @property
    def starting(self) -> bool:
        """Whether the connector's start() has been called, or is about to be, and has not returned."""
        return self._instance.pending and not self._instance.started

    @property
    def exists(self) -> bool:
        """Whether there is an instance, running or failed."""
        return self._instance.config is not None

    @property
    def version(self) -> str | None:
        """The plugin's version; None until the plugin host has found the class."""
        return self.info.version if self.info else None

    @property
    def revision(self) -> str | None:
        """The revision of the plugins' code with which the connector was last started."""
        return self.info.revision if self.info else None

    def show(self, state: State, trace: str | None = None, restartable: bool = False) -> None:
        """Publish the connector's state; `restartable` as for StatusBoard.connector()."""
        self._board.connector(self._name, state, self.version, trace, restartable)

    def report_error(self, trace: str) -> None:
        """The instance reported an error through its context."""
        self._instance.failed, self._instance.pending = True, False
        self._instance.task_configs_failures = 0
        self._instance.drop_call()
        self.show(State.FAILED, trace, restartable=True)
        self._wake()

    def lost(self) -> bool:
        """The instance ended with its host; True if it must be restarted. A running call fails with the host."""
        self._instance.started = False
        return not self._instance.busy

    def release(self) -> None:
        """A restart was requested: a connector in quarantine starts again."""
        self._starts.crashes.release(self._name)

    def unassign(self) -> None:
        """Report UNASSIGNED because the worker ends (FACTS.md, 7)."""
        if self._instance.config is not None and not self._instance.failed:
            self.show(State.UNASSIGNED)

    async def close(self) -> None:
        """Stop waiting for the connector's code; the caller ends the running instance."""
        await self._instance.cancel()

    async def show_rest(self, stored: StoredConnector, state: State, restart: bool) -> bool:
        """Report the state of a connector at rest. Returns True if FAILED is reported instead, as in Connect, because
        the connector could not start, or has failed and is only paused."""
        instance = self._instance
        stays_failed = instance.failed and not instance.task_configs_failures
        failed = state is State.PAUSED and stays_failed and instance.is_of(stored) and not restart
        if restart:
            self.release()
        trace = await self._refusal(stored)
        if trace is not None:
            self.show(State.FAILED, trace)
        elif not failed:
            self.show(state)
        return failed or trace is not None

    async def _refusal(self, stored: StoredConnector) -> str | None:
        """The reason why a start with this configuration would fail. Also updates the plugin's version, which is also
        reported while the connector is at rest."""
        if (refusal := self._starts.crashes.quarantined(self._name, stored.start_config)) is not None:
            return refusal.trace
        try:
            self.info = await self._find_class(stored.start_config)
            config = await self._host.resolve_stored(self._name, stored.start_config)
        except UnknownPluginError as e:
            return _unknown(e)
        except (HostError, ConfigError, TimeoutError) as e:
            log.warning("%s: cannot check the configuration of the connector at rest: %s", self._name, e)
            return None  # the check may succeed later
        try:
            self._tasks.check(self.info, config)
        except ConfigError as e:
            return _trace(e)
        return None

    async def resolve(self, stored: StoredConnector) -> bool:
        """Find the connector class; False and state FAILED if this worker does not have the class."""
        trace = await self.find(stored)
        if trace is not None:
            self._fail(stored, trace)
        return trace is None

    async def find(self, stored: StoredConnector) -> str | None:
        """Find the connector class; the reason as a trace if this worker does not have the class."""
        try:
            self.info = await self._find_class(stored.start_config)
        except UnknownPluginError as e:
            return _unknown(e)
        except (HostError, ConfigError, TimeoutError) as e:
            if isinstance(e, HostError) and e.temporary:
                raise
            return _trace(e)
        self._tasks.version = self.info.version
        return None

    async def _find_class(self, config: Mapping[str, str]) -> ConnectorInfo:
        """Imports the plugin the first time, which may end the plugin host or the worker as start() may."""
        cls = config.get("connector.class", "")
        if self._resolved == config:
            return await self._host.resolve(cls, config)
        info = await self._starts.find_class(self._name, config, lambda: self._host.resolve(cls, config))
        self._resolved = config
        return info

    async def renew(self, stored: StoredConnector, restart: bool, reconfigure: bool) -> None:
        """Replace the instance if its configuration differs from the stored one, or if a restart was requested."""
        instance = self._instance
        if not instance.is_of(stored) or instance.at_rest or restart:
            await self.retire()
            self._instance = Instance.of(stored, pending=True)
        elif not instance.failed:
            if reconfigure:
                instance.request_task_configs()
            if instance.started:
                self.show(State.RUNNING)
            if instance.lacks_tasks(stored) and not instance.watched:
                instance.watched = True
                asyncio.get_running_loop().call_later(self._starts.times.missing_tasks, self._generate_again, instance)

    def _generate_again(self, instance: Instance) -> None:
        instance.watched = False
        stored = self._configs.connector(self._name)
        if self._instance is instance and stored is not None and instance.lacks_tasks(stored):
            log.warning("%s: a stop was interrupted after it had removed the task configs: generating them", self._name)
            instance.request_task_configs()
            self._wake()

    async def bring_up(self, stored: StoredConnector) -> StoredConnector | None:
        """Start the instance, request its task configs, and store them if they or the connector's configuration are
        new. The instance is `pending` until all of this is complete. Returns the connector as stored then; None if it
        has been deleted."""
        instance = self._instance
        call = instance.call or self._begin(instance)
        await asyncio.wait({call}, timeout=self._starts.times.step_timeout)
        if not call.done():
            self._wake_after(call)
            return stored
        if call.cancelled():  # the instance has reported an error
            return stored
        try:
            configs = call.result()
        except (HostError, ConfigError, TimeoutError) as e:
            if instance.started and isinstance(e, HostError) and not (e.temporary or e.permanent):
                self._without_task_configs(instance, e)
            else:
                self._not_brought_up(stored, e)
            return stored
        if not instance.started:  # the host died right after the start
            instance.call = None
            self._wake()
            return stored
        # The connector's code may have taken long: what it has generated for a configuration that has been replaced, or
        # for a connector that has been deleted, is dropped, and the loop has been woken by the change.
        current = self._configs.connector(self._name)
        if current is None or not instance.is_of(current):
            return current
        if configs != list(current.tasks) or not current.is_applied:
            try:
                await self._put_tasks(current, configs)
            except RecordTooLarge as e:
                self._fail(current, _trace(e))
                return current
        instance.call, instance.pending, instance.reconfigure_again = None, instance.reconfigure_again, False
        if instance.task_configs_failures:
            instance.failed, instance.task_configs_failures = False, 0
            self.show(State.RUNNING)
        instance.tasks = len(configs)
        if instance.pending:
            self._wake()
        return self._configs.connector(self._name)

    def _begin(self, instance: Instance) -> asyncio.Task[TaskConfigs]:
        assert self.info is not None
        call = self._starter.begin(instance, self.info, lambda: self._started(instance))
        if not instance.started:
            asyncio.get_running_loop().call_later(self._starts.times.slow_start, self._show_slow, instance)
        return call

    def _started(self, instance: Instance) -> None:
        if self._instance is instance:
            self.show(State.RUNNING)

    def _show_slow(self, instance: Instance) -> None:
        if self._instance is instance and instance.busy and not instance.started:
            limit = self._starts.times.slow_start
            log.warning("%s: the connector's start() has not returned for %.0f s, still waiting", self._name, limit)
            self.show(State.UNASSIGNED)

    def _wake_after(self, call: asyncio.Task[TaskConfigs]) -> None:
        if call is not self._awaited:
            self._awaited = call
            call.add_done_callback(lambda _: self._wake())

    def _without_task_configs(self, instance: Instance, e: HostError) -> None:
        """task_configs() has failed. Its cause may pass, as when a database is away: it is called again, as in Connect;
        meanwhile the connector is FAILED."""
        factor = 2 ** min(instance.task_configs_failures, 20)
        delay = min(self._starts.times.task_configs_delay * factor, MAX_TASK_CONFIGS_DELAY)
        instance.call, instance.pending, instance.failed = None, False, True
        self.show(State.FAILED, e.trace, restartable=not instance.task_configs_failures)  # automatic restarts count one
        instance.task_configs_failures += 1
        asyncio.get_running_loop().call_later(delay, self._request_task_configs_again, instance)

    def _request_task_configs_again(self, instance: Instance) -> None:
        if self._instance is instance and instance.task_configs_failures:
            instance.request_task_configs()
            self._wake()

    def _not_brought_up(self, stored: StoredConnector, e: HostError | ConfigError | TimeoutError) -> None:
        """Raises errors that are not the connector's fault, so that the loop retries the start."""
        if isinstance(e, HostError) and e.temporary:
            self._instance = Instance()
            self.show(State.UNASSIGNED)
            raise e
        started = self._instance.started and isinstance(e, HostError)  # its task configs are refused
        self._fail(stored, _trace(e), restartable=not (isinstance(e, HostError) and e.permanent))
        self._instance.started = started

    async def retire(self, failed: StoredConnector | None = None) -> None:
        """Stop the instance; `failed`: the configuration whose failure is still reported."""
        old, self._instance = self._instance, Instance()
        if failed is not None:
            self._instance = Instance.of(failed, failed=True, at_rest=True)
        await old.cancel()
        if old.config is not None and not old.at_rest:
            await self._host.stop_connector(self._name)

    def _fail(self, stored: StoredConnector, trace: str, restartable: bool = False) -> None:
        self._instance.drop_call()
        self._instance = Instance.of(stored, failed=True)
        self.show(State.FAILED, trace, restartable)


def _trace(e: Exception) -> str:
    if isinstance(e, ConfigError):
        return f"{e.java_name}: {e}"
    return e.trace if isinstance(e, HostError) else f"org.apache.kafka.connect.errors.ConnectException: {e}"


def _unknown(e: UnknownPluginError) -> str:
    return f"org.apache.kafka.connect.errors.ConnectException: {e}"
