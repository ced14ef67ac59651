"""Events of the worker: a bounded log that clients follow.

An event id is `<boot>.<seq>`: an id with another `boot` belongs to an earlier process, and the client needs a snapshot.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

MAX_EVENTS = 2_000
"""How many events are kept for clients that reconnect."""


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """One event. `kind` is `connector`, `removed`, `notice` or `progress`."""

    seq: int
    kind: str
    data: Mapping[str, object]
    own: bool = True  # not copied from another worker


class EventLog:
    """Appends events, which any number of readers can follow. Event loop only."""

    def __init__(self) -> None:
        self.boot = uuid.uuid4().hex[:8]
        self._events: deque[WorkerEvent] = deque(maxlen=MAX_EVENTS)
        self._seq = 0
        self._dropped = 0  # the newest event that is no longer in the log and has not been replaced
        self._news = asyncio.Event()
        self._closed = False

    @property
    def last(self) -> int:
        """Sequence number of the newest event."""
        return self._seq

    def id(self, seq: int) -> str:
        """The id of the event with this sequence number."""
        return f"{self.boot}.{seq}"

    def publish(self, kind: str, data: Mapping[str, object], own: bool = True) -> None:
        """Append an event and wake all readers. Not `own`: another worker has published it."""
        self._seq += 1
        if len(self._events) == MAX_EVENTS:
            self._dropped = self._events[0].seq
        self._events.append(WorkerEvent(self._seq, kind, data, own))
        self._wake()

    def own_notices(self, after: str | None) -> list[Mapping[str, object]]:
        """This worker's own notices after the event with this id; none for an id of an earlier process."""
        point = self.resume_point(after)
        notices = [e for e in self._events if e.kind == "notice" and e.own and point is not None and e.seq > point]
        return [event.data for event in notices]

    def publish_latest(self, kind: str, data: Mapping[str, object]) -> None:
        """Append an event that replaces earlier events of its kind, and of its connector if it names one: followers
        receive each, the log keeps the last."""
        replaced = kind, data.get("name")
        self._events = deque((e for e in self._events if (e.kind, e.data.get("name")) != replaced), MAX_EVENTS)
        self.publish(kind, data)

    def notice(self, level: str, message: str, connector: str | None = None, task: int | None = None) -> None:
        """Publish a message for operators; `level` is INFO, WARN or ERROR."""
        data = {"time": int(time.time() * 1000), "level": level, "connector": connector, "task": task}
        self.publish("notice", {**data, "message": message})

    def resume_point(self, last_id: str | None) -> int | None:
        """The sequence number after which a client with this last id continues; None if it needs a snapshot."""
        boot, _, seq = (last_id or "").partition(".")
        if boot != self.boot or not seq.isdigit():
            return None
        return int(seq) if self._dropped <= int(seq) <= self._seq else None

    async def follow(self, after: int, idle: float) -> AsyncIterator[WorkerEvent | None]:
        """Events with sequence numbers above `after`, without end; None after each `idle` seconds without an event.
        Ends if the log is closed, or if events that the reader has not received are no longer in the log."""
        while not self._closed:
            if after < self._dropped:
                return
            fresh = [e for e in self._events if e.seq > after]
            for event in fresh:
                after = event.seq
                yield event
            if not fresh and not await self._wait(idle):
                yield None

    def close(self) -> None:
        """End all readers."""
        self._closed = True
        self._wake()

    async def _wait(self, idle: float) -> bool:
        try:
            async with asyncio.timeout(idle):
                return await self._news.wait()
        except TimeoutError:
            return False

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
