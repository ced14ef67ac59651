"""Passes snapshots, notices and progress of a cluster to subscribers; differences from events at a limited rate."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Any

from tui.cluster.snapshot import ClusterLink, Diff, Notice, Snapshot
from tui.cluster.snapshot_builder import SnapshotBuilder, difference

Subscriber = Callable[[Snapshot, Diff], None]


class SnapshotPublisher:
    """Event loop only. Events within `gather` seconds reach subscribers as one difference; two differences from events
    are at least `spacing` seconds apart, to limit redrawing."""

    def __init__(self, clock: Callable[[], float], gather: float, spacing: float) -> None:
        self.builder = SnapshotBuilder(clock)
        self.snapshot = Snapshot()
        self._gather, self._spacing = gather, spacing
        self._subscribers: list[Subscriber] = []
        self._listeners: list[Callable[[Notice], None]] = []
        self._followers: list[Callable[[Mapping[str, Any]], None]] = []
        self._flush_handle: asyncio.TimerHandle | None = None
        self._flushed_at = -math.inf  # on the loop's clock

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls the subscriber for every change; the returned function ends the subscription."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def on_notice(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Calls the listener for every notice; the returned function ends the subscription."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def on_progress(self, follower: Callable[[Mapping[str, Any]], None]) -> None:
        """Calls the follower with progress by connector: of all connectors first, then of those that advanced."""
        self._followers.append(follower)

    def publish(self, link: ClusterLink) -> None:
        """Takes a new snapshot, and passes the difference to subscribers."""
        before, self.snapshot = self.snapshot, self.builder.snapshot(link)
        diff = difference(before, self.snapshot)
        if diff:
            for subscriber in list(self._subscribers):
                subscriber(self.snapshot, diff)

    def publish_soon(self) -> None:
        """Publishes the builder's changes together with those that follow shortly."""
        if self._flush_handle is None:
            loop = asyncio.get_running_loop()
            at = max(loop.time() + self._gather, self._flushed_at + self._spacing)
            self._flush_handle = loop.call_at(at, self._flush)

    def _flush(self) -> None:
        self._flush_handle = None
        self._flushed_at = asyncio.get_running_loop().time()
        self.publish(self.snapshot.link)

    def progress(self, connectors: Mapping[str, Any]) -> None:
        """Passes progress by connector to followers."""
        for follower in list(self._followers):
            follower(connectors)

    def notify(self, data: Mapping[str, Any]) -> None:
        """Passes the notice in an event to listeners."""
        notice = Notice(
            time=data.get("time", ""),
            level=data.get("level") or "info",
            message=data.get("message") or "",
            connector=data.get("connector") or "",
            task=data.get("task"),
        )
        for listener in list(self._listeners):
            listener(notice)
