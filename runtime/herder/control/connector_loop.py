"""One connector's control loop: compares what should run with what runs, and takes the steps between.

The config topic says what should be; nothing else is remembered across a crash. Every step may be repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.control.hosted_connector import HostedConnector
from runtime.herder.control.start_control import StartControl
from runtime.herder.control.tasks import NoLeaseError, Tasks
from runtime.herder.status.status_board import StatusBoard
from runtime.host.port import HostError
from runtime.kafka.errors import KafkaProblem
from runtime.logs import context
from runtime.model.states import State, TargetState, TaskId
from runtime.storage.configs import ConfigStore, StoredConnector

log = logging.getLogger(__name__)

RETRY_DELAY, MAX_RETRY_DELAY = 0.5, 30.0
"""Seconds between attempts at a step that failed for a reason outside the connector."""

_EXPECTED = (KafkaProblem, HostError, TimeoutError, OSError)
"""Reasons that speak for themselves, without a trace."""

SETTLE_TIMEOUT = 30.0
"""Seconds that whoever needs a connector at rest waits for it."""


@dataclass(slots=True)
class PendingRequests:
    """What has been asked for beyond the stored state."""

    restart_connector: bool = False
    restart_tasks: set[int] = field(default_factory=set)
    reconfigure: bool = False

    def add(self, other: PendingRequests) -> None:
        self.restart_connector |= other.restart_connector
        self.restart_tasks |= other.restart_tasks
        self.reconfigure |= other.reconfigure


class ConnectorLoop:
    """Brings one connector to its target state and keeps it there. Event loop only."""

    def __init__(
        self, name: str, configs: ConfigStore, host: ResolvingHost, board: StatusBoard, tasks: Tasks,
        starts: StartControl, on_gone: Callable[[ConnectorLoop], None],
    ) -> None:  # fmt: skip
        self.name, self._on_gone, self._gate = name, on_gone, starts.gate
        self._configs, self._board, self._tasks = configs, board, tasks
        self._hosted = HostedConnector(name, configs, host, board, tasks, starts, self.wake)
        self._wishes = PendingRequests()
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
        self._wishes.add(PendingRequests(connector, tasks))
        self.wake()

    def show_restarting(self, connector: bool, tasks: set[int]) -> None:
        """A restart is about to be done."""
        if connector:
            self._hosted.show(State.RESTARTING)
        for task in tasks:
            self._board.task(TaskId(self.name, task), State.RESTARTING, self._hosted.version)

    def reconfigure(self) -> None:
        """The connector asks for new task configs."""
        self._wishes.reconfigure = True
        self.wake()

    def failed(self, trace: str) -> None:
        """The instance failed by itself."""
        self._hosted.raised(trace)

    def host_lost(self) -> None:
        """The instance ended with its host; start it again."""
        if self._hosted.lost():
            self._wishes.restart_connector = True
            self.wake()

    async def settled(self, within: float = SETTLE_TIMEOUT) -> bool:
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
        return self._hosted.failed

    async def close(self) -> None:
        """Stop following the target state; what runs is left to the caller."""
        self._closing = True
        self.wake()
        await asyncio.gather(self._runner, return_exceptions=True)
        await self._hosted.close()

    def unassign(self) -> None:
        """The worker ends: what it ran belongs to nobody (FACTS 7)."""
        self._tasks.unassign()
        self._hosted.unassign()

    @property
    def tasks(self) -> Tasks:
        return self._tasks

    async def _run(self) -> None:
        context.enter(self.name)
        delay = RETRY_DELAY
        while not (self._closing or self.gone):
            await self._wake.wait()
            self._wake.clear()
            wishes, self._wishes = self._wishes, PendingRequests()
            try:
                await self._step(wishes)
                delay = RETRY_DELAY
            except NoLeaseError:
                self._wishes.add(wishes)
                self._unleased = True  # lease_is_back() wakes; asking for it again and again would be a storm
                if self._tasks.may_run():  # it came back while the rest of the step was carried out
                    self.lease_is_back()
                continue
            except Exception as e:
                self._wishes.add(wishes)
                unexpected = not isinstance(e, _EXPECTED)
                log.warning("%s: %s; trying again in %.1f s", self.name, e, delay, exc_info=unexpected)
                asyncio.get_running_loop().call_later(delay, self.wake)
                delay = min(delay * 2, MAX_RETRY_DELAY)
                continue
            if not self._wake.is_set() and not self._hosted.due:
                self._idle.set()

    async def _step(self, wishes: PendingRequests) -> None:
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
            await self._start_in_turn(stored, wishes)

    async def _start_in_turn(self, stored: StoredConnector, wishes: PendingRequests) -> None:
        async with self._gate.place():
            if self._closing:  # thousands may be waiting: none of them is started any more
                return
            if self._configs.connector(self.name) is stored:
                await self._start(stored, wishes)
            else:  # the config has changed meanwhile
                self._wishes.add(wishes)
                self.wake()

    async def _remove(self) -> None:
        """A new connector of this name waits until the last task has ended: otherwise two tasks would process the same
        records."""
        await _both(self._hosted.retire(), self._tasks.stop_all())
        self._board.remove_connector(self.name)
        self.gone = self._configs.connector(self.name) is None
        if self.gone:
            self._idle.set()
            self._on_gone(self)
        else:
            self.wake()

    async def _stop(self, stored: StoredConnector, wishes: PendingRequests) -> None:
        """STOPPED shows at once; task entries are removed when the tasks have ended (FACTS 3). Tasks do not wait for
        the connector's own code."""
        await _both(self._rest(stored, wishes), self._stop_tasks())

    async def _stop_tasks(self) -> None:
        await self._tasks.stop_all()
        self._tasks.forget_statuses()

    async def _rest(self, stored: StoredConnector, wishes: PendingRequests) -> None:
        failed = await self._hosted.show_rest(stored, State.STOPPED, wishes.restart_connector)
        await self._hosted.retire(stored if failed else None)

    async def _pause(self, stored: StoredConnector, wishes: PendingRequests) -> None:
        """The instance stops, the tasks stay where they are with the configs they have."""
        self._tasks.pause()
        failed = await self._hosted.show_rest(stored, State.PAUSED, wishes.restart_connector)
        await _both(self._hosted.retire(stored if failed else None), self._run_paused_tasks(stored, wishes))

    async def _run_paused_tasks(self, stored: StoredConnector, wishes: PendingRequests) -> None:
        if stored.tasks and await self._hosted.resolve(stored):
            await self._run_tasks(stored, paused=True, wishes=wishes)

    async def _run_tasks(self, stored: StoredConnector, paused: bool, wishes: PendingRequests) -> None:
        """Running tasks keep the old config while the connector starts with the new one, and if that start fails."""
        info = self._hosted.info
        assert info is not None
        as_they_are = self._hosted.failed or self._hosted.due
        await self._tasks.run(info, stored, paused, restart=wishes.restart_tasks, as_they_are=as_they_are)

    async def _start(self, stored: StoredConnector, wishes: PendingRequests) -> None:
        if wishes.restart_connector:
            self._hosted.release()
        if not await self._hosted.resolve(stored):
            return
        await self._hosted.renew(stored, wishes.restart_connector, wishes.reconfigure)
        wishes.restart_connector = wishes.reconfigure = False  # done: not to be repeated when a later step fails
        if self._hosted.due:
            stored = await self._hosted.bring_up(stored)
        await self._run_tasks(stored, paused=False, wishes=wishes)


async def _both(*work: Coroutine[Any, Any, None]) -> None:
    """Run all concurrently to the end, then raise the first error."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if outcome is not None:
            raise outcome
