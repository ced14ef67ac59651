"""Builds snapshots from raw answers, and parses only the connectors that have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from tui import model
from tui.cluster.snapshot import ClusterLink, Diff, LinkState, Snapshot

SLICE_SIZE = 500  # connectors parsed before other tasks of the event loop run


class SnapshotBuilder:
    """The connectors of a cluster, raw (`{"status": …, "info": …}`) and parsed, with the time of their last change."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._raw: dict[str, Any] = {}
        self._connectors: dict[str, model.Connector] = {}
        self._since: dict[str, float] = {}
        self._watching = False  # after the first answer: only later changes of state have a known time

    def replace(self, raw: Mapping[str, Any], changed_at: Mapping[str, int] = MappingProxyType({})) -> None:
        """Replaces all connectors by those of a list answer; `changed_at` has the times, in milliseconds since 1970, at
        which their states have changed. Raises MalformedAnswer without changing anything."""
        self._replace(raw, [self._read(name, part) for name, part in raw.items()])
        self._since.update((name, at / 1000) for name, at in changed_at.items() if name in self._raw)

    async def replace_in_slices(self, raw: Mapping[str, Any]) -> None:
        """Like `replace`, in slices, so that the screen stays responsive."""
        parts, found = iter(raw.items()), list[model.Connector | None]()
        while some := list(islice(parts, SLICE_SIZE)):
            found += [self._read(name, part) for name, part in some]
            await asyncio.sleep(0)
        self._replace(raw, found)

    def put(self, name: str, part: Any) -> None:
        """Updates one connector. Raises MalformedAnswer."""
        self._put(name, part, self._read(name, part))

    def _read(self, name: str, part: Any) -> model.Connector | None:
        """The parsed connector; None if it has not changed."""
        known = self._raw.get(name)
        if known is not None and (known is part or known == part):
            return None
        return model.connector(name, part.get("status"), part.get("info"))

    def _replace(self, raw: Mapping[str, Any], found: Sequence[model.Connector | None]) -> None:
        for name in self._raw.keys() - raw.keys():
            self.remove(name)
        for (name, part), now in zip(raw.items(), found, strict=True):
            self._put(name, part, now)
        # Also for unchanged connectors: parts of earlier answers that are kept would fragment the memory.
        self._raw = dict(raw)
        self._watching = True

    def _put(self, name: str, part: Any, now: model.Connector | None) -> None:
        if now is None:
            return
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
    """The difference between two snapshots. Unchanged connectors are the same object, so comparing them is cheap."""
    old, new = before.connectors, now.connectors
    changed = (name for name in old.keys() & new.keys() if old[name] is not new[name])
    # While lost, the time of the next attempt counts as a change; otherwise `heard_at` alone does not.
    lost = now.link.state is LinkState.LOST
    return Diff(
        added=frozenset(new.keys() - old.keys()),
        changed=frozenset(name for name in changed if old[name] != new[name]),
        removed=frozenset(old.keys() - new.keys()),
        link=before.link != now.link if lost else _kind(before.link) != _kind(now.link),
    )


def _kind(link: ClusterLink) -> tuple[LinkState, str]:
    return link.state, link.trouble
