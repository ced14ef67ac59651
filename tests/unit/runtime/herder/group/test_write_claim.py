"""A leader writes only while it holds the claim to the config topic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from runtime.herder.group.leader_view import GroupSettings, ViewSources
from runtime.herder.group.worker_group import WorkerGroup
from runtime.herder.group.write_claim import WriteClaim
from runtime.kafka.errors import NotAuthorizedError
from runtime.kafka.group.group_member import GroupMember
from runtime.kafka.group.protocol import Assignment
from runtime.kafka.log.transactional_writer import TransactionalWriter
from tests.support.waiting import until
from tests.unit.runtime.herder.group.test_worker_group import OTHER, URL, Rig


class ScriptedWriter:
    """A transactional writer whose starts the test permits."""

    def __init__(self) -> None:
        self.started = False
        self.starts: list[str] = []
        self.refusal: Exception | None = None
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.on_stopped: Callable[[], None] = lambda: None

    def subscribe(self, on_stopped: Callable[[], None]) -> None:
        self.on_stopped = on_stopped

    async def start(self, topic: str) -> None:
        await self.may_start.wait()
        self.starts.append(topic)
        if self.refusal is not None:
            raise self.refusal
        self.started = True

    def revoke(self) -> None:
        self.started = False

    def fenced(self) -> None:
        self.started = False
        self.on_stopped()


def claiming() -> tuple[Rig, ScriptedWriter]:
    """A worker in a group whose leader needs the claim."""
    rig, writer = Rig(), ScriptedWriter()
    rig.group = WorkerGroup(
        cast(GroupMember, rig.member), GroupSettings(URL, "test", 2, 0.0), rig.herder.configs, rig.herder.statuses,
        ViewSources(rig.departures), WriteClaim(cast(TransactionalWriter, writer), "configs"),
    )  # fmt: skip
    return rig, writer


def led_by_other() -> Assignment:
    return Assignment("you", OTHER, 0)


async def test_the_leader_takes_the_claim_once_and_drops_it_when_another_worker_leads() -> None:
    rig, writer = claiming()
    await rig.join()
    assert (writer.starts, rig.group.leads, rig.listener.leads) == (["configs"], True, [True])
    await rig.member.rebalance()
    await until(lambda: rig.group.generation == 2)
    assert writer.starts == ["configs"]
    rig.member.given(led_by_other())
    await until(lambda: not rig.group.leads)
    assert (writer.started, rig.group.leader_url) == (False, OTHER)
    await rig.member.rebalance()
    await until(lambda: rig.group.leads)
    assert writer.starts == ["configs"] * 2


async def test_a_leader_that_was_fenced_joins_again_and_does_not_lead_until_it_has_the_claim() -> None:
    rig, writer = claiming()
    await rig.join()
    writer.may_start.clear()
    writer.fenced()
    assert (rig.group.leads, rig.group.leader_url, rig.member.rejoins) == (False, None, 1)
    assert rig.listener.leads == [True, False]
    await rig.member.rebalance()
    assert not rig.group.leads
    writer.may_start.set()
    await until(lambda: rig.group.leads)
    assert rig.listener.leads[-1]
    rig.member.events.on_lost()
    assert (writer.started, rig.member.rejoins) == (False, 1)


async def test_a_missing_right_is_reported_and_a_worker_without_the_claim_still_runs_its_tasks() -> None:
    rig, writer = claiming()
    writer.refusal = NotAuthorizedError("grant WRITE on transactional id connect-cluster-g")
    await rig.herder.create("old")
    await rig.join()
    assert (rig.group.leads, rig.group.owns("old")) == (False, True)
    assert rig.group.trouble == (
        "This worker cannot write to topic configs as the leader: grant WRITE on transactional id connect-cluster-g"
    )
    writer.refusal = None
    await until(lambda: rig.group.leads)
    assert (rig.group.trouble, rig.listener.leads[-1]) == ("", True)
    await rig.group.leave()
    assert not writer.started
