"""Orphaned offsets: their connector no longer exists, and a new connector of the same name would continue from them."""

from __future__ import annotations

import asyncio

from runtime.api.errors import ConfigError
from runtime.herder.configs import task_specs
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.errors import Conflict, NotFound
from runtime.herder.herder import Herder
from runtime.herder.offsets.offset_change import OffsetChanges, StepRefused
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.herder.responses import MessageResponse, OrphanedSinkResponse, OrphanedSourceResponse, OrphansResponse
from runtime.kafka.groups import Groups
from runtime.storage.configs import ConfigStore
from runtime.storage.journal import ChangeOrigin, OffsetAction, PlannedChange
from runtime.storage.offsets import OffsetStore

_GROUP = "connect-"


class Orphans:
    """Finds and removes orphaned offsets. A group may belong to another Connect cluster on the same brokers, so a group
    is removed only if the request names it."""

    def __init__(
        self, herder: Herder, changes: OffsetChanges, configs: ConfigStore, store: OffsetStore, offsets: StoredOffsets,
        groups: Groups, host: ResolvingHost,
    ) -> None:  # fmt: skip
        self._herder, self._changes, self._offsets, self._host = herder, changes, offsets, host
        self._configs, self._store, self._groups = configs, store, groups

    async def find(self) -> OrphansResponse:
        """`{"sources": [{"connector","partitions"}], "sinks": [{"connector","group","partitions"}]}`"""
        await asyncio.gather(self._configs.read_to_end(), self._store.read_to_end())
        return {"sources": self._sources(), "sinks": await self._sinks()}

    async def remove(self, name: str, group: str | None, origin: ChangeOrigin) -> MessageResponse:
        """Remove the source offsets of a deleted connector, or the sink's `group` if named. The change is journaled:
        it appears in the history, and is finished after a crash. Conflict if the offsets are in use, NotFound if there
        are no offsets."""
        async with self._herder.exclusive(name):
            await self._configs.read_to_end()
            if self._configs.connector(name) is not None:
                raise Conflict(f"Connector {name} exists: its offsets are not orphaned")
            if group is not None and not await self._is_orphan(group):
                raise Conflict(f"Group {group} is not orphaned: it is in use, or does not belong to a sink connector")
            before = tuple(await self._offsets.read(name, group))
            if not before:
                raise NotFound(f"There are no orphaned offsets of a connector {name}")
            removed = tuple((partition, None) for partition, _ in before)
            try:
                await self._changes.carry_out(
                    PlannedChange(name, OffsetAction.RESET, removed, before, group, origin=origin)
                )
            except StepRefused as e:
                raise Conflict(f"The offsets of {name} could not be removed: {e}") from None
            return {"message": f"The orphaned offsets of connector {name} have been removed"}

    async def _is_orphan(self, group: str) -> bool:
        if not group.startswith(_GROUP) or group in await self._used():
            return False
        return group in await self._groups.empty_groups()

    def _sources(self) -> list[OrphanedSourceResponse]:
        existing = set(self._configs.names())
        names = [name for name in self._store.names() if name not in existing]
        return [{"connector": name, "partitions": len(self._store.offsets(name))} for name in names]

    async def _sinks(self) -> list[OrphanedSinkResponse]:
        used = await self._used()
        groups = [g for g in await self._groups.empty_groups() if g.startswith(_GROUP) and g not in used]
        committed = await asyncio.gather(*(self._groups.committed(g) for g in groups[:_MAX_GROUPS]))
        return [
            {"connector": group.removeprefix(_GROUP), "group": group, "partitions": len(offsets)}
            for group, offsets in zip(groups, committed, strict=False)
            if offsets
        ]

    async def _used(self) -> set[str]:
        """Groups of all connectors. Conflict if one of them cannot be determined, since that group would look
        orphaned."""
        return {await self._group(name) for name in self._configs.names()}

    async def _group(self, name: str) -> str:
        stored = self._configs.connector(name)
        try:
            own = None if stored is None else await self._host.value(stored.config, task_specs.GROUP)
        except ConfigError as e:
            raise Conflict(
                f"The group of connector {name} cannot be determined, so orphaned groups are unknown: {e}"
            ) from None
        return task_specs.group_id(name, {} if own is None else {task_specs.GROUP: own})


_MAX_GROUPS = 200
"""Groups whose offsets are read; each group requires a separate request."""
