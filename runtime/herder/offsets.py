"""Offsets of connectors: shown at any time, altered and reset while STOPPED (KIP-875)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.herder import assignment
from runtime.herder.errors import BadRequest, Unavailable
from runtime.herder.fleet import Fleet
from runtime.herder.herder import Herder
from runtime.herder.sink_offsets import parse_sink_offsets
from runtime.host.port import HostError, PluginHost
from runtime.kafka.errors import GroupError
from runtime.kafka.groups import Groups
from runtime.storage.configs import StoredConnector
from runtime.storage.offsets import OffsetStore
from runtime.vocabulary import TargetState

Entry = tuple["dict[str, Any] | None", "dict[str, Any] | None"]

_NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
)
_DEFINITE = "The offsets for this connector have been {done} successfully"
_POSSIBLE = (
    "The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
    "connector manages offsets externally, they will need to be manually {done} in the system that the connector uses."
)


class OffsetsDesk:
    """GET, PATCH and DELETE of /connectors/{name}/offsets. Event loop only."""

    def __init__(self, herder: Herder, fleet: Fleet, host: PluginHost, store: OffsetStore, groups: Groups) -> None:
        self._herder, self._fleet, self._host, self._store, self._groups = herder, fleet, host, store, groups

    async def read(self, name: str) -> dict[str, Any]:
        """Offsets in KIP-875's shape; none is an empty list."""
        stored = self._herder.stored(name)
        if await self._is_sink(stored):
            committed = await self._groups.committed(assignment.group_id(name, stored.config))
            return {"offsets": [_sink_entry(t, p, o) for (t, p), o in sorted(committed.items())]}
        await self._store.read_to_end()
        return {"offsets": [{"partition": o.partition, "offset": o.offset} for o in self._store.offsets(name)]}

    async def alter(self, name: str, offsets: Sequence[Entry]) -> dict[str, str]:
        """Set (or, for None, remove) the offsets of these partitions; the connector is asked first."""
        async with self._herder.alone(name):
            stored = await self._stopped(name)
            if await self._is_sink(stored):
                definite = await self._alter_sink(stored, parse_sink_offsets(offsets))
            else:
                definite = await self._alter_source(stored, offsets)
            return _verdict(definite, "altered")

    async def reset(self, name: str) -> dict[str, str]:
        """Remove all offsets; the same again is no error."""
        async with self._herder.alone(name):
            stored = await self._stopped(name)
            reset = self._reset_sink if await self._is_sink(stored) else self._reset_source
            return _verdict(await reset(stored), "reset")

    async def _stopped(self, name: str) -> StoredConnector:
        """The connector, STOPPED and with every task ended."""
        stored = self._herder.stored(name)
        if stored.target is not TargetState.STOPPED or stored.tasks:
            raise BadRequest(_NOT_STOPPED.format(name=name))
        if not await self._fleet.settled(name):
            raise Unavailable(f"Tasks of connector {name} have not ended yet; nothing was changed, try again")
        return stored

    async def _alter_source(self, stored: StoredConnector, offsets: Sequence[Entry]) -> bool:
        definite = await self._ask(self._host.alter_source_offsets(stored.config, list(offsets)))
        await self._store.read_to_end()
        await self._store.alter(stored.name, list(offsets))
        return definite

    async def _reset_source(self, stored: StoredConnector) -> bool:
        await self._store.read_to_end()
        return await self._alter_source(stored, [(o.partition, None) for o in self._store.offsets(stored.name)])

    async def _alter_sink(self, stored: StoredConnector, offsets: Mapping[tuple[str, int], int | None]) -> bool:
        group = assignment.group_id(stored.name, stored.config)
        try:
            await self._groups.check_partitions(tp for tp, o in offsets.items() if o is not None)
            definite = await self._ask(self._host.alter_sink_offsets(stored.config, _triples(offsets)))
            await self._evict_ours(stored.name, group)
            await self._groups.alter(group, {tp: o for tp, o in offsets.items() if o is not None})
            await self._groups.delete_offsets(group, [tp for tp, o in offsets.items() if o is None])
        except GroupError as e:
            raise BadRequest(f"Failed to alter consumer group offsets for connector {stored.name}: {e}") from None
        return definite

    async def _reset_sink(self, stored: StoredConnector) -> bool:
        group = assignment.group_id(stored.name, stored.config)
        try:
            committed = await self._groups.committed(group)
            definite = await self._ask(
                self._host.alter_sink_offsets(stored.config, _triples(dict.fromkeys(committed, None)))
            )
            await self._evict_ours(stored.name, group)
            await self._groups.delete(group)
        except GroupError as e:
            raise BadRequest(f"Failed to reset consumer group offsets for connector {stored.name}: {e}") from None
        return definite

    async def _evict_ours(self, name: str, group: str) -> None:
        """A stopped connector has no members; what is left of it died without leaving."""
        prefix = assignment.client_id("consumer", name, 0)[:-1]
        members = {m.member_id for m in await self._groups.members(group) if m.client_id.startswith(prefix)}
        if members:
            await self._groups.evict(group, members)

    async def _ask(self, hook: Any) -> bool:
        """The connector's answer; what it refuses is refused before anything is written."""
        try:
            return bool(await hook)
        except HostError as e:
            raise BadRequest(_refusal(e)) from None
        except TimeoutError:
            raise Unavailable("The connector did not answer; no offsets were changed") from None

    async def _is_sink(self, stored: StoredConnector) -> bool:
        return (await self._host.resolve(stored.config.get("connector.class", ""))).type == "sink"


def _refusal(e: HostError) -> str:
    if e.kind == "unsupported":
        return f"The connector does not support altering of its offsets: {e.message}"
    return e.message


def _triples(offsets: Mapping[tuple[str, int], int | None]) -> list[tuple[str, int, int | None]]:
    return [(topic, partition, offset) for (topic, partition), offset in offsets.items()]


def _sink_entry(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {"partition": {"kafka_partition": partition, "kafka_topic": topic}, "offset": {"kafka_offset": offset}}


def _verdict(definite: bool, done: str) -> dict[str, str]:
    return {"message": (_DEFINITE if definite else _POSSIBLE).format(done=done)}
