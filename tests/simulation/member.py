"""A worker's membership in the simulated group: the interface of runtime.kafka.group.group_member.GroupMember, whose
threads and kafka-python client are replaced. Ownership, metadata and assignments are the program's own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.group.group_coordinator import OFFERED
from runtime.kafka.group.group_member import MemberEvents, Place, Times
from runtime.kafka.group.ownership import Ownership, Unit
from runtime.kafka.group.protocol import (
    Assignment,
    AssignmentError,
    ProtocolError,
    WorkerMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)
from tests.simulation.coordinator import Coordinator, Joined, Rebalancing, UnknownMember
from tests.simulation.loop import Process, SimLoop
from tests.simulation.network import Network


class SimMember:
    """One incarnation of a worker in the group."""

    def __init__(
        self, coordinator: Coordinator, network: Network, process: Process, loop: SimLoop, times: Times, pid: int,
        alive: Callable[[int], bool], older: bool = False,
    ) -> None:  # fmt: skip
        """`older`: a worker that offers version 1 of the protocol only, and does not tell its process."""
        self._coordinator, self._network, self._process, self._loop = coordinator, network, process, loop
        self._times, self._alive, self._host = times, alive, process.name
        self.group_id, self.ownership = "workers", Ownership()
        self.process = {} if older else {"machine": self._host, "host": self._host, "pid": pid}
        self._offered = OFFERED[1:] if older else OFFERED
        self.confirmed_until = 0.0
        self.join_sent: float | None = None
        self.trouble = ""
        self.assignment: Assignment | None = None
        self._member_id, self._generation = "", -1
        self._place: Place | None = None
        self._stable = self._rejoin = self._closing = False
        self._rejoin_at = float("inf")
        self._wake = asyncio.Event()
        self._on_lost: Callable[[], None] = lambda: None
        self._events: MemberEvents
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def rebalancing(self) -> bool:
        return self.join_sent is not None

    @property
    def _duration(self) -> float:
        return min(self._times.session_timeout, self._times.rebalance_timeout)

    def subscribe_losses(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost

    def start(self, events: MemberEvents, foreign_refusal: str = "") -> None:
        self._events = events
        self._tasks = [self._process.spawn(self._run(), "group-member"), self._process.spawn(self._prove(), "proof")]

    def released(self, units: Iterable[Unit]) -> None:
        self.ownership.release(units)
        if not self.ownership.stopping:
            self.rejoin()

    def rejoin(self) -> None:
        self._rejoin = True
        self._wake.set()

    async def evict(self, member_ids: Sequence[str]) -> None:
        for name in member_ids:
            await self._ask(partial(self._coordinator.leave, name))

    async def members(self) -> dict[str, WorkerMetadata]:
        found = await self._ask(self._coordinator.members)
        return {name: decode_metadata(data) for name, data in found.items() if data}

    async def leave(self) -> None:
        self._closing = True
        self._wake.set()
        for task in self._tasks:
            task.cancel()
        with contextlib.suppress(BrokerUnavailable):
            await self._ask(lambda: self._coordinator.leave(self._member_id), 2.0)

    async def _ask(self, action: Callable[[], Any], seconds: float = 5.0) -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await self._network.ask(self._host, action)
        except TimeoutError:
            raise BrokerUnavailable("the group coordinator does not answer") from None

    # what stands for the network thread

    async def _run(self) -> None:
        await self._remove_dead()
        heartbeat_at = 0.0
        while not self._closing:
            try:
                if self._loop.time() >= self._rejoin_at:
                    self._rejoin_at, self._rejoin = float("inf"), True
                if not self._stable or self._rejoin:
                    await self._join()
                    heartbeat_at = self._loop.time() + self._times.heartbeat_interval
                if self._loop.time() >= heartbeat_at:
                    heartbeat_at = self._loop.time() + self._times.heartbeat_interval
                    await self._heartbeat()
            except UnknownMember:
                self._reset()
            except Rebalancing:
                self._stable = False
            except BrokerUnavailable as e:
                self.trouble = str(e)
                await asyncio.sleep(0.5)
            else:
                self.trouble = ""
                if self._stable and not self._rejoin:
                    await self._pause(min(heartbeat_at, self._rejoin_at) - self._loop.time())
            finally:
                self.join_sent = None

    async def _pause(self, seconds: float) -> None:
        self._wake.clear()
        if not self._rejoin:
            try:
                async with asyncio.timeout(max(seconds, 0.01)):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _remove_dead(self) -> None:
        """As GroupMember does: members whose process on this machine has ended."""
        while True:
            try:
                found = await self.members()
                break
            except BrokerUnavailable:
                await asyncio.sleep(0.5)
        processes = {name: m.details.process for name, m in found.items() if m.details}
        dead = [n for n, p in processes.items() if p.get("machine") == self._host and not self._alive(p["pid"])]
        if dead:
            await self.evict(dead)

    async def _join(self) -> None:
        self._stable = self._rejoin = False
        described = self._events.describe()
        self.join_sent = self._loop.time()
        metadata = {
            version: encode_metadata(
                dataclasses.replace(described, version=version, allocation=self.ownership.allocation(version))
            )
            for version in self._offered
        }
        times, name = self._times, self._member_id
        joined: Joined = await self._ask(
            lambda: self._coordinator.join(name, self._host, metadata, times.session_timeout, times.rebalance_timeout),
            times.rebalance_timeout + 5,
        )
        answered, self.join_sent = self._loop.time(), None
        self._member_id, self._generation = joined.member_id, joined.generation
        assignments = await self._assignments(joined) if joined.leader == joined.member_id else {}
        data: bytes = await self._ask(
            lambda: self._coordinator.sync(joined.member_id, joined.generation, assignments), times.rebalance_timeout
        )
        assignment = decode_assignment(data)
        self.ownership.apply(assignment)
        self.assignment, self._stable = assignment, True
        self.confirmed_until = answered + self._duration
        self._note_place(assignment)

    async def _assignments(self, joined: Joined) -> Mapping[str, bytes]:
        decided: asyncio.Future[Mapping[str, bytes]] = self._loop.create_future()
        self._loop.call_soon(self._lead, joined, decided)  # a callback: it may wait as a thread does, a task cannot
        return await decided

    def _lead(self, joined: Joined, decided: asyncio.Future[Mapping[str, bytes]]) -> None:
        try:
            members = {name: decode_metadata(data) for name, data in joined.members.items()}
        except ProtocolError as e:
            decided.set_exception(e)
            return
        found = self._events.lead(joined.member_id, members)
        if not decided.done():
            version = joined.version
            decided.set_result(
                {n: encode_assignment(dataclasses.replace(a, version=version)) for n, a in found.items()}
            )

    async def _heartbeat(self) -> None:
        sent, name, generation = self._loop.time(), self._member_id, self._generation
        await self._ask(lambda: self._coordinator.heartbeat(name, generation))
        self.confirmed_until = max(self.confirmed_until, sent + self._duration)

    async def _prove(self) -> None:
        interval = self._times.heartbeat_interval
        while not self._closing:
            await asyncio.sleep(interval / 2)
            pending, name, generation = self.join_sent, self._member_id, self._generation
            if pending is None or not name or self._loop.time() - pending < interval:
                continue
            since = self._loop.time()
            try:
                await self._ask(lambda: self._coordinator.heartbeat(name, generation), 2.0)  # noqa: B023
            except Rebalancing:
                pass
            except (UnknownMember, BrokerUnavailable):
                continue
            if self.join_sent is not None:
                self.confirmed_until = max(since, self.confirmed_until - self._duration) + self._duration

    def _reset(self) -> None:
        was_member, self.confirmed_until = self.confirmed_until > 0, 0.0
        if was_member:
            self._on_lost()
        self.ownership.lose()
        self.assignment, self._member_id, self._generation, self._stable = None, "", -1, False
        if self._place is not None:
            self._place = None
            self._loop.call_soon(self._events.on_lost)

    def _note_place(self, assignment: Assignment) -> None:
        place = Place(
            self._member_id, self._generation, assignment.leader, assignment.leader_url, assignment.config_offset,
            assignment.error is AssignmentError.CONFIG_MISMATCH, self.ownership.edition,
        )  # fmt: skip
        self._place = place
        if assignment.delay:
            self._rejoin_at = self._loop.time() + assignment.delay / 1000
        self._loop.call_soon(self._events.on_place, place)
