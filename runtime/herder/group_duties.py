"""The duties of a worker after a rebalance of its group, and its duties as the leader."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection

from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import Conflict
from runtime.herder.group.assignor import Unit
from runtime.herder.group.task_loads import TaskLoads
from runtime.herder.offsets.offset_change import OffsetChanges
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import ACTIVE, TaskId
from runtime.storage.statuses import StatusStore
from runtime.system.repeating import repeat

_log = logging.getLogger(__name__)

REMAINS_DELAY = 5.0
"""Seconds after a rebalance or a late report, after which the statuses of deleted connectors are removed. Workers that
still stop such a connector, or had already handed it over, have reported by then."""

SWEEP_INTERVAL = 300.0
"""Seconds after which a leader removes the task configs of connectors that were deleted meanwhile."""

_OTHER_GROUP = (
    "Connector %s runs on this worker, and also on %s, which is not in this group: each group.id needs its own "
    "config.storage.topic, offset.storage.topic and status.storage.topic"
)


class GroupDuties:
    """A GroupListener. Event loop only. Duties of the leader begin when the stores have been read (start())."""

    def __init__(
        self, connectors: Connectors, statuses: StatusStore, board: StatusBoard, changes: OffsetChanges,
        loads: TaskLoads, read_stores: Callable[[], Awaitable[None]], remains_delay: float = REMAINS_DELAY,
        sweep_interval: float = SWEEP_INTERVAL,
    ) -> None:  # fmt: skip
        """`read_stores` applies everything that is in the config topic and the journal now."""
        self._connectors, self._statuses, self._board, self._changes = connectors, statuses, board, changes
        self._loads, self._read_stores = loads, read_stores
        self._remains_delay, self._sweep_interval = remains_delay, sweep_interval
        self._leads = self._started = False
        self._others: set[str] = set()  # workers of other groups
        self._on_refused: Callable[[str], None] = _log.error
        self._beginning: asyncio.Task[None] | None = None
        self._cleaning: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._sweep_now = asyncio.Event()

    def subscribe(self, on_refused: Callable[[str], None]) -> None:
        """Call this function with the reason if the worker must end."""
        self._on_refused = on_refused

    # GroupListener

    def entered(self, generation: int) -> None:
        self._board.joined(generation)

    def ownership_changed(self) -> None:
        self._connectors.ownership_changed()

    def members_read(self) -> None:
        self._connectors.remove_ghosts()

    def leading(self, leads: bool, unassigned: Collection[Unit]) -> None:
        began, self._leads = leads and not self._leads, leads
        if not leads:
            self._changes.close()
        elif began and self._started:
            self._begin()
        if leads:
            self._unassign(unassigned)
            self._clean()

    def _unassign(self, units: Collection[Unit]) -> None:
        """Report units whose last worker has left as UNASSIGNED: the worker cannot do that any more."""
        for unit in units:
            if unit.task == CONNECTOR:
                status = self._statuses.connector_status(unit.connector)
            else:
                status = self._statuses.task_status(TaskId(unit.connector, unit.task))
            if status is not None and status.state in ACTIVE:
                self._board.lost(unit.connector, None if unit.task == CONNECTOR else unit.task, status)

    def refused(self, reason: str) -> None:
        self._on_refused(reason)

    async def start(self) -> None:
        """The worker is about to start its connectors. Publishes what other workers report from now on. The first
        leader of a cluster finishes the changes of offsets before any connector starts."""
        self._started = True
        self._loads.start()
        self._statuses.subscribe(self._changed_elsewhere, self._connectors.topics_reset)
        purpose = "remove the task configs of deleted connectors"
        self._sweeping = asyncio.create_task(
            repeat(self._sweep, self._sweep_interval, purpose, self._sweep_now), name="sweep"
        )
        if self._leads:
            await self._begin()

    def _changed_elsewhere(self, name: str, removed: bool) -> None:
        self._connectors.report_again(name)
        self._warn_of_groups(name)
        is_gone = removed and self._statuses.connector_status(name) is None  # otherwise it has been reported again
        self._board.changed_elsewhere(name, is_gone)
        if self._leads and not self._connectors.is_stored(name):
            self._clean()

    def _warn_of_groups(self, name: str) -> None:
        """Two groups with the same storage topics run each connector twice."""
        other = self._connectors.runs_in_another_group(name)
        if other and other not in self._others:
            self._others.add(other)
            _log.error(_OTHER_GROUP, name, other)

    def _begin(self) -> asyncio.Task[None]:
        self._beginning = asyncio.create_task(self._lead(), name="lead")
        return self._beginning

    async def _lead(self) -> None:
        """Take over as the leader: finish the changes of offsets that the last leader started, and remove the statuses
        of deleted connectors; their task configs follow."""
        is_read = await self._read()
        if not await self._changes.finish() and self._leads:
            self._changes.finish_later()
        if is_read and self._leads:
            self._connectors.remove_statuses()
            self._sweep_now.set()

    async def _read(self) -> bool:
        """A connector that is not read yet would look deleted."""
        try:
            await self._read_stores()
        except KafkaProblem as e:  # the stores follow the topics anyway, so this is the last leader's last second
            _log.warning("Cannot read what earlier leaders have written: %s", e)
            return False
        return True

    async def _sweep(self) -> None:
        """Where connectors come and go, their task configs would grow without limit in the topic and in memory."""
        if self._leads and await self._read() and self._leads:
            try:
                await self._connectors.remove_task_configs()
            except (KafkaProblem, Conflict) as e:  # the next sweep, or the next leader, removes them
                _log.warning("Cannot remove the task configs of deleted connectors: %s", e)

    def _clean(self) -> None:
        """Remove the statuses of deleted connectors later, if there are some: nobody owned a connector that was deleted
        between two rebalances, and a worker that has handed a connector over may report after its deletion."""
        idle = self._cleaning is None or self._cleaning.done()
        if self._started and idle and self._connectors.has_remains():
            self._cleaning = asyncio.create_task(self._clean_up(), name="remains")

    async def _clean_up(self) -> None:
        while self._leads and self._connectors.has_remains():
            await asyncio.sleep(self._remains_delay)
            if await self._read() and self._leads:
                self._connectors.remove_statuses()

    def close(self) -> None:
        """The worker ends."""
        self._loads.close()
        for task in (self._beginning, self._cleaning, self._sweeping):
            if task is not None:
                task.cancel()
        self._changes.close()
