"""Offsets that outlived their connectors: a new connector of the same name would go on from them."""

from __future__ import annotations

import asyncio
from typing import Any

from runtime.api.errors import ConfigError
from runtime.herder.configs import task_specs
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.errors import Conflict, NotFound
from runtime.herder.herder import Herder
from runtime.herder.offsets.offset_change import OffsetChanges, StepRefused
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.kafka.groups import Groups
from runtime.storage.configs import ConfigStore
from runtime.storage.journal import ChangeOrigin, OffsetAction, PlannedChange
from runtime.storage.offsets import OffsetStore

_GROUP = "connect-"


class Orphans:
    """Finds and removes them. Groups may be of another Connect cluster on the same brokers: the answer names them for a
    look, and only a group that is named is removed."""

    def __init__(
        self, herder: Herder, changes: OffsetChanges, configs: ConfigStore, store: OffsetStore, places: StoredOffsets,
        groups: Groups, host: ResolvingHost,
    ) -> None:  # fmt: skip
        self._herder, self._changes, self._places, self._host = herder, changes, places, host
        self._configs, self._store, self._groups = configs, store, groups

    async def find(self) -> dict[str, Any]:
        """`{"sources": [{"connector","partitions"}], "sinks": [{"connector","group","partitions"}]}`"""
        await asyncio.gather(self._configs.read_to_end(), self._store.read_to_end())
        return {"sources": self._sources(), "sinks": await self._sinks()}

    async def remove(self, name: str, group: str | None, origin: ChangeOrigin) -> dict[str, Any]:
        """The source offsets of a connector that is gone, or, where one is named, a sink's group. The change goes
        through the journal: it can be looked up, and a crash does not leave half of it."""
        async with self._herder.alone(name):
            await self._configs.read_to_end()
            if self._configs.connector(name) is not None:
                raise Conflict(f"Connector {name} exists: its offsets are no orphans")
            if group is not None and not await self._is_orphan(group):
                raise Conflict(f"Group {group} is no orphan: it is in use, or not one of a sink connector")
            before = tuple(await self._places.read(name, group))
            if not before:
                raise NotFound(f"No offsets of a connector {name} are left over")
            gone = tuple((partition, None) for partition, _ in before)
            try:
                await self._changes.carry_out(
                    PlannedChange(name, OffsetAction.RESET, gone, before, group, origin=origin)
                )
            except StepRefused as e:
                raise Conflict(f"The offsets of {name} cannot be removed: {e}") from None
            return {"message": f"The offsets left over by connector {name} have been removed"}

    async def _is_orphan(self, group: str) -> bool:
        if not group.startswith(_GROUP) or group in await self._used():
            return False
        return group in await self._groups.empty_groups()

    def _sources(self) -> list[dict[str, Any]]:
        living = set(self._configs.names())
        names = [name for name in self._store.names() if name not in living]
        return [{"connector": name, "partitions": len(self._store.offsets(name))} for name in names]

    async def _sinks(self) -> list[dict[str, Any]]:
        used = await self._used()
        groups = [g for g in await self._groups.empty_groups() if g.startswith(_GROUP) and g not in used]
        committed = await asyncio.gather(*(self._groups.committed(g) for g in groups[:_MAX_GROUPS]))
        return [
            {"connector": group.removeprefix(_GROUP), "group": group, "partitions": len(offsets)}
            for group, offsets in zip(groups, committed, strict=False)
            if offsets
        ]

    async def _used(self) -> set[str]:
        """Groups of all connectors. Conflict if one of them cannot be determined, since any group might be that one."""
        return {await self._group(name) for name in self._configs.names()}

    async def _group(self, name: str) -> str:
        stored = self._configs.connector(name)
        try:
            own = None if stored is None else await self._host.value(stored.config, task_specs.GROUP)
        except ConfigError as e:
            raise Conflict(
                f"The group of connector {name} is not known, so orphaned groups cannot be determined: {e}"
            ) from None
        return task_specs.group_id(name, {} if own is None else {task_specs.GROUP: own})


_MAX_GROUPS = 200
"""Groups that are asked for their offsets; each is a request of its own."""
