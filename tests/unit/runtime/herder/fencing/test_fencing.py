"""Fencing before tasks of exactly-once sources start: the fenced ids, their order, and failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from runtime.herder.errors import BadRequest, Conflict, HerderError, NotFound
from runtime.kafka.errors import BrokerUnavailable, NotAuthorizedError
from runtime.model.states import State, TaskId
from tests.support.herder.herder_rig import HerderRig


@pytest.fixture
async def rig() -> AsyncIterator[HerderRig]:
    rig = HerderRig(exactly_once_source_support="enabled")
    yield rig
    await rig.close()


def ids(name: str, *tasks: int) -> list[str]:
    return [f"workers-{name}-{task}" for task in tasks]


async def test_a_new_source_gets_a_task_count_and_its_tasks_are_fenced_before_they_start(rig: HerderRig) -> None:
    await rig.run("a", tasks_max="2")
    assert rig.fenced == [ids("a", 0, 1)]
    assert rig.configs.fencing_counts == {"a": 2}
    written = [key for key, _ in rig.logs.by_topic["c"].written]
    assert written == [b"connector-a", b"task-a-0", b"task-a-1", b"commit-a", b"tasks-fencing-a"]


async def test_all_earlier_tasks_are_fenced_when_task_configs_change(rig: HerderRig) -> None:
    await rig.run("a", tasks_max="3")
    rig.fenced.clear()
    await rig.create("a", tasks_max="1")
    await rig.until(lambda: len(rig.engine.started) == 4)
    assert rig.fenced == [ids("a", 0, 1, 2), ids("a", 0)]
    assert rig.configs.fencing_counts == {"a": 1}
    rig.fenced.clear()
    await rig.create("a", tasks_max="1", other="x")  # one task replaces one task: its own fencing is enough
    await rig.until(lambda: len(rig.engine.started) == 5)
    assert rig.fenced == [ids("a", 0)]


async def test_a_task_that_was_lost_is_fenced_alone(rig: HerderRig) -> None:
    await rig.run("a", tasks_max="2")
    lost = rig.engine.running[TaskId("a", 1)]
    rig.connectors.task_lost(lost.id, lost.epoch, None, "its slot has died")
    await rig.until(lambda: len(rig.engine.started) == 3)
    assert rig.fenced[1:] == [ids("a", 1)]


async def test_sinks_are_not_fenced(rig: HerderRig) -> None:
    await rig.run("s", connector_class="Sink", topics="t")
    assert (rig.fenced, rig.configs.fencing_counts) == ([], {})


async def test_workers_without_exactly_once_sources_do_not_fence_when_tasks_start() -> None:
    rig = HerderRig(exactly_once_source_support="preparing")
    await rig.run("a")
    assert (rig.fenced, rig.configs.fencing_counts) == ([], {})
    await rig.fencing.fence_earlier("a")  # for another worker that has them
    assert rig.configs.fencing_counts == {"a": 1}
    await rig.close()


async def test_missing_rights_fail_the_tasks(rig: HerderRig) -> None:
    rig.refuse_fencing = NotAuthorizedError("grant WRITE on transactional id workers-a-0")
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: list(rig.tasks("a").values()) == [State.FAILED] * 2)
    assert rig.statuses.task_statuses("a")[0].trace == (
        "org.apache.kafka.connect.errors.ConnectException: Failed to perform zombie fencing: "
        "grant WRITE on transactional id workers-a-0\n"
    )
    rig.refuse_fencing = None
    rig.connectors.restart("a", connector=False, tasks={0, 1})
    await rig.until(lambda: list(rig.tasks("a").values()) == [State.RUNNING] * 2)


async def test_tasks_wait_while_kafka_does_not_answer(rig: HerderRig) -> None:
    rig.refuse_fencing = BrokerUnavailable("no answer")
    await rig.create("a")
    await rig.until(lambda: len(rig.fenced) > 1)
    assert rig.engine.started == []
    rig.refuse_fencing = None
    await rig.until(lambda: rig.tasks("a") == {0: State.RUNNING})


async def test_rounds_at_the_leader(rig: HerderRig) -> None:
    with pytest.raises(NotFound, match="Connector nope not found"):
        await rig.fencing.fence_earlier("nope")
    await rig.create("s", connector_class="Sink", topics="t")
    with pytest.raises(BadRequest, match="Connector s is not a source connector"):
        await rig.fencing.fence_earlier("s")
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: len(rig.tasks("a")) == 2)
    rig.fenced.clear()
    await rig.herder.stop("a")
    rig.refuse_fencing = NotAuthorizedError("grant it")
    with pytest.raises(HerderError, match="Failed to perform zombie fencing of connector a: grant it"):
        await rig.fencing.fence_earlier("a")
    rig.refuse_fencing = None
    await asyncio.gather(*(rig.fencing.fence_earlier("a") for _ in range(3)))
    assert rig.fenced == [ids("a", 0, 1)] * 2  # one was refused; the three others are one round
    assert rig.configs.fencing_counts == {"a": 0}
    rig.group.leads = False
    with pytest.raises(Conflict):
        await rig.fencing.fence_earlier("a")
