"""One connector's control loop: compares what should run with what runs, and takes the steps between.

The config topic says what should be; nothing else is remembered across a crash. Every step may be repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.api.errors import ConfigError
from runtime.herder.board import Board
from runtime.herder.start_gate import StartGate
from runtime.herder.tasks import Tasks, UnleasedError
from runtime.host.port import HOST_DIED, ConnectorInfo, HostError, PluginHost, UnknownPluginError
from runtime.kafka.errors import KafkaProblem
from runtime.logs import context
from runtime.storage.configs import ConfigStore, StoredConnector
from runtime.vocabulary import State, TargetState, TaskId

log = logging.getLogger(__name__)

RETRY_FIRST, RETRY_LAST = 0.5, 30.0
"""Seconds between attempts at a step that failed for a reason outside the connector."""

_EXPECTED = (KafkaProblem, HostError, TimeoutError, OSError)
"""Reasons that speak for themselves, without a trace."""

SETTLE = 30.0
"""Seconds that whoever needs a connector at rest waits for it."""


@dataclass(slots=True)
class Wishes:
    """What has been asked for beyond the stored state."""

    restart_connector: bool = False
    restart_tasks: set[int] = field(default_factory=set)
    reconfigure: bool = False

    def add(self, other: Wishes) -> None:
        self.restart_connector |= other.restart_connector
        self.restart_tasks |= other.restart_tasks
        self.reconfigure |= other.reconfigure


@dataclass(slots=True)
class Instance:
    """The connector instance in the plugin host: with which config it was started, and how that went."""

    config: Mapping[str, str] | None = None
    failed: bool = False
    at_rest: bool = False
    """It has failed and is not to be run now: FAILED is still its state, and resuming it is another try."""


class ConnectorLoop:
    """Brings one connector to its target state and keeps it there. Event loop only."""

    def __init__(
        self, name: str, configs: ConfigStore, host: PluginHost, board: Board, tasks: Tasks, gate: StartGate
    ) -> None:
        self.name = name
        self._gate = gate
        self._configs, self._host, self._board, self._tasks = configs, host, board, tasks
        self._instance, self._wishes = Instance(), Wishes()
        self._info: ConnectorInfo | None = None
        self._applied: Mapping[str, str] | None = None
        self._wake, self._idle = asyncio.Event(), asyncio.Event()
        self._closing = self.gone = self._unleased = False
        self._runner = asyncio.create_task(self._run(), name=f"connector {name}")

    def wake(self) -> None:
        """Look again: something has changed."""
        self._idle.clear()
        self._wake.set()

    def lease_is_back(self) -> bool:
        """Tasks may be started again; whether some have waited for it."""
        waited, self._unleased = self._unleased, False
        if waited:
            self.wake()
        return waited

    def restart(self, connector: bool, tasks: set[int]) -> None:
        """Restart the instance, these tasks, or both."""
        self._wishes.add(Wishes(connector, tasks))
        self.wake()

    def show_restarting(self, connector: bool, tasks: set[int]) -> None:
        """A restart is about to be done."""
        if connector:
            self._board.connector(self.name, State.RESTARTING, self._version)
        for task in tasks:
            self._board.task(TaskId(self.name, task), State.RESTARTING, self._version)

    def reconfigure(self) -> None:
        """The connector asks for new task configs."""
        self._wishes.reconfigure = True
        self.wake()

    def failed(self, trace: str) -> None:
        """The instance failed by itself, or with its host."""
        self._instance = Instance(self._instance.config, failed=True)
        self._board.connector(self.name, State.FAILED, self._version, trace)

    async def settled(self, within: float = SETTLE) -> bool:
        """Whether everything asked for so far has been done; waits so many seconds for it."""
        try:
            await asyncio.wait_for(self._idle.wait(), within)
        except TimeoutError:
            return False
        return True

    async def fails(self, within: float) -> bool:
        """Whether the connector is FAILED once everything asked for has been done, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), within)
        return self._instance.failed

    async def close(self) -> None:
        """Stop following the target state; what runs is left to the caller."""
        self._closing = True
        self.wake()
        await asyncio.gather(self._runner, return_exceptions=True)

    def unassign(self) -> None:
        """The worker ends: what it ran belongs to nobody (FACTS 7)."""
        self._tasks.unassign()
        if self._instance.config is not None and not self._instance.failed:
            self._board.connector(self.name, State.UNASSIGNED, self._version)

    @property
    def tasks(self) -> Tasks:
        return self._tasks

    async def _run(self) -> None:
        context.enter(self.name)
        delay = RETRY_FIRST
        while not (self._closing or self.gone):
            await self._wake.wait()
            self._wake.clear()
            wishes, self._wishes = self._wishes, Wishes()
            try:
                await self._step(wishes)
                delay = RETRY_FIRST
            except UnleasedError:
                self._wishes.add(wishes)
                self._unleased = True  # lease_is_back() wakes; asking for it again and again would be a storm
                continue
            except Exception as e:
                self._wishes.add(wishes)
                unexpected = not isinstance(e, _EXPECTED)
                log.warning("%s: %s; trying again in %.1f s", self.name, e, delay, exc_info=unexpected)
                asyncio.get_running_loop().call_later(delay, self.wake)
                delay = min(delay * 2, RETRY_LAST)
                continue
            if not self._wake.is_set():
                self._idle.set()

    async def _step(self, wishes: Wishes) -> None:
        stored = self._configs.connector(self.name)
        if self._closing:
            return
        if stored is None:
            await self._remove()
        elif stored.target is TargetState.STOPPED:
            await self._stop(stored, wishes)
        elif stored.target is TargetState.PAUSED:
            await self._pause(stored, wishes)
        else:
            async with self._gate.place():
                await self._start(self._configs.connector(self.name) or stored, wishes)

    async def _remove(self) -> None:
        """Who creates it anew meanwhile waits until the last task has ended: two would move the same records."""
        await self._stop_instance()
        await self._tasks.stop_all()
        self._board.remove_connector(self.name)
        self.gone = self._configs.connector(self.name) is None
        if self.gone:
            self._idle.set()
        else:
            self.wake()

    async def _stop(self, stored: StoredConnector, wishes: Wishes) -> None:
        """STOPPED shows at once; task entries go when the tasks have ended (FACTS 3)."""
        await self._rest(stored, State.STOPPED, wishes)
        await self._tasks.stop_all()
        self._tasks.forget_statuses()

    async def _pause(self, stored: StoredConnector, wishes: Wishes) -> None:
        """The instance stops, the tasks stay where they are with the configs they have."""
        await self._rest(stored, State.PAUSED, wishes)
        if stored.tasks and await self._resolve(stored):
            assert self._info is not None
            await self._run_tasks(self._info, stored, paused=True, wishes=wishes)

    async def _run_tasks(self, info: ConnectorInfo, stored: StoredConnector, paused: bool, wishes: Wishes) -> None:
        """Where the connector has failed with its new config, tasks that run keep the old one."""
        as_they_are = self._instance.failed
        await self._tasks.run(info, stored, paused, restart=wishes.restart_tasks, as_they_are=as_they_are)

    async def _rest(self, stored: StoredConnector, state: State, wishes: Wishes) -> None:
        """The instance stops. What has failed stays FAILED, and so does what could not be started, as in Connect."""
        failed = self._instance.failed and self._instance.config == stored.config and not wishes.restart_connector
        trace = await self._refusal(stored)
        if trace is not None:
            self._board.connector(self.name, State.FAILED, self._version, trace)
        elif not failed:
            self._board.connector(self.name, state, self._version)
        await self._stop_instance()
        if failed or trace is not None:
            self._instance = Instance(stored.config, failed=True, at_rest=True)

    async def _refusal(self, stored: StoredConnector) -> str | None:
        """Why this config could not be started at all; learns the plugin's version, which is shown at rest too."""
        try:
            self._info = await self._host.resolve(stored.config.get("connector.class", ""))
            self._tasks.check(self._info, stored.config)
        except UnknownPluginError as e:
            return _unknown(e)
        except ConfigError as e:
            return _trace(e)
        except HostError:
            return None  # it may be able to, later
        return None

    async def _start(self, stored: StoredConnector, wishes: Wishes) -> None:
        if not await self._resolve(stored):
            return
        assert self._info is not None
        fresh = await self._start_instance(stored, wishes)
        if not self._instance.failed and (fresh or wishes.reconfigure):
            stored = await self._apply_task_configs(stored)
        await self._run_tasks(self._info, stored, paused=False, wishes=wishes)

    async def _resolve(self, stored: StoredConnector) -> bool:
        """Find the class; a connector of a class that this worker does not have is FAILED, and says why."""
        try:
            self._info = await self._host.resolve(stored.config.get("connector.class", ""))
        except UnknownPluginError as e:
            self._fail(stored, _unknown(e))
            return False
        except HostError as e:
            if e.kind == HOST_DIED:
                raise
            self._fail(stored, e.trace)
            return False
        self._tasks.version = self._info.version
        return True

    async def _start_instance(self, stored: StoredConnector, wishes: Wishes) -> bool:
        """True when a new instance was started."""
        same = self._instance.config == stored.config and not self._instance.at_rest
        if same and not wishes.restart_connector:
            if not self._instance.failed:
                self._board.connector(self.name, State.RUNNING, self._version)
            return False
        try:
            await self._host.start_connector(self.name, stored.config)
        except (HostError, TimeoutError) as e:
            self._fail(stored, _trace(e))
            return False
        self._instance = Instance(stored.config)
        self._board.connector(self.name, State.RUNNING, self._version)
        return True

    async def _apply_task_configs(self, stored: StoredConnector) -> StoredConnector:
        """Ask for task configs and store them where they, or the connector's config, are new."""
        limit = int(stored.config.get("tasks.max", "1"))
        assert self._info is not None
        try:
            self._tasks.check(self._info, stored.config)
            configs = await self._host.task_configs(self.name, limit)
        except (ConfigError, HostError, TimeoutError) as e:
            self._fail(stored, _trace(e))
            return stored
        if len(configs) > limit and stored.config.get("tasks.max.enforce", "true").lower() != "false":
            self._fail(stored, _too_many(self.name, len(configs), limit))
            return stored
        if configs != list(stored.tasks) or (self._applied is not None and self._applied != stored.config):
            await self._configs.put_tasks(self.name, configs)
        self._applied = stored.config
        return self._configs.connector(self.name) or stored

    async def _stop_instance(self) -> None:
        if self._instance.config is not None and not self._instance.at_rest:
            await self._host.stop_connector(self.name)
        self._instance = Instance()

    def _fail(self, stored: StoredConnector, trace: str) -> None:
        self._instance = Instance(stored.config, failed=True)
        self._board.connector(self.name, State.FAILED, self._version, trace)

    @property
    def _version(self) -> str | None:
        return self._info.version if self._info else None


def _trace(e: Exception) -> str:
    if isinstance(e, ConfigError):
        return f"{e.java_name}: {e}"
    return e.trace if isinstance(e, HostError) else f"org.apache.kafka.connect.errors.ConnectException: {e}"


def _unknown(e: UnknownPluginError) -> str:
    return f"org.apache.kafka.connect.errors.ConnectException: {e}"


def _too_many(name: str, tasks: int, limit: int) -> str:
    return (
        f"org.apache.kafka.connect.errors.ConnectException: The connector {name} asks for {tasks} tasks, but tasks.max "
        f"is {limit}; raise tasks.max, or set tasks.max.enforce to false"
    )
