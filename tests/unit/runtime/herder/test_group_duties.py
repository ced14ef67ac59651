"""What a leader does when it takes over."""

from __future__ import annotations

import asyncio

from runtime.herder.group.task_loads import TaskLoads
from runtime.herder.group_duties import GroupDuties
from runtime.kafka.errors import BrokerUnavailable
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusRecord
from tests.support.herder.herder_rig import HerderRig


class Rig:
    """A leader whose reading of the stores ends when the test allows it."""

    def __init__(self) -> None:
        self.herder, self.may_end, self.fails = HerderRig(), asyncio.Event(), False
        herder = self.herder
        self.duties = GroupDuties(
            herder.connectors, herder.statuses, herder.board, herder.changes, TaskLoads(herder.board.meters), self._read
        )
        herder.statuses.put_connector("new", StatusRecord(State.RUNNING, None, "w:2", 1))

    async def _read(self) -> None:
        await self.may_end.wait()
        if self.fails:
            raise BrokerUnavailable("no answer")

    async def take_over(self, deposed: bool) -> None:
        self.duties.leading(True, ())
        starting = asyncio.create_task(self.duties.start())
        await asyncio.sleep(0)
        if deposed:
            self.duties.leading(False, ())
        self.may_end.set()
        await starting
        self.duties.close()


async def test_a_leader_removes_the_statuses_of_deleted_connectors() -> None:
    rig = Rig()
    await rig.take_over(deposed=False)
    assert rig.herder.state("new") is None


async def test_a_leader_removes_the_topics_of_deleted_connectors() -> None:
    """A task that was frozen during the deletion has reported them afterwards."""
    rig = Rig()
    rig.herder.statuses.put_topic(TaskId("gone", 0), "t")
    await rig.take_over(deposed=False)
    assert rig.herder.statuses.topics("gone") == []


async def test_a_leader_removes_what_a_worker_that_has_left_reported_about_a_deleted_connector() -> None:
    rig = Rig()
    await rig.take_over(deposed=False)
    rig.herder.statuses.put_connector("left", StatusRecord(State.RUNNING, None, "w:2", 1))
    rig.herder.statuses.put_connector("stopping", StatusRecord(State.RUNNING, None, "w:1", 1))
    rig.duties.leading(True, ())
    assert (rig.herder.state("left"), rig.herder.state("stopping")) == (None, State.RUNNING)


async def test_a_deposed_leader_removes_no_statuses() -> None:
    rig = Rig()
    await rig.take_over(deposed=True)
    assert rig.herder.state("new") is State.RUNNING


async def test_a_leader_that_cannot_read_the_config_topic_does_not_take_new_connectors_for_deleted() -> None:
    rig = Rig()
    rig.fails = True
    await rig.take_over(deposed=False)
    assert rig.herder.state("new") is State.RUNNING
