"""One connector's control loop: compares what should run with what runs, and takes the steps between.

The config topic says what should be; nothing else is remembered across a crash. Every step may be repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.api.errors import ConfigError
from runtime.herder.board import Board
from runtime.herder.instance import Instance, Starter, TaskConfigs
from runtime.herder.resolving import ResolvingHost
from runtime.herder.start_gate import StartGate
from runtime.herder.start_trials import StartTrials
from runtime.herder.tasks import Tasks, UnleasedError
from runtime.host.port import ConnectorInfo, HostError, UnknownPluginError
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

QUICK = 1.0
"""Seconds that a step waits for the connector's own start() and task_configs(); later they are left to themselves, and
requests for the connector are carried out meanwhile."""

SLOW = 10.0
"""Seconds after which a connector whose start() has not returned is shown as UNASSIGNED."""


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


@dataclass(frozen=True, slots=True)
class Starts:
    """What the starts of all connectors of a worker share."""

    gate: StartGate = field(default_factory=StartGate)
    trials: StartTrials = field(default_factory=StartTrials)


class ConnectorLoop:
    """Brings one connector to its target state and keeps it there. Event loop only."""

    def __init__(
        self, name: str, configs: ConfigStore, host: ResolvingHost, board: Board, tasks: Tasks, starts: Starts,
        on_gone: Callable[[ConnectorLoop], None],
    ) -> None:  # fmt: skip
        self.name, self._on_gone = name, on_gone
        self._gate = starts.gate
        self._configs, self._host, self._board, self._tasks = configs, host, board, tasks
        self._starter = Starter(name, host, starts.trials, tasks)
        self._instance, self._wishes = Instance(), Wishes()
        self._awaited: asyncio.Task[TaskConfigs] | None = None  # wakes this loop when it is done
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
        """The instance failed by itself."""
        self._instance.failed, self._instance.due = True, False
        self._board.connector(self.name, State.FAILED, self._version, trace)

    def host_lost(self) -> None:
        """The instance is gone with its host; it is started again."""
        self._instance.started = False
        if self._instance.busy:
            return  # the call under way fails with the host
        self._wishes.restart_connector = True
        self.wake()

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
        await self._instance.cancel()

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
            if not self._wake.is_set() and not self._instance.due:
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
        """A new connector of this name waits until the last task has ended: two would move the same records."""
        await _both(self._retire(), self._tasks.stop_all())
        self._board.remove_connector(self.name)
        self.gone = self._configs.connector(self.name) is None
        if self.gone:
            self._idle.set()
            self._on_gone(self)
        else:
            self.wake()

    async def _stop(self, stored: StoredConnector, wishes: Wishes) -> None:
        """STOPPED shows at once; task entries go when the tasks have ended (FACTS 3). Tasks do not wait for the
        connector's own code."""
        await _both(self._rest(stored, wishes), self._stop_tasks())

    async def _stop_tasks(self) -> None:
        await self._tasks.stop_all()
        self._tasks.forget_statuses()

    async def _rest(self, stored: StoredConnector, wishes: Wishes) -> None:
        failed = await self._show_rest(stored, State.STOPPED, wishes)
        await self._retire(stored if failed else None)

    async def _pause(self, stored: StoredConnector, wishes: Wishes) -> None:
        """The instance stops, the tasks stay where they are with the configs they have."""
        self._tasks.pause()
        failed = await self._show_rest(stored, State.PAUSED, wishes)
        await _both(self._retire(stored if failed else None), self._run_paused_tasks(stored, wishes))

    async def _run_paused_tasks(self, stored: StoredConnector, wishes: Wishes) -> None:
        if stored.tasks and await self._resolve(stored):
            await self._run_tasks(stored, paused=True, wishes=wishes)

    async def _run_tasks(self, stored: StoredConnector, paused: bool, wishes: Wishes) -> None:
        """Tasks that run keep the old config while the connector starts with its new one, and if that has failed."""
        assert self._info is not None
        as_they_are = self._instance.failed or self._instance.due
        await self._tasks.run(self._info, stored, paused, restart=wishes.restart_tasks, as_they_are=as_they_are)

    async def _show_rest(self, stored: StoredConnector, state: State, wishes: Wishes) -> bool:
        """Whether FAILED is shown instead: what has failed stays so, and so does what could not be started, as in
        Connect."""
        failed = self._instance.failed and self._instance.config == stored.config and not wishes.restart_connector
        trace = await self._refusal(stored)
        if trace is not None:
            self._board.connector(self.name, State.FAILED, self._version, trace)
        elif not failed:
            self._board.connector(self.name, state, self._version)
        return failed or trace is not None

    async def _refusal(self, stored: StoredConnector) -> str | None:
        """Why this config could not be started at all; learns the plugin's version, which is shown at rest too."""
        try:
            self._info = await self._host.resolve(stored.config.get("connector.class", ""))
            config = await self._host.learned(self.name, stored.config)
        except UnknownPluginError as e:
            return _unknown(e)
        except (HostError, ConfigError, TimeoutError) as e:
            log.warning("%s: whether it could start is not known: %s", self.name, e)
            return None  # it may be able to, later
        try:
            self._tasks.check(self._info, config)
        except ConfigError as e:
            return _trace(e)
        return None

    async def _start(self, stored: StoredConnector, wishes: Wishes) -> None:
        if not await self._resolve(stored):
            return
        await self._renew_instance(stored, wishes)
        if self._instance.due:
            stored = await self._bring_up(stored)
        await self._run_tasks(stored, paused=False, wishes=wishes)

    async def _resolve(self, stored: StoredConnector) -> bool:
        """Find the class; a connector of a class that this worker does not have is FAILED, and says why."""
        try:
            self._info = await self._host.resolve(stored.config.get("connector.class", ""))
        except UnknownPluginError as e:
            self._fail(stored, _unknown(e))
            return False
        except (HostError, ConfigError, TimeoutError) as e:
            if isinstance(e, HostError) and e.temporary:
                raise
            self._fail(stored, _trace(e))
            return False
        self._tasks.version = self._info.version
        return True

    async def _renew_instance(self, stored: StoredConnector, wishes: Wishes) -> None:
        """Replace the instance where its config is not the stored one, or where a restart was asked for."""
        instance = self._instance
        if instance.config != stored.config or instance.at_rest or wishes.restart_connector:
            await self._retire()
            self._instance = Instance(stored.config, due=True)
        elif not instance.failed:
            if wishes.reconfigure:
                instance.ask()
            if instance.started:
                self._board.connector(self.name, State.RUNNING, self._version)
        wishes.restart_connector = wishes.reconfigure = False  # done: not to be repeated when a later step fails

    async def _bring_up(self, stored: StoredConnector) -> StoredConnector:
        """Start the instance, ask for task configs and store them where they, or the connector's config, are new. The
        instance is `due` until all of that has been done."""
        instance = self._instance
        call = instance.call or self._begin(instance)
        await asyncio.wait({call}, timeout=QUICK)
        if not call.done():
            self._wake_after(call)
            return stored
        try:
            configs = call.result()
        except (HostError, ConfigError, TimeoutError) as e:
            self._not_brought_up(stored, e)
            return stored
        if not instance.started:  # its host died right after it
            instance.call = None
            self.wake()
            return stored
        if configs != list(stored.tasks) or (self._applied is not None and self._applied != stored.config):
            await self._configs.put_tasks(self.name, configs)
        self._applied = stored.config
        instance.call, instance.due, instance.again = None, instance.again, False
        if instance.due:
            self.wake()
        return self._configs.connector(self.name) or stored

    def _begin(self, instance: Instance) -> asyncio.Task[TaskConfigs]:
        assert self._info is not None
        call = self._starter.begin(instance, self._info, lambda: self._started(instance))
        if not instance.started:
            asyncio.get_running_loop().call_later(SLOW, self._show_slow, instance)
        return call

    def _started(self, instance: Instance) -> None:
        if self._instance is instance:
            self._board.connector(self.name, State.RUNNING, self._version)

    def _show_slow(self, instance: Instance) -> None:
        if self._instance is instance and instance.busy and not instance.started:
            log.warning("%s: start() of its connector has not returned for %.0f s", self.name, SLOW)
            self._board.connector(self.name, State.UNASSIGNED, self._version)

    def _wake_after(self, call: asyncio.Task[TaskConfigs]) -> None:
        if call is not self._awaited:
            self._awaited = call
            call.add_done_callback(lambda _: self.wake())

    def _not_brought_up(self, stored: StoredConnector, e: HostError | ConfigError | TimeoutError) -> None:
        """Raises what says nothing about this connector: the start is repeated then."""
        if isinstance(e, HostError) and e.temporary:
            self._instance = Instance()
            self._board.connector(self.name, State.UNASSIGNED, self._version)
            raise e
        self._fail(stored, _trace(e))

    async def _retire(self, failed: StoredConnector | None = None) -> None:
        """Stop the instance; `failed`: the config whose failure is still to be remembered."""
        old, self._instance = self._instance, Instance()
        if failed is not None:
            self._instance = Instance(failed.config, failed=True, at_rest=True)
        await old.cancel()
        if old.config is not None and not old.at_rest:
            await self._host.stop_connector(self.name)

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


async def _both(*work: Coroutine[Any, Any, None]) -> None:
    """All of it side by side, to the end; then the first error."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if outcome is not None:
            raise outcome
