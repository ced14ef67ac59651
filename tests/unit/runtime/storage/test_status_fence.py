"""A worker that is no longer a group member does not overwrite the statuses of its successor."""

from __future__ import annotations

import asyncio

import pytest

from runtime.kafka.errors import KafkaProblem, StorageTopicError
from runtime.kafka.log.log import LogRecord
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusRecord, StatusStore
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.waiting import until

TASK = TaskId("c", 0)
OURS, THEIRS = "here:8083", "there:8083"


def status(state: State, worker: str, generation: int) -> StatusRecord:
    return StatusRecord(state, None, worker, generation)


class Rig:
    """A store whose worker is or is not a member of its group."""

    def __init__(self) -> None:
        self.member = True
        self.logs = TestLogs()
        self.store = StatusStore(self.logs, topic("s"), is_member=lambda: self.member, retry_delay=0.01)

    def sent(self) -> list[bytes]:
        return [key for key, _ in self.logs.by_topic["s"].written]

    def read(self, found: StatusRecord) -> None:
        """Applies another worker's record for the task, as if read from the topic."""
        other = Rig()
        other.store.put_task(TASK, found)
        key, value = other.logs.by_topic["s"].written[0]
        self.store.apply([LogRecord(key, value, 0, 1000, 0)])


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize("state", [State.UNASSIGNED, State.FAILED])
async def test_a_replaced_worker_does_not_overwrite_its_successors_status(rig: Rig, state: State) -> None:
    rig.read(status(State.RUNNING, THEIRS, 8))
    rig.store.put_task(TASK, status(state, OURS, 7))
    assert rig.store.task_statuses("c")[0].worker_id == THEIRS
    assert not rig.sent()


async def test_a_later_worker_takes_over(rig: Rig) -> None:
    rig.read(status(State.RUNNING, THEIRS, 8))
    rig.store.put_task(TASK, status(State.UNASSIGNED, OURS, 9))
    await asyncio.sleep(0)
    assert rig.store.task_statuses("c")[0].worker_id == OURS
    assert len(rig.sent()) == 1


async def test_statuses_written_without_membership_are_visible_and_sent_later(rig: Rig) -> None:
    rig.member = False
    rig.store.put_task(TASK, status(State.UNASSIGNED, OURS, 7))
    assert rig.store.task_statuses("c")[0].state is State.UNASSIGNED
    await asyncio.sleep(0.05)
    assert not rig.sent()
    rig.member = True
    await until(lambda: rig.sent())


async def test_statuses_of_another_worker_are_not_overwritten(rig: Rig) -> None:
    rig.member = False
    rig.store.put_task(TASK, status(State.UNASSIGNED, OURS, 7))
    rig.read(status(State.RUNNING, THEIRS, 8))
    rig.member = True
    await asyncio.sleep(0.05)
    assert not rig.sent()
    assert rig.store.task_statuses("c")[0].state is State.RUNNING


@pytest.mark.parametrize(
    "error, repeated",
    [(KafkaProblem("the producer has failed"), True), (StorageTopicError("the topic is lost"), False)],
)
async def test_a_status_that_kafka_refuses_is_written_again(rig: Rig, error: KafkaProblem, repeated: bool) -> None:
    log, refusals = rig.logs.by_topic["s"], [error]
    log.refusal = lambda: refusals.pop() if refusals else None
    rig.store.put_task(TASK, status(State.RUNNING, OURS, 7))
    await asyncio.sleep(0)
    assert rig.sent() == []
    assert len(rig.store._unsent) == repeated
    await until(lambda: not rig.store._unsent)
    assert rig.sent() == [b"status-task-c-0"] * repeated
    assert rig.store.task_statuses("c")[0].state is State.RUNNING


async def test_a_refused_status_is_not_written_again_if_another_worker_has_written_since(rig: Rig) -> None:
    log, refusals = rig.logs.by_topic["s"], [KafkaProblem("the producer has failed")]
    log.refusal = lambda: refusals.pop() if refusals else None
    rig.store.put_task(TASK, status(State.RUNNING, OURS, 7))
    await asyncio.sleep(0)
    rig.read(status(State.RUNNING, THEIRS, 8))
    assert (rig.store._unsent, rig.sent()) == ({}, [])
    assert rig.store.task_statuses("c")[0].worker_id == THEIRS


async def test_a_refused_status_does_not_replace_a_later_one_that_waits_for_the_membership(rig: Rig) -> None:
    log, refusals = rig.logs.by_topic["s"], [KafkaProblem("the producer has failed")]
    log.refusal = lambda: refusals.pop() if refusals else None
    rig.store.put_task(TASK, status(State.RUNNING, OURS, 7))
    rig.member = False  # an outage ends both the membership and the producer
    rig.store.put_task(TASK, status(State.FAILED, OURS, 7))
    await asyncio.sleep(0)
    rig.member = True
    await until(lambda: rig.sent())
    assert b"FAILED" in (log.written[0][1] or b"")
    assert rig.store.task_statuses("c")[0].state is State.FAILED
