"""Simulated consumer groups of sinks (the interface of runtime.kafka.groups.Groups), and positions in topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from runtime.kafka.errors import BrokerUnavailable, GroupNotEmpty
from tests.simulation.kafka import Kafka
from tests.simulation.logs import within
from tests.simulation.network import Network

Positions = Mapping[tuple[str, int], int]


class Evicted(Exception):
    """The group does not count the consumer as a member any more."""


@dataclass
class ConsumerGroups:
    """The members of all consumer groups at the broker: client ids by member id, in the order of joining."""

    kafka: Kafka
    members: dict[str, dict[str, str]] = field(default_factory=dict)

    def join(self, group: str, member_id: str, client_id: str) -> None:
        self.members.setdefault(group, {})[member_id] = client_id

    def leave(self, group: str, member_id: str) -> None:
        self.members.get(group, {}).pop(member_id, None)

    def commit(self, group: str, member_id: str, positions: Positions) -> None:
        """Evicted for a member that was removed, or replaced by a later one with its client id (a later
        generation)."""
        members = self.members.get(group, {})
        client_id = members.get(member_id)
        if client_id is None or [m for m, c in members.items() if c == client_id][-1] != member_id:
            raise Evicted(member_id)
        self.kafka.groups.setdefault(group, {}).update(positions)

    def alter(self, group: str, positions: Mapping[tuple[str, int], int | None]) -> None:
        self._check_empty(group)
        stored = self.kafka.groups.setdefault(group, {})
        for at, offset in positions.items():
            if offset is None:
                stored.pop(at, None)
            else:
                stored[at] = offset

    def delete(self, group: str) -> None:
        self._check_empty(group)
        self.kafka.groups.pop(group, None)

    def _check_empty(self, group: str) -> None:
        if self.members.get(group):
            raise GroupNotEmpty(f"group {group} has members")


class SimGroups:
    """The requests of one worker."""

    def __init__(self, groups: ConsumerGroups, network: Network, host: str) -> None:
        self._groups, self._network, self._host = groups, network, host

    async def _ask(self, action: Callable[[], Any]) -> Any:
        return await within(10.0, self._network.ask(self._host, action, repeated=True))

    async def committed(self, group: str) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = await self._ask(lambda: dict(self._groups.kafka.groups.get(group, {})))
        return found

    async def exists(self, group: str) -> bool:
        return bool(await self._ask(lambda: group in self._groups.kafka.groups))

    async def empty_groups(self) -> list[str]:
        return sorted(await self._ask(lambda: list(self._groups.kafka.groups)))

    async def check_partitions(self, partitions: Iterable[tuple[str, int]]) -> None:
        await self._ask(lambda: None)

    async def alter(self, group: str, offsets: Positions) -> None:
        if offsets:
            await self._ask(lambda: self._groups.alter(group, dict(offsets)))

    async def delete_offsets(self, group: str, partitions: Iterable[tuple[str, int]]) -> None:
        if wanted := list(partitions):
            await self._ask(lambda: self._groups.alter(group, dict.fromkeys(wanted)))

    async def delete(self, group: str) -> None:
        await self._ask(lambda: self._groups.delete(group))

    async def members(self, group: str) -> list[Any]:
        found = await self._ask(lambda: dict(self._groups.members.get(group, {})))
        return [SimpleNamespace(member_id=m, client_id=c) for m, c in found.items()]

    async def evict(self, group: str, members: Iterable[str]) -> None:
        for member_id in sorted(members):
            await self._ask(lambda: self._groups.leave(group, member_id))  # noqa: B023


class SimPositions:
    """No test asks for positions."""

    async def offsets_retention(self) -> int | None:
        raise BrokerUnavailable("not simulated")

    async def partitions(self) -> dict[str, Collection[int]]:
        raise BrokerUnavailable("not simulated")
