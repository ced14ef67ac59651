"""Looks at all connectors every few seconds: tells followers of the events how far they are, whether tasks have
stalled, and which stopped sinks are about to lose their offsets."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from runtime.herder.herder import Herder
from runtime.herder.monitoring.expiry import Expiry
from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.status.events import EventLog
from runtime.herder.status.meter_board import TaskMeter
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.errors import KafkaProblem
from runtime.model.states import TargetState, TaskId

log = logging.getLogger(__name__)

EXPIRY_INTERVAL = 60.0
"""Seconds between two looks at what expires."""

Answer = dict[str, Any]


class ProgressWatch:
    """One `progress` event for each interval in which anything was done, with the connectors that did it."""

    def __init__(
        self, herder: Herder, board: StatusBoard, events: EventLog, stalls: Stalls, expiry: Expiry, every: float,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._herder, self._board, self._events = herder, board, events
        self._stalls, self._expiry, self._every, self._clock = stalls, expiry, every, clock
        self._watching: asyncio.Task[None] | None = None
        self._next_expiry = 0.0

    def start(self) -> None:
        self._watching = asyncio.create_task(self._run(), name="progress")

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def all(self) -> Answer:
        """What is known of every connector, for who begins to follow."""
        return {name: self.of(name) for name in self._board.meters.connectors()}

    def of(self, name: str) -> Answer:
        """`read` and `written` records, those of them that `failed`, `lag` of sinks that run, `age_ms` since a record
        was written last, and tasks that have `stalled`."""
        tasks = self._board.meters.by_task(name)
        live = [meter for number, meter in tasks.items() if self._stalls.is_running(TaskId(name, number))]
        lags = [int(t.now["lag"]) for t in live if t.now.get("lag") is not None]
        newest = max((int(t.now.get("progress_at", -1)) for t in tasks.values()), default=-1)
        return {
            "read": int(sum(t.total("read") for t in tasks.values())),
            "written": int(sum(t.total("written") for t in tasks.values())),
            "failed": sum(task.total["failed"] for task in self._board.errors.by_task(name).values()),
            "lag": {"records": sum(lags), "ms": self._behind(live)} if lags else None,
            "age_ms": None if newest < 0 else max(self._now() - newest, 0),
            "stalled": sorted(self._stalls.stalled(name)),
        }

    def look(self) -> None:
        """Tell what has changed since the last time."""
        changed, self._board.meters.changed = self._board.meters.changed | self._stalls.look(), set()
        known = {name: self.of(name) for name in sorted(changed) if self._board.meters.by_task(name)}
        if known:
            self._events.publish_latest("progress", {"time": self._now(), "connectors": known})

    async def warn(self) -> None:
        """Tell of stopped sinks whose offsets expire soon."""
        for name, words in await self._expiry.warnings(await self._stopped_sinks()):
            log.warning("%s", words)
            self._events.notice("WARN", words, name)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                self.look()
                await self._warn_when_due()
            except Exception:  # the next round may do better; without one nobody would hear of anything any more
                log.exception("Progress could not be told")

    async def _warn_when_due(self) -> None:
        if time.monotonic() < self._next_expiry:
            return
        self._next_expiry = time.monotonic() + EXPIRY_INTERVAL
        try:
            await self.warn()
        except (KafkaProblem, TimeoutError) as e:
            log.info("Whether offsets expire cannot be told now: %s", e)

    async def _stopped_sinks(self) -> list[str]:
        stored = [self._herder.stored(name) for name in self._herder.connectors()]
        stopped = [one for one in stored if one.target is TargetState.STOPPED]
        return [one.name for one in stopped if await self._herder.type(one.config) == "sink"]

    def _behind(self, tasks: list[TaskMeter]) -> int | None:
        """How old the newest record is that the task furthest behind has put."""
        times = [int(t.now["record_time"]) for t in tasks if t.now.get("lag") and int(t.now["record_time"]) >= 0]
        if times:
            return max(self._now() - min(times), 0)
        return None if any(t.now.get("lag") for t in tasks) else 0

    def _now(self) -> int:
        return int(self._clock() * 1000)
