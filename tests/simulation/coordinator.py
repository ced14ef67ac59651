"""The simulated group coordinator: JoinGroup, SyncGroup, Heartbeat, LeaveGroup of one group, as Kafka's broker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.simulation.loop import SimLoop
from tests.simulation.trace import Trace


class UnknownMember(Exception):
    """UNKNOWN_MEMBER_ID: the coordinator does not count the worker as a member any more."""


class Rebalancing(Exception):
    """REBALANCE_IN_PROGRESS or ILLEGAL_GENERATION: join again with the same member id."""


@dataclass(frozen=True)
class Joined:
    """The response to JoinGroup. `version` is the highest that all members offer, `members` has the metadata by member
    id, for the leader only."""

    member_id: str
    generation: int
    leader: str
    version: int
    members: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(eq=False)
class _Member:
    id: str
    metadata: Mapping[int, bytes]  # by the version that the member offers
    session: float
    rebalance: float
    heard: float
    joining: asyncio.Future[Joined] | None = None
    syncing: asyncio.Future[bytes] | None = None
    assignment: bytes = b""


class Coordinator:
    """Runs in the world, which never fails."""

    def __init__(self, loop: SimLoop, trace: Trace) -> None:
        self._loop, self._trace = loop, trace
        self._members: dict[str, _Member] = {}
        self._generation = self._ids = 0
        self._leader, self._version = "", 0
        self._state = "empty"  # joining, syncing, stable

    # requests

    def join(
        self, member_id: str, host: str, metadata: Mapping[int, bytes], session: float, rebalance: float
    ) -> asyncio.Future[Joined]:
        if member_id and member_id not in self._members:
            raise UnknownMember
        if not member_id:
            self._ids += 1
            member_id = f"{host}-{self._ids}"
            self._members[member_id] = _Member(member_id, metadata, session, rebalance, self._loop.time())
            self._loop.world.call(session, self._check_session, member_id)
        member = self._members[member_id]
        member.metadata, member.heard = metadata, self._loop.time()
        if member.joining is not None and not member.joining.done():
            member.joining.cancel()
        member.joining = self._loop.create_future()
        if self._state != "joining":
            self._begin()
        self._try_complete()
        return member.joining

    def sync(self, member_id: str, generation: int, assignments: Mapping[str, bytes]) -> asyncio.Future[bytes]:
        member = self._known(member_id)
        if generation != self._generation or self._state == "joining":
            raise Rebalancing
        member.syncing = self._loop.create_future()
        if member_id == self._leader and self._state == "syncing":
            self._state = "stable"
            for name, one in self._members.items():
                one.assignment = assignments.get(name, b"")
        if self._state == "stable":
            for one in self._members.values():
                if one.syncing is not None and not one.syncing.done():
                    one.heard = self._loop.time()
                    one.syncing.set_result(one.assignment)
        return member.syncing

    def heartbeat(self, member_id: str, generation: int) -> None:
        member = self._known(member_id)
        member.heard = self._loop.time()
        if generation != self._generation or self._state == "joining":
            raise Rebalancing

    def leave(self, member_id: str) -> None:
        if member_id in self._members:
            self._remove(member_id, "left")

    def members(self) -> dict[str, bytes]:
        """DescribeGroups: metadata only while the group is stable."""
        stable = self._state == "stable"
        return {name: one.metadata[self._version] if stable else b"" for name, one in self._members.items()}

    # the broker's timers

    def _known(self, member_id: str) -> _Member:
        if member_id not in self._members:
            raise UnknownMember
        return self._members[member_id]

    def _check_session(self, member_id: str) -> None:
        member = self._members.get(member_id)
        if member is None:
            return
        waits = member.joining is not None and not member.joining.done()
        left = member.heard + member.session - self._loop.time()
        if left <= 0 and not waits:
            self._remove(member_id, "session expired")
        else:
            self._loop.world.call(max(left, 0.1), self._check_session, member_id)

    def _remove(self, member_id: str, why: str) -> None:
        member = self._members.pop(member_id)
        self._trace.add(f"group removes {member_id}: {why}")
        self._trace.counts[f"member removed: {why}"] += 1
        for future in (member.joining, member.syncing):
            if future is not None and not future.done():
                future.set_exception(UnknownMember())
        if not self._members:
            self._state = "empty"
        elif self._state != "joining":
            self._begin()
        self._try_complete()

    def _begin(self) -> None:
        self._state = "joining"
        for member in self._members.values():
            if member.syncing is not None and not member.syncing.done():
                member.syncing.set_exception(Rebalancing())
            member.heard = max(member.heard, self._loop.time() - member.session / 2)
        longest = max(member.rebalance for member in self._members.values())
        self._loop.world.call(longest, self._rebalance_over, self._generation)

    def _rebalance_over(self, generation: int) -> None:
        if self._state != "joining" or generation != self._generation:
            return
        late = [name for name, one in self._members.items() if one.joining is None or one.joining.done()]
        for name in late:  # the last removal completes the join of all others
            self._remove(name, "did not join in time")

    def _try_complete(self) -> None:
        members = self._members
        if self._state != "joining" or not members:
            return
        if any(m.joining is None or m.joining.done() for m in members.values()):
            return
        self._generation += 1
        self._state = "syncing"
        self._trace.counts["rebalance"] += 1
        if self._leader not in members:
            self._trace.counts["leader change"] += bool(self._leader)
            self._leader = next(iter(members))
        self._trace.add(f"group generation {self._generation}, leader {self._leader}: {', '.join(members)}")
        self._version = max(set.intersection(*(set(one.metadata) for one in members.values())))
        all_metadata = {name: one.metadata[self._version] for name, one in members.items()}
        for name, one in members.items():
            assert one.joining is not None
            one.heard = self._loop.time()
            known = all_metadata if name == self._leader else {}
            one.joining.set_result(Joined(name, self._generation, self._leader, self._version, known))
