"""Members of a worker group without a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from runtime.herder.group.leader import GroupView, lead
from runtime.kafka.errors import GroupOccupied
from runtime.kafka.group.group_member import GroupMember, MemberEvents, Place, Times
from runtime.kafka.group.protocol import Assignment, Details, WorkerMetadata


class Participant:
    """A member of a group that has no connectors. Create on the event loop."""

    def __init__(
        self, settings: Mapping[str, Any], group: str, url: str = "http://one/", times: Times | None = None,
        foreign_refusal: str = "",
    ) -> None:  # fmt: skip
        self.member = GroupMember(settings, group, "member", times or Times())
        self._foreign_refusal = foreign_refusal
        self.url, self.losses = url, 0
        self.confirmed_at_losses: list[float] = []
        self.member.subscribe_losses(lambda: self.confirmed_at_losses.append(self.member.confirmed_until))
        self._first: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        self.place: Place | None = None

    @property
    def confirmed_until(self) -> float:
        return self.member.confirmed_until

    @property
    def trouble(self) -> str:
        return self.member.trouble

    async def join(self) -> Place:
        """Raises GroupOccupied if the member is refused."""
        events = MemberEvents(self._describe, self._lead, self._on_place, self._on_lost, self._on_refused)
        self.member.start(events, self._foreign_refusal)
        return await self._first

    async def leave(self) -> None:
        await self.member.leave()

    def _describe(self) -> WorkerMetadata:
        return WorkerMetadata(self.url, 0, details=Details("test", 2, process=self.member.process))

    def _lead(self, leader: str, members: Mapping[str, WorkerMetadata]) -> Mapping[str, Assignment]:
        return lead(leader, members, GroupView(0)).assignments

    def _on_place(self, place: Place) -> None:
        self.place = place
        if not self._first.done():
            self._first.set_result(place)

    def _on_lost(self) -> None:
        self.losses += 1

    def _on_refused(self, error: GroupOccupied) -> None:
        if not self._first.done():
            self._first.set_exception(error)
