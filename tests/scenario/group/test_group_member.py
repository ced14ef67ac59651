"""Members of a Connect group on a real broker: shares, revocations, hanging members, and workers of Apache."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runtime.herder.group.assignor import Unit
from runtime.herder.group.leader import GroupView, lead
from runtime.kafka.errors import GroupOccupied
from runtime.kafka.group.group_member import GroupMember, MemberEvents, Place, Times
from runtime.kafka.group.protocol import Assignment, Details, WorkerMetadata
from tests.support.broker import KafkaBroker, unique
from tests.support.waiting import until
from tests.support.workers import java_worker

TIMES = Times(session_timeout=6.0, heartbeat_interval=0.5, rebalance_timeout=12.0)


class HangingMember(GroupMember):
    """Does nothing more once `hangs` is set: neither heartbeats nor rebalances."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.hangs = threading.Event()

    def _stay(self) -> None:
        if not self.hangs.is_set():
            super()._stay()


class Worker:
    """A member that releases revoked work immediately, and starts no connectors."""

    def __init__(self, bootstrap: str, group: str, port: int, view: GroupView) -> None:
        self.view = view
        self.places: list[Place] = []
        self.losses = 0
        self.refusals: list[GroupOccupied] = []
        self.stops = True
        self.url = f"http://127.0.0.1:{port}/"
        self.member = HangingMember({"bootstrap.servers": bootstrap}, group, f"worker-{port}", TIMES)

    def start(self) -> None:
        self.member.start(MemberEvents(self._describe, self._lead, self._on_place, self._on_lost, self.refusals.append))

    @property
    def owned(self) -> frozenset[tuple[str, int]]:
        return self.member.ownership.running

    def _describe(self) -> WorkerMetadata:
        return WorkerMetadata(self.url, self.view.config_offset, details=Details("test", 2))

    def _lead(self, leader: str, members: Mapping[str, WorkerMetadata]) -> Mapping[str, Assignment]:
        return lead(leader, members, self.view).assignments

    def _on_place(self, place: Place) -> None:
        self.places.append(place)
        if self.stops and self.member.ownership.stopping:
            self.member.released(self.member.ownership.stopping)

    def _on_lost(self) -> None:
        self.losses += 1

    @property
    def generation(self) -> int:
        """That of its last place."""
        return self.places[-1].generation


class Group:
    def __init__(self, bootstrap: str, name: str, view: GroupView) -> None:
        self.bootstrap, self.name, self.view = bootstrap, name, view
        self.workers: list[Worker] = []

    def add(self) -> Worker:
        worker = Worker(self.bootstrap, self.name, 1 + len(self.workers), self.view)
        self.workers.append(worker)
        worker.start()
        return worker

    def shared(self, *workers: Worker) -> bool:
        """Waits until these workers own all units, each exactly once."""
        owned = [unit for worker in workers for unit in worker.owned]
        return sorted(owned) == sorted(self.view.weights)


@contextlib.asynccontextmanager
async def a_group(broker: KafkaBroker, view: GroupView, name: str = "") -> AsyncIterator[Group]:
    group = Group(broker.bootstrap, name or unique("group"), view)
    try:
        yield group
    finally:
        await asyncio.gather(*(worker.member.leave() for worker in group.workers))


def view(connectors: int, delay: float = 0.0) -> GroupView:
    return GroupView(
        0, {Unit(f"c{number}", task): 1.0 for number in range(connectors) for task in (-1, 0)}, delay=delay
    )


async def test_members_share_the_work_and_take_over_from_others(broker: KafkaBroker) -> None:
    async with a_group(broker, view(6)) as group:
        first = group.add()
        await until(partial(group.shared, first))
        second, third = group.add(), group.add()
        await until(partial(group.shared, first, second, third))
        await until(lambda: {len(worker.owned) for worker in group.workers} == {4})
        await second.member.leave()
        await until(partial(group.shared, first, third))
        assert not first.losses


