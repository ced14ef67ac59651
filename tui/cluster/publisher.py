"""Snapshots: built from raw responses, of which only changed connectors are parsed, and published to subscribers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from tui import model
from tui.cluster.snapshot import ClusterLink, Diff, LinkState, Notice, Snapshot, changed_names

REST = 40.0  # times the duration of a publication that pass until the next one, in which keys are handled at once
LONGEST = 2.0  # seconds between publications
SLICE_SIZE = 500  # connectors parsed before other tasks of the event loop run


class SnapshotBuilder:
    """The connectors of a cluster, raw (`{"status": …, "info": …}`) and parsed, with the time of their last change."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._raw: dict[str, Any] = {}
        self._connectors: dict[str, model.Connector] = {}
        self._since: dict[str, float] = {}
        self._watching = False  # after the first response: only later changes of state have a known time

    def replace(self, raw: Mapping[str, Any], changed_at: Mapping[str, int] = MappingProxyType({})) -> None:
        """Replaces all connectors by those of a list response; `changed_at` has the times, in milliseconds since 1970,
        at which their states have changed. Raises MalformedResponse without changing anything."""
        self._replace(raw, [self._read(name, part) for name, part in raw.items()])
        self._since.update((name, at / 1000) for name, at in changed_at.items() if name in self._raw)

    async def replace_in_slices(self, raw: Mapping[str, Any]) -> None:
        """Like `replace`, in slices, so that the screen stays responsive."""
        parts, connectors = iter(raw.items()), list[model.Connector | None]()
        while slice_of_parts := list(islice(parts, SLICE_SIZE)):
            connectors += [self._read(name, part) for name, part in slice_of_parts]
            await asyncio.sleep(0)
        self._replace(raw, connectors)

    def put(self, name: str, part: Any) -> None:
        """Updates one connector. Raises MalformedResponse."""
        if (now := self._read(name, part)) is not None:
            self._put(name, part, now)

    def _read(self, name: str, part: Any) -> model.Connector | None:
        """The parsed connector; None if it has not changed."""
        known = self._raw.get(name)
        if known is not None and (known is part or known == part):
            return None
        return model.connector(name, part.get("status"), part.get("info"))

    def _replace(self, raw: Mapping[str, Any], connectors: Sequence[model.Connector | None]) -> None:
        for name in self._raw.keys() - raw.keys():
            self.remove(name)
        for (name, part), now in zip(raw.items(), connectors, strict=True):
            if now is not None:
                self._put(name, part, now)
        # Also for unchanged connectors: parts of earlier responses that are kept would fragment the memory.
        self._raw = dict(raw)
        self._watching = True

    def _put(self, name: str, part: Any, now: model.Connector) -> None:
        before = self._connectors.get(name)
        if self._watching and (before is None or before.overall != now.overall):
            self._since[name] = self._clock()
        self._raw[name], self._connectors[name] = part, now

    def remove(self, name: str) -> None:
        for table in (self._raw, self._connectors, self._since):
            table.pop(name, None)

    def snapshot(self, link: ClusterLink) -> Snapshot:
        return Snapshot(MappingProxyType(dict(self._connectors)), MappingProxyType(dict(self._since)), link)


def difference(before: Snapshot, now: Snapshot) -> Diff:
    """The difference between two snapshots. Unchanged connectors are the same object, so comparing them is cheap. A
    connector that was deleted and created again may differ in the time of its last change alone."""
    old, new, was, since = before.connectors, now.connectors, before.since, now.since
    other = changed_names(old, new)
    added = frozenset(name for name in other if name not in old)
    rest = [name for name in other if name not in added]
    # While lost, the time of the next attempt counts as a change; otherwise `heard_at` alone does not.
    lost = now.link.state is LinkState.LOST
    return Diff(
        added=added,
        changed=frozenset(name for name in rest if old[name] != new[name] or was.get(name) != since.get(name)),
        removed=frozenset(old.keys() - new.keys() if len(new) < len(old) + len(added) else ()),
        link=before.link != now.link if lost else _kind(before.link) != _kind(now.link),
    )


def _kind(link: ClusterLink) -> tuple[LinkState, str]:
    return link.state, link.trouble


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
        self._took = 0.0  # seconds of the last publication

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
            at = max(loop.time() + self._gather, self._flushed_at + max(self._spacing, self._took * REST))
            self._flush_handle = loop.call_at(at, self._flush)

    def _flush(self) -> None:
        self._flush_handle = None
        now = asyncio.get_running_loop().time
        self._flushed_at = now()
        self.publish(self.snapshot.link)
        self._took = min(now() - self._flushed_at, LONGEST / REST)

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
