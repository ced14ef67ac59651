"""The control loop of one connector: moves the running connector and tasks towards the target state.

The config topic holds the target state; no other state survives a crash. Every step may be repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.control.hosted_connector import HostedConnector, PutTasks
from runtime.herder.control.owned_units import OwnedUnits
from runtime.herder.control.start_control import StartControl
from runtime.herder.control.tasks import NoLeaseError, Tasks
from runtime.herder.errors import HerderError
from runtime.herder.status.status_board import StatusBoard
from runtime.host.port import HostError
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.group.protocol import CONNECTOR
from runtime.logs import context
from runtime.model.states import State, TargetState, TaskId
from runtime.storage.configs import ConfigStore, StoredConnector

log = logging.getLogger(__name__)

MAX_RETRY_DELAY = 30.0
"""Seconds, the longest delay between retries of a step."""

_EXPECTED = (KafkaProblem, HostError, HerderError, TimeoutError, OSError)
"""Errors whose message suffices, so they are logged without a trace."""

SETTLE_TIMEOUT = 30.0
"""Seconds that requests wait for a connector to reach its target state."""


@dataclass(slots=True)
class PendingRequests:
    """Requests that are not part of the stored state."""

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
        starts: StartControl, group: OwnedUnits, put_tasks: PutTasks, on_gone: Callable[[ConnectorLoop], None],
    ) -> None:  # fmt: skip
        self.name, self._on_gone, self._starts, self._group = name, on_gone, starts, group
        self._configs, self._board, self._tasks = configs, board, tasks
        self._hosted = HostedConnector(name, configs, host, board, tasks, starts, put_tasks, self.wake)
        self._requests = PendingRequests()
        self._wake, self._idle = asyncio.Event(), asyncio.Event()
        self._closing = self.gone = self._unleased = False
        self._runner = asyncio.create_task(self._run(), name=f"connector {name}")

    def wake(self) -> None:
        """Compare the target state with the running state again."""
        self._idle.clear()
        self._wake.set()

    def lease_regained(self) -> bool:
        """Tasks may be started again. Returns whether this connector has waited for the lease."""
        waited, self._unleased = self._unleased, False
        if waited:
            self.wake()
        return waited

    def restart(self, connector: bool, tasks: set[int]) -> None:
        """Restart the instance, these tasks, or both."""
        self._requests.add(PendingRequests(connector, tasks))
        self.wake()

    def show_restarting(self, connector: bool, tasks: set[int]) -> None:
        """Report RESTARTING, because a restart was requested."""
        if connector:
            self._hosted.show(State.RESTARTING)
        for task in tasks:
            self._board.task(TaskId(self.name, task), State.RESTARTING, self._hosted.version)

    def reconfigure(self) -> None:
        """The connector requests new task configs."""
        self._requests.reconfigure = True
        self.wake()

    def failed(self, trace: str) -> None:
        """The instance reported an error."""
        self._hosted.report_error(trace)

    def host_lost(self) -> None:
        """The instance ended with its host; start it again."""
        if self._hosted.lost():
            self._requests.restart_connector = True
            self.wake()

    async def settled(self, within: float = SETTLE_TIMEOUT) -> bool:
        """Whether all requests so far have been carried out; waits at most `within` seconds."""
        try:
            async with asyncio.timeout(within):
                return await self._idle.wait()
        except TimeoutError:
            return False

    async def has_failed(self, within: float) -> bool:
        """Whether the connector's start has failed, once all requests have been carried out or `within` seconds have
        passed."""
        await self.settled(within)
        return self._hosted.start_failed

    @property
    def starting(self) -> bool:
        """Whether the connector's start() has not returned."""
        return self._hosted.starting

    async def close(self) -> None:
        """Stop the loop; the caller stops the connector's instance and tasks. A step that waits for another worker or
        for Kafka is given up after some time: it may be repeated by the next owner, as after the death of this one."""
        self._closing = True
        self.wake()
        _, waiting = await asyncio.wait({self._runner}, timeout=self._starts.times.close_timeout)
        if waiting:
            log.warning("%s: its last change is not complete; the worker ends without it", self.name)
            self._runner.cancel()
            await asyncio.wait({self._runner})
        await self._hosted.close()

    def unassign(self) -> None:
        """Report connector and tasks as UNASSIGNED, because the worker ends (FACTS.md, 7)."""
        self._tasks.unassign()
        self._hosted.unassign()

    @property
    def revision(self) -> str | None:
        """The revision of the code of the connector's plugins; None before its class was found."""
        return self._hosted.revision

    @property
    def tasks(self) -> Tasks:
        """The connector's tasks."""
        return self._tasks

    async def _run(self) -> None:
        context.enter(self.name)
        delay = self._starts.times.retry_delay
        while not (self._closing or self.gone):
            await self._wake.wait()
            self._wake.clear()
            requested, self._requests = self._requests, PendingRequests()
            try:
                await self._step(requested)
                delay = self._starts.times.retry_delay
            except NoLeaseError:
                self._requests.add(requested)
                self._unleased = True  # lease_regained() wakes the loop, so that loops do not poll for the lease
                if self._tasks.may_run():  # regained during the rest of the step
                    self.lease_regained()
                continue
            except Exception as e:  # the step is repeated
                self._requests.add(requested)
                unexpected = not isinstance(e, _EXPECTED)
                log.warning("%s: %s; retrying in %.1f s", self.name, e, delay, exc_info=unexpected)
                asyncio.get_running_loop().call_later(delay, self.wake)
                delay = min(delay * 2, MAX_RETRY_DELAY)
                continue
            if not self._wake.is_set() and not self._hosted.pending:
                self._idle.set()

    async def _step(self, requested: PendingRequests) -> None:
        if self._closing:
            return
        try:
            await self._approach(requested)
        finally:  # a step that fails again and again must not keep from other workers what has stopped here
            self._release()

    async def _approach(self, requested: PendingRequests) -> None:
        stored = self._configs.connector(self.name)
        if stored is None:
            await self._remove()
            return
        await self._tasks.stop_deleted(stored)
        if not self._group.owns_any(self.name):
            await self._hand_over()
        elif stored.target is TargetState.STOPPED:
            await self._stop(stored, requested)
        else:
            await self._yield_moved(stored)
            await (self._pause if stored.target is TargetState.PAUSED else self._start_in_turn)(stored, requested)

    def _release(self) -> None:
        """Other workers may start what has stopped here."""
        ended = [unit for unit in self._group.units(self.name) if not self._runs(unit)]
        if ended:
            self._group.stopped(self.name, ended)

    def _runs(self, unit: int) -> bool:
        return self._hosted.exists if unit == CONNECTOR else self._tasks.runs(unit)

    async def _start_in_turn(self, stored: StoredConnector, requested: PendingRequests) -> None:
        async with self._starts.gate.admitted():
            if self._closing:  # thousands may have waited for admission
                return
            if self._configs.connector(self.name) is stored and self._group.owns_any(self.name):
                await self._start(stored, requested)
            else:  # the configuration has changed meanwhile
                self._requests.add(requested)
                self.wake()

    async def _remove(self) -> None:
        """A new connector of this name starts only after the last task has ended: otherwise two tasks would process
        the same records."""
        owned = self._group.owns(self.name) or self._board.reports(self.name)  # a rebalance may have been faster
        await _both(self._hosted.retire(), self._tasks.stop_all())
        if owned:
            self._board.remove_connector(self.name)
        else:
            self._tasks.forget_statuses()
        if self._configs.connector(self.name) is None:
            self._release()
            self._end()
        else:
            self.wake()

    async def _hand_over(self) -> None:
        """Everything of this connector runs on other workers now, or tasks that ran here do not exist any more."""
        await _both(self._yield_instance(), self._tasks.yield_all())
        self._tasks.forget_statuses(self._configs.connector(self.name))
        if not self._group.owns_any(self.name):
            self._release()
            self._end()
        else:
            self.wake()

    async def _yield_moved(self, stored: StoredConnector) -> None:
        """Stop what other workers own now, before a start here that may fail or wait."""
        await self._tasks.yield_moved(stored)
        if not self._group.owns(self.name):
            await self._yield_instance()

    async def _yield_instance(self) -> None:
        """Another worker owns the connector now."""
        if self._hosted.exists:
            failed = self._hosted.failed
            await self._hosted.retire()
            if not failed:
                self._hosted.show(State.UNASSIGNED)

    def _end(self) -> None:
        self.gone = True
        self._idle.set()
        self._on_gone(self)

    async def _stop(self, stored: StoredConnector, requested: PendingRequests) -> None:
        """Reports STOPPED at once; task statuses are removed when the tasks have ended (FACTS.md, 3). Tasks do not wait
        for the connector's own code."""
        await _both(self._rest(stored, requested), self._stop_tasks())

    async def _stop_tasks(self) -> None:
        await self._tasks.stop_all()
        self._tasks.forget_statuses()

    async def _rest(self, stored: StoredConnector, requested: PendingRequests) -> None:
        if not self._group.owns(self.name):
            await self._yield_instance()
            return
        failed = await self._hosted.show_rest(stored, State.STOPPED, requested.restart_connector)
        await self._hosted.retire(stored if failed else None)

    async def _pause(self, stored: StoredConnector, requested: PendingRequests) -> None:
        """The instance stops; the tasks keep their slots and configurations."""
        self._tasks.pause()
        failed = False
        if self._group.owns(self.name):
            failed = await self._hosted.show_rest(stored, State.PAUSED, requested.restart_connector)
        else:
            await self._yield_instance()
        await _both(self._hosted.retire(stored if failed else None), self._run_paused_tasks(stored, requested))

    async def _run_paused_tasks(self, stored: StoredConnector, requested: PendingRequests) -> None:
        if not stored.tasks:
            await self._stop_tasks()
        elif await self._resolve(stored):
            await self._run_tasks(stored, paused=True, requested=requested)

    async def _resolve(self, stored: StoredConnector) -> bool:
        """Find the connector class. False if that fails: then the connector is FAILED, or, if another worker owns the
        connector, the tasks here are."""
        if self._group.owns(self.name):
            return await self._hosted.resolve(stored)
        trace = await self._hosted.find(stored)
        if trace is not None:
            self._tasks.refuse(stored, trace)
        return trace is None

    async def _run_tasks(self, stored: StoredConnector, paused: bool, requested: PendingRequests) -> None:
        """Running tasks keep the old configuration while the connector starts with a new one, and if that fails. Only
        the connector's owner knows that; other workers follow the task configs."""
        info = self._hosted.info
        assert info is not None
        limit = self._tasks.limit(stored)  # also of tasks that keep old configurations
        keep_configs = self._hosted.failed or self._hosted.pending
        if not self._group.owns(self.name) and stored.applied is not None:
            stored = replace(stored, config=stored.applied)
        await self._tasks.run(info, stored, paused, requested.restart_tasks, limit, keep_configs)

    async def _start(self, stored: StoredConnector, requested: PendingRequests) -> None:
        if requested.restart_connector:
            self._hosted.release()
        if not await self._resolve(stored):
            return
        if self._group.owns(self.name):
            await self._hosted.renew(stored, requested.restart_connector, requested.reconfigure)
        else:
            await self._yield_instance()
        requested.restart_connector = requested.reconfigure = False  # complete: not repeated if a later step fails
        current = await self._hosted.bring_up(stored) if self._hosted.pending else stored
        if current is not None:
            await self._run_tasks(current, paused=False, requested=requested)


async def _both(*work: Coroutine[Any, Any, None]) -> None:
    """Run all concurrently to the end, then raise the first error."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if outcome is not None:
            raise outcome