async def test_revoked_work_goes_to_another_member_only_when_it_has_stopped(broker: KafkaBroker) -> None:
    async with a_group(broker, view(4)) as group:
        first = group.add()
        first.stops = False
        await until(partial(group.shared, first))
        second = group.add()
        await until(lambda: first.member.ownership.stopping and second.places)
        stopping = first.member.ownership.stopping
        generation = second.generation
        second.member.rejoin()  # a rebalance meanwhile must not give the work away
        await until(lambda: second.generation > generation)
        assert not second.owned
        first.member.released(first.member.ownership.stopping)
        await until(partial(group.shared, first, second))
        assert second.owned == stopping


async def test_a_member_that_hangs_does_not_end_the_leases_of_others(broker: KafkaBroker) -> None:
    """The hanging member sends no JoinGroup for the whole rebalance timeout, twice the session timeout."""
    async with a_group(broker, view(4)) as group:
        healthy = group.add()
        await until(partial(group.shared, healthy))
        hanging = group.add()
        await until(lambda: hanging.owned and group.shared(healthy, hanging))
        held = healthy.owned
        hanging.member.hangs.set()
        healthy.member.rejoin()
        await until(lambda: healthy.member._coordinator.join_sent)
        least, end = float("inf"), time.monotonic() + TIMES.rebalance_timeout - 2
        while time.monotonic() < end:
            least = min(least, healthy.member.confirmed_until - time.monotonic())
            assert held <= healthy.owned
            await asyncio.sleep(0.05)
        assert least > TIMES.session_timeout - 3 * TIMES.heartbeat_interval
        await until(partial(group.shared, healthy))


async def test_a_rebalance_requested_during_another_one_follows_it(broker: KafkaBroker) -> None:
    """Units that stop while a slow rebalance is under way would otherwise have no owner afterwards."""
    async with a_group(broker, view(4)) as group:
        first = group.add()
        await until(partial(group.shared, first))
        slow = group.add()
        await until(lambda: slow.owned and group.shared(first, slow) and first.generation == slow.generation)
        slow.member.hangs.set()
        await asyncio.sleep(1.0)  # a rebalance that the slow member has joined already ends
        first.member.rejoin()
        await until(lambda: first.member._coordinator.join_sent)
        started = first.generation
        first.member.rejoin()
        await asyncio.sleep(1.2)  # the member checks requests twice a second
        assert first.generation == started
        slow.member.hangs.clear()
        await until(lambda: first.generation >= started + 2)


@pytest.mark.soak
async def test_apache_and_headrace_workers_share_a_group_whichever_of_them_leads(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    overrides = {"scheduled.rebalance.max.delay.ms": "0", "session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
    java = java_worker(tmp_path, broker.bootstrap, overrides)
    java.start()
    try:
        for number in range(2):
            config = {
                "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
                "file": str(tmp_path / "in"),
                "topic": unique("lines"),
            }
            assert java.request("PUT", f"/connectors/c{number}/config", config)[0] == 201
        name = java.properties["group.id"]
        async with a_group(broker, view(2), name) as group:
            worker = group.add()
            await until(lambda: len(worker.owned) == 2)
            assert not worker.places[-1].leads
            offset = worker.member._coordinator.assignment.config_offset
            java.kill()
            group.view = worker.view = GroupView(offset, worker.view.weights, delay=0.0)
            await until(partial(group.shared, worker))
            assert worker.places[-1].leads
            java.start()
            await until(lambda: len(worker.owned) == 2)
            await until(lambda: _running(java) == 2)
    finally:
        java.kill()


def _running(java: Any) -> int:
    found = java.request("GET", "/connectors?expand=status")[1]
    own = java.url.removeprefix("http://")
    return sum(
        task["state"] == "RUNNING" and task["worker_id"] == own
        for connector in found.values()
        for task in (connector["status"]["connector"], *connector["status"]["tasks"])
    )
