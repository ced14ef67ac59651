"""Periodic checks: publishes progress and stalled tasks, and warns of stopped sinks whose offsets expire."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from runtime.herder.herder import Herder
from runtime.herder.monitoring.expiry import Expiry
from runtime.herder.monitoring.progress_history import ProgressHistory
from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.responses import LagResponse, ProgressResponse, RateLimitResponse
from runtime.herder.status.events import EventLog
from runtime.herder.status.meter_board import TaskMeter
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.errors import KafkaProblem
from runtime.model.rate_limit import UNLIMITED, RateLimit
from runtime.model.states import TargetState, TaskId
from runtime.system.repeating import repeat

log = logging.getLogger(__name__)

EXPIRY_INTERVAL = 60.0
"""Seconds between two checks for offsets that expire."""


class ProgressWatch:
    """Publishes a `progress` event for each interval in which connectors made progress. Event loop only."""

    def __init__(
        self, herder: Herder, board: StatusBoard, events: EventLog, stalls: Stalls, expiry: Expiry, every: float,
        limit_of: Callable[[str], RateLimit], clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._herder, self._board, self._events = herder, board, events
        self._stalls, self._expiry, self._every, self._clock = stalls, expiry, every, clock
        self._limit_of = limit_of
        self._watching: asyncio.Task[None] | None = None
        self._elsewhere: Mapping[str, Mapping[str, ProgressResponse]] = {}  # by worker and connector
        self._next_expiry = 0.0
        self.history = ProgressHistory(every)

    def start(self) -> None:
        """Start the periodic checks."""
        self._watching = asyncio.create_task(
            repeat(self._publish, self._every, "publish the progress of connectors"), name="progress"
        )

    def close(self) -> None:
        """Stop the periodic checks."""
        if self._watching is not None:
            self._watching.cancel()

    def all(self) -> dict[str, ProgressResponse]:
        """The progress of every connector, for a client that starts to follow the events."""
        names = dict.fromkeys(
            [*self._board.meters.connectors(), *(n for connectors in self._elsewhere.values() for n in connectors)]
        )
        return {name: self.everywhere(name) for name in names}

    def own(self) -> dict[str, ProgressResponse]:
        """The progress of the tasks on this worker, by connector."""
        return {name: self.of(name) for name in self._board.meters.connectors()}

    def reported(self, elsewhere: Mapping[str, Mapping[str, ProgressResponse]]) -> None:
        """The progress on the other workers, by worker and connector, has been collected."""
        before = {
            (worker, name): progress
            for worker, connectors in self._elsewhere.items()
            for name, progress in connectors.items()
        }
        for worker, connectors in elsewhere.items():
            self._board.meters.changed |= {
                name for name, progress in connectors.items() if before.get((worker, name)) != progress
            }
        self._elsewhere = elsewhere

    def everywhere(self, name: str) -> ProgressResponse:
        """The progress of a connector on all workers."""
        return merged(
            [self.of(name), *(connectors[name] for connectors in self._elsewhere.values() if name in connectors)]
        )

    def of(self, name: str) -> ProgressResponse:
        """Counts of `read`, `written` and `failed` records, the `lag` of a running sink, `age_ms` since the last record
        was written, and the `stalled` tasks."""
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
            "limit": self._limit(name),
            "throttled_ms": int(sum(t.total("throttled_ms") for t in tasks.values())),
        }

    def _limit(self, name: str) -> RateLimitResponse | None:
        limit = self._limit_of(name)
        return None if limit == UNLIMITED else {"records": limit.records, "bytes": limit.bytes}

    def publish_changes(self) -> None:
        """Publish the progress of connectors that have changed since the last call."""
        changed, self._board.meters.changed = self._board.meters.changed | self._stalls.check(), set()
        self.history.keep(self._board.meters.connectors())
        for name in changed.intersection(self._board.meters.connectors()):
            self.history.add(name, self._now(), self.of(name))
        known = {name: self.everywhere(name) for name in sorted(changed) if self._has_progress(name)}
        if known:
            self._events.publish_latest("progress", {"time": self._now(), "connectors": known})

    def _has_progress(self, name: str) -> bool:
        return bool(self._board.meters.by_task(name)) or any(
            name in connectors for connectors in self._elsewhere.values()
        )

    async def warn(self) -> None:
        """Warn of stopped sinks whose offsets expire soon."""
        for name, warning in await self._expiry.warnings(await self._stopped_sinks()):
            log.warning("%s", warning)
            self._events.notice("WARN", warning, name)

    async def _publish(self) -> None:
        self.publish_changes()
        await self._warn_when_due()

    async def _warn_when_due(self) -> None:
        if time.monotonic() < self._next_expiry:
            return
        self._next_expiry = time.monotonic() + EXPIRY_INTERVAL
        try:
            await self.warn()
        except (KafkaProblem, TimeoutError) as e:
            log.info("Cannot check which offsets expire, retrying in %.0f s: %s", EXPIRY_INTERVAL, e)

    async def _stopped_sinks(self) -> list[str]:
        stored = [self._herder.stored(name) for name in self._herder.connectors()]
        stopped = [connector for connector in stored if connector.target is TargetState.STOPPED]
        return [connector.name for connector in stopped if await self._herder.type(connector.config) == "sink"]

    def _behind(self, tasks: list[TaskMeter]) -> int | None:
        """Milliseconds since the timestamp of the newest record written by the task that is furthest behind."""
        times = [int(t.now["record_time"]) for t in tasks if t.now.get("lag") and int(t.now["record_time"]) >= 0]
        if times:
            return max(self._now() - min(times), 0)
        return None if any(t.now.get("lag") for t in tasks) else 0

    def _now(self) -> int:
        return int(self._clock() * 1000)


def merged(parts: Sequence[ProgressResponse]) -> ProgressResponse:
    """The progress of the tasks of one connector on several workers."""
    lags = [part["lag"] for part in parts if part["lag"] is not None]
    behind = [lag["ms"] for lag in lags]
    unknown = any(ms is None for ms in behind)
    ages = [part["age_ms"] for part in parts if part["age_ms"] is not None]
    lag: LagResponse = {
        "records": sum(lag["records"] for lag in lags),
        "ms": None if unknown else max((ms for ms in behind if ms is not None), default=0),
    }
    return {
        "read": sum(part["read"] for part in parts),
        "written": sum(part["written"] for part in parts),
        "failed": sum(part["failed"] for part in parts),
        "lag": lag if lags else None,
        "age_ms": min(ages, default=None),
        "stalled": sorted({task for part in parts for task in part["stalled"]}),
        "limit": next((part["limit"] for part in parts if part["limit"] is not None), None),
        "throttled_ms": sum(part["throttled_ms"] for part in parts),
    }
