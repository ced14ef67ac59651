"""What a leader does when it takes over."""

from __future__ import annotations

import asyncio

import pytest

from runtime.herder.group.task_loads import TaskLoads
from runtime.herder.group_duties import GroupDuties
from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.log import LogRecord
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusRecord
from tests.support.herder.herder_rig import HerderRig


class Rig:
    """A leader whose reading of the stores ends when the test allows it."""

    def __init__(self) -> None:
        self.herder, self.may_end, self.fails, self.reads = HerderRig(), asyncio.Event(), False, 0
        herder = self.herder
        self.duties = GroupDuties(
            herder.connectors, herder.statuses, herder.board, herder.changes, TaskLoads(herder.board.meters),
            self._read, remains_delay=0.01, sweep_interval=0.01,
        )  # fmt: skip
        herder.statuses.put_connector("new", StatusRecord(State.RUNNING, None, "w:2", 1))

    async def _read(self) -> None:
        self.reads += 1
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


async def test_a_leader_removes_what_was_reported_about_a_connector_that_nobody_owned_when_it_was_deleted() -> None:
    rig = Rig()
    await rig.take_over(deposed=False)
    rig.herder.statuses.put_connector("gone", StatusRecord(State.UNASSIGNED, None, "w:1", 1))
    rig.duties.leading(True, ())
    await rig.herder.until(lambda: rig.herder.state("gone") is None)


async def test_a_leader_removes_what_a_worker_reports_after_the_deletion() -> None:
    rig = Rig()
    await rig.take_over(deposed=False)
    late = b'{"state": "UNASSIGNED", "trace": null, "worker_id": "w:2", "generation": 1}'
    rig.herder.statuses.apply([LogRecord(b"status-task-gone-0", late, 0, 10, 0)])
    await rig.herder.until(lambda: not rig.herder.statuses.task_statuses("gone"))


async def test_a_leader_removes_the_statuses_of_removed_tasks_whose_connector_apaches_worker_owns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    await rig.herder.configs.put_connector("theirs", {"connector.class": "C", "name": "theirs"})
    await rig.herder.configs.put_tasks("theirs", [{"n": "0"}])
    await rig.take_over(deposed=False)
    monkeypatch.setattr(rig.herder.group, "owned_by_apache", lambda: ["theirs"])
    for task in (0, 1):
        rig.herder.statuses.put_task(TaskId("theirs", task), StatusRecord(State.UNASSIGNED, None, "w:2", 1))
    rig.duties.leading(True, ())
    await rig.herder.until(lambda: list(rig.herder.statuses.task_statuses("theirs")) == [0])


async def test_a_leader_tries_again_to_remove_remains_while_the_topics_cannot_be_read() -> None:
    rig = Rig()
    await rig.take_over(deposed=False)
    rig.fails = True
    rig.herder.statuses.put_connector("gone", StatusRecord(State.UNASSIGNED, None, "w:1", 1))
    rig.duties.leading(True, ())
    await rig.herder.until(lambda: rig.reads > 2)
    assert rig.herder.state("gone") is State.UNASSIGNED
    rig.fails = False
    await rig.herder.until(lambda: rig.herder.state("gone") is None)


async def test_a_deposed_leader_removes_no_statuses() -> None:
    rig = Rig()
    await rig.take_over(deposed=True)
    assert rig.herder.state("new") is State.RUNNING


async def test_a_leader_that_cannot_read_the_config_topic_does_not_take_new_connectors_for_deleted() -> None:
    rig = Rig()
    rig.fails = True
    await rig.take_over(deposed=False)
    assert rig.herder.state("new") is State.RUNNING


async def leave_task_configs(rig: Rig, name: str) -> None:
    """A connector was created and deleted; its task config remains in the topic."""
    await rig.herder.create(name)
    await rig.herder.configs.put_tasks(name, [{"n": "0"}])
    await rig.herder.configs.remove_connector(name)


def task_configs(rig: Rig) -> list[str]:
    """The keys of task configs in the topic."""
    last = dict(rig.herder.logs.by_topic["c"].written)
    return [key.decode() for key, value in last.items() if value is not None and key.startswith((b"task-", b"commit-"))]


async def test_a_leader_removes_the_task_configs_of_connectors_deleted_before_and_while_it_leads() -> None:
    rig = Rig()
    await leave_task_configs(rig, "before")
    await rig.take_over(deposed=False)
    await rig.herder.until(lambda: task_configs(rig) == [])
    await leave_task_configs(rig, "meanwhile")
    assert task_configs(rig) == ["task-meanwhile-0", "commit-meanwhile"]
    await rig.herder.until(lambda: task_configs(rig) == [])
    rig.duties.close()


async def test_a_worker_starts_although_it_loses_the_leadership_while_it_removes_task_configs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
    await leave_task_configs(rig, "gone")

    class Deposed:
        leads = False

    rig.herder.herder._group = Deposed()
    await rig.take_over(deposed=False)
    await rig.herder.until(lambda: "Cannot remove the task configs of deleted connectors" in caplog.text)
    assert task_configs(rig) == ["task-gone-0", "commit-gone"]
    rig.duties.close()


@pytest.mark.parametrize("worker", ["w:1", "other:1"])
async def test_a_worker_of_another_group_with_the_same_topics_is_named_once(
    worker: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    await rig.herder.create("c")
    await rig.take_over(deposed=False)
    for offset in (10, 11):
        status = b'{"state": "RUNNING", "trace": null, "worker_id": "%s", "generation": 9}' % worker.encode()
        rig.herder.statuses.apply([LogRecord(b"status-connector-c", status, 0, offset, 0)])
    named = [message for message in caplog.messages if f"also on {worker}, which is not in this group" in message]
    assert len(named) == (worker == "other:1")
