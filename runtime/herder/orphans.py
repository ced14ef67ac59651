"""Offsets that outlived their connectors: a new connector of the same name would go on from them."""

from __future__ import annotations

import asyncio
from typing import Any

from runtime.herder import assignment
from runtime.kafka.groups import Groups
from runtime.storage.configs import ConfigStore
from runtime.storage.offsets import OffsetStore

_GROUP = "connect-"


class Orphans:
    """Finds them. Groups may be of another Connect cluster on the same brokers: the answer names them for a look."""

    def __init__(self, configs: ConfigStore, store: OffsetStore, groups: Groups) -> None:
        self._configs, self._store, self._groups = configs, store, groups

    async def find(self) -> dict[str, Any]:
        """`{"sources": [{"connector","partitions"}], "sinks": [{"connector","group","partitions"}]}`"""
        await asyncio.gather(self._configs.read_to_end(), self._store.read_to_end())
        return {"sources": self._sources(), "sinks": await self._sinks()}

    def _sources(self) -> list[dict[str, Any]]:
        living = set(self._configs.names())
        names = [name for name in self._store.names() if name not in living]
        return [{"connector": name, "partitions": len(self._store.offsets(name))} for name in names]

    async def _sinks(self) -> list[dict[str, Any]]:
        used = set()
        for name in self._configs.names():
            if (stored := self._configs.connector(name)) is not None:
                used.add(assignment.group_id(name, stored.config))
        groups = [g for g in await self._groups.empty_groups() if g.startswith(_GROUP) and g not in used]
        committed = await asyncio.gather(*(self._groups.committed(g) for g in groups[:_MOST]))
        return [
            {"connector": group.removeprefix(_GROUP), "group": group, "partitions": len(offsets)}
            for group, offsets in zip(groups, committed, strict=False)
            if offsets
        ]


_MOST = 200
"""Groups that are asked for their offsets; each is a request of its own."""
