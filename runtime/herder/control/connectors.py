"""All connectors of the worker, a control loop each, and what host and engine report about them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.engine.port import TaskStack
from runtime.herder.control.connector_loop import SETTLE_TIMEOUT, ConnectorLoop
from runtime.herder.control.crash_loop import CrashLoopGuard
from runtime.herder.control.start_control import StartControl
from runtime.herder.control.tasks import Tasks, TaskServices
from runtime.herder.status.status_board import StatusBoard
from runtime.model.states import State, TaskId
from runtime.storage.configs import ConfigStore
from runtime.storage.statuses import StatusStore

log = logging.getLogger(__name__)

YIELD_EVERY = 50  # connectors after which other work of the worker may run
STACK_TIMEOUT = 5.0  # seconds for a slot to say where a task is


class Connectors:
    """Starts a loop for every stored connector. Hears the plugin host and the engine (HostListener, EngineListener)."""

    def __init__(
        self, configs: ConfigStore, statuses: StatusStore, board: StatusBoard, crashes: CrashLoopGuard | None = None
    ) -> None:
        self._configs, self._statuses, self._board = configs, statuses, board
        self._parts: TaskServices | None = None
        self._loops: dict[str, ConnectorLoop] = {}
        self._starts = StartControl(crashes)

    def start(self, parts: TaskServices) -> None:
        """Begin to start connectors according to the config topic."""
        self._parts = parts

    async def take_over(self) -> None:
        """Start a loop for each stored connector, and remove statuses of connectors that are no longer stored."""
        await self._starts.crashes.begin()
        for name in self._statuses.connectors():
            if self._configs.connector(name) is None:
                self._board.remove_connector(name)
        for number, name in enumerate(self._configs.names()):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            if name not in self._loops:  # the connector may have changed meanwhile
                self._disown(name)
                self.look(name)

    def _disown(self, name: str) -> None:
        """Whatever ran this connector's tasks before is gone."""
        for task, status in self._statuses.task_statuses(name).items():
            self._board.task(TaskId(name, task), State.UNASSIGNED, status.version)

    def look(self, name: str) -> None:
        """The config topic says something new about this connector."""
        if self._parts is None:
            return
        loop = self._loops.get(name)
        if loop is None or loop.gone:
            if self._configs.connector(name) is None:
                return
            tasks = Tasks(name, self._parts)
            loop = ConnectorLoop(name, self._configs, self._parts.host, self._board, tasks, self._starts, self._forget)
            self._loops[name] = loop
        loop.wake()

    def _forget(self, loop: ConnectorLoop) -> None:
        """The connector has been deleted, and its tasks have ended."""
        if self._loops.get(loop.name) is loop:
            del self._loops[loop.name]
            self._starts.forget(loop.name)

    def restart(self, name: str, connector: bool, tasks: set[int]) -> None:
        loop = self._loops.get(name)
        if loop is not None:
            loop.restart(connector, tasks)

    async def fails(self, name: str, within: float) -> bool:
        """Whether a connector that has just been asked to start has failed; waits so long for it at the most."""
        loop = self._loops.get(name)
        return loop is not None and await loop.fails(within)

    async def stack(self, task: TaskId) -> TaskStack | None:
        """Where a task's thread is; None when it runs nowhere."""
        return None if self._parts is None else await self._parts.engine.stack(task, STACK_TIMEOUT)

    def restart_shown(self, name: str, connector: bool, tasks: set[int]) -> None:
        """As restart(), with RESTARTING as the state until it is done."""
        loop = self._loops.get(name)
        if loop is not None and (connector or tasks):
            loop.show_restarting(connector, tasks)
            loop.restart(connector, tasks)

    def forget_topics(self, name: str) -> None:
        self._with(name, lambda loop: loop.tasks.forget_topics())

    async def settled(self, name: str, within: float = SETTLE_TIMEOUT) -> bool:
        """Whether a connector has reached its target state; waits for it, but not for ever."""
        loop = self._loops.get(name)
        return loop is None or await loop.settled(within)

    async def close(self) -> None:
        """Stop all loops; what they ran belongs to nobody."""
        loops, self._loops = list(self._loops.values()), {}
        closing = []
        for number, loop in enumerate(loops):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            closing.append(asyncio.create_task(loop.close()))
        await asyncio.gather(*closing)
        for number, loop in enumerate(loops):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            loop.unassign()
        await self._starts.crashes.close()

    # HostListener

    def reconfigure(self, connector: str) -> None:
        self._with(connector, lambda loop: loop.reconfigure())

    def connector_failed(self, connector: str, trace: str) -> None:
        self._with(connector, lambda loop: loop.failed(trace))

    def connectors_lost(self, connectors: Sequence[str], reason: str) -> None:
        for name in connectors:
            self._with(name, lambda loop: loop.host_lost())

    # EngineListener

    def task_state(self, task: TaskId, epoch: int, state: State, trace: str | None) -> None:
        self._with(task.connector, lambda loop: loop.tasks.state(task.task, epoch, state, trace))

    def task_topic(self, task: TaskId, epoch: int, topic: str) -> None:
        self._board.topic(task, topic)

    def task_errors(self, task: TaskId, epoch: int, counts: Mapping[str, Any]) -> None:
        if self._configs.connector(task.connector) is not None:
            self._board.errors.report(task, epoch, counts)

    def task_meter(self, task: TaskId, epoch: int, meter: Mapping[str, Any]) -> None:
        if self._configs.connector(task.connector) is not None:
            self._board.meters.report(task, epoch, meter)

    async def task_offsets(self, task: TaskId, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        assert self._parts is not None
        await self._parts.offsets.commit(records)

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        log.warning("%s was lost (%s); handing it out again", task, reason)
        loop = self._loops.get(task.connector)
        if loop is not None and loop.tasks.lost(task.task, epoch, member_id):
            loop.wake()

    def task_stuck(self, task: TaskId, epoch: int, call: str, seconds: float) -> None:
        if call:
            self._board.notice("WARN", f"{task} is STUCK: {call} has not returned for {seconds:.0f} s", task)
        else:
            self._board.notice("INFO", f"{task} is not stuck any more", task)

    def lease_changed(self, held: bool) -> None:
        """Connectors whose tasks had to wait for the lease go on."""
        if held:
            waited = sum(loop.lease_is_back() for loop in self._loops.values())
            if waited:
                log.info("This worker's place in its group is confirmed; %d connectors go on", waited)
        elif self._loops:
            log.warning("This worker's place in its group is not confirmed; its tasks wait until it is")

    def slots_changed(self) -> None:
        """Nothing to do: tasks that wait for a slot are the engine's."""

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """A line from a slot goes where the worker's own lines go."""
        number = logging.getLevelNamesMapping().get(level, logging.INFO)
        logging.getLogger(logger).log(number, "%s", message, extra={"context": context})

    def _with(self, connector: str, act: Callable[[ConnectorLoop], None]) -> None:
        loop = self._loops.get(connector)
        if loop is not None:
            act(loop)
