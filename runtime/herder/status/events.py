"""What happened, for whoever watches: a bounded log with ids that survive neither restart nor guessing.

An id is `<boot>.<seq>`: the boot tells a client that its last id is of another process, and that it needs a snapshot.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

MAX_EVENTS = 2_000
"""Events that a client may have missed and still get one by one."""


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """One event. `kind` is connector, removed, notice or progress."""

    seq: int
    kind: str
    data: dict[str, Any]


class EventLog:
    """Appends events and lets any number of readers follow. Event loop only."""

    def __init__(self) -> None:
        self.boot = uuid.uuid4().hex[:8]
        self._events: deque[WorkerEvent] = deque(maxlen=MAX_EVENTS)
        self._seq = 0
        self._news = asyncio.Event()
        self._closed = False

    @property
    def last(self) -> int:
        """Sequence number of the newest event."""
        return self._seq

    def id(self, seq: int) -> str:
        return f"{self.boot}.{seq}"

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        self._seq += 1
        self._events.append(WorkerEvent(self._seq, kind, data))
        self._wake()

    def publish_latest(self, kind: str, data: dict[str, Any]) -> None:
        """An event that takes the place of the one of its kind before it: followers get each, the log keeps one."""
        self._events = deque((e for e in self._events if e.kind != kind), MAX_EVENTS)
        self.publish(kind, data)

    def notice(self, level: str, message: str, connector: str | None = None, task: int | None = None) -> None:
        """A line worth an operator's eye."""
        data = {"time": int(time.time() * 1000), "level": level, "connector": connector, "task": task}
        self.publish("notice", {**data, "message": message})

    def resume_point(self, last_id: str | None) -> int | None:
        """The sequence number to go on from after `last_id`; None when the client needs a snapshot."""
        boot, _, seq = (last_id or "").partition(".")
        if boot != self.boot or not seq.isdigit():
            return None
        oldest = self._events[0].seq if self._events else self._seq + 1
        return int(seq) if oldest - 1 <= int(seq) <= self._seq else None

    async def follow(self, after: int, idle: float) -> AsyncIterator[WorkerEvent | None]:
        """Events after `after`, for ever; None when `idle` seconds have brought none. Ends when the log closes
        or when the reader has fallen behind further than the log reaches."""
        while not self._closed:
            if self._events and self._events[0].seq > after + 1:
                return
            fresh = [e for e in self._events if e.seq > after]
            for event in fresh:
                after = event.seq
                yield event
            if not fresh and not await self._wait(idle):
                yield None

    def close(self) -> None:
        """Let every follower end."""
        self._closed = True
        self._wake()

    async def _wait(self, idle: float) -> bool:
        try:
            await asyncio.wait_for(self._news.wait(), idle)
        except TimeoutError:
            return False
        return True

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
