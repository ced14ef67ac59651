"""Automatic restarts by a herder with scripted tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from runtime.herder.control.start_control import StartTimes
from runtime.host.port import REFUSED, HostError
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import State, TargetState, TaskId
from tests.support.herder.herder_rig import HerderRig

OUTAGE = "org.apache.kafka.connect.errors.ConnectException: no connection\n"
TASK = TaskId("a", 0)
Make = Callable[..., Any]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    rigs: list[HerderRig] = []

    async def started(**worker: str) -> HerderRig:
        keys = {"headrace.restart.delay.ms": "1", **{k.replace("_", "."): v for k, v in worker.items()}}
        rig = HerderRig(
            StartTimes(retry_delay=0.01, step_timeout=0.01, task_configs_delay=0.01),
            **{k.replace(".", "_"): v for k, v in keys.items()},
        )
        rigs.append(rig)
        await rig.connectors.take_over()
        return rig

    yield started
    for rig in rigs:
        await rig.close()


def fail(rig: HerderRig, task: TaskId = TASK, trace: str = OUTAGE) -> None:
    rig.connectors.task_state(task, rig.engine.running[task].epoch, State.FAILED, trace)


async def runs(rig: HerderRig, task: TaskId = TASK, times: int = 1) -> None:
    await rig.until(lambda: rig.engine.started.count(task) >= times and rig.tasks(task.connector) == {0: State.RUNNING})


def history(rig: HerderRig, unit: int = 0) -> list[tuple[int, bool]]:
    """Attempt, and whether the restart was carried out; the newest first."""
    found = [u for u in rig.restarts.response("a")["units"] if u["task"] == (None if unit == CONNECTOR else unit)]
    return [(past["attempt"], past["restarted"] is not None) for past in found[0]["history"]] if found else []


def notices(rig: HerderRig) -> list[str]:
    return [str(one["message"]) for one in rig.events.own_notices(rig.events.id(0))]


async def running(make: Make, **worker: str) -> HerderRig:
    """A worker with these properties, and a connector whose task runs."""
    rig: HerderRig = await make(**worker)
    await rig.create("a")
    await runs(rig)
    return rig


async def failed(make: Make, **worker: str) -> HerderRig:
    """The same, and the task has just failed."""
    rig = await running(make, **worker)
    fail(rig)
    return rig


async def test_failed_tasks_stay_failed_by_default(make: Make) -> None:
    rig = await failed(make)
    await asyncio.sleep(0.05)
    assert rig.tasks("a") == {0: State.FAILED}
    assert rig.restarts.response("a")["units"] == []


async def test_a_task_is_restarted_until_its_attempts_are_used_up(make: Make) -> None:
    rig = await make()
    await rig.create("a", headrace_restart_attempts="2")
    for run in (1, 2, 3):
        await runs(rig, times=run)
        fail(rig)
    await rig.until(lambda: history(rig) == [(0, False), (2, True), (1, True)])
    await asyncio.sleep(0.05)
    assert rig.tasks("a") == {0: State.FAILED}
    assert rig.engine.started.count(TASK) == 3
    assert rig.restarts.response("a")["units"][0]["ended"]
    assert any("2 restarts in a row did not help. Fix the cause" in text for text in notices(rig))


async def test_a_task_that_has_run_for_long_enough_has_all_attempts_again(make: Make) -> None:
    rig = await make(headrace_restart_attempts="1", headrace_restart_reset_ms="30")
    await rig.create("a")
    for run in (1, 2, 3):
        await runs(rig, times=run)
        await rig.until(lambda: all(unit["attempts"] == 0 for unit in rig.restarts.response("a")["units"]))
        fail(rig)
    await runs(rig, times=4)


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
async def test_a_restart_is_due_in_time_if_the_clock_is_set(make: Make, skew: float) -> None:
    delays = {"headrace_restart_delay_ms": "50", "headrace_restart_reset_ms": "600000"}
    rig = await failed(make, headrace_restart_attempts="2", **delays)
    rig.skew = skew
    await runs(rig, times=2)
    rig.skew = 2 * skew
    fail(rig)
    await runs(rig, times=3)
    assert history(rig) == [(2, True), (1, True)], "the task has not run for ten minutes"


async def test_errors_of_the_configuration_are_not_followed_by_a_restart(make: Make) -> None:
    rig = await running(make, headrace_restart_attempts="-1")
    fail(rig, trace="org.apache.kafka.common.config.ConfigException: no such table\n")
    await rig.until(lambda: history(rig) == [(0, False)])
    await asyncio.sleep(0.05)
    assert rig.engine.started.count(TASK) == 1


async def test_a_connector_whose_start_fails_is_restarted(make: Make) -> None:
    rig = await make(headrace_restart_attempts="5")
    failures = [HostError("other", "away", "java.net.ConnectException: away")] * 2

    async def start(name: str) -> None:
        if failures:
            raise failures.pop()

    rig.plugins.on_start = start
    await rig.create("a")
    await runs(rig)
    assert (rig.state("a"), len(rig.plugins.starts)) == (State.RUNNING, 3)
    await rig.until(lambda: history(rig, CONNECTOR) == [(2, True), (1, True)])


async def test_a_start_without_task_configs_counts_once(make: Make) -> None:
    """task_configs() is called again and again."""
    rig = await make(headrace_restart_attempts="1")

    async def fail(name: str) -> None:
        raise HostError("other", "away", "java.net.ConnectException: away")

    rig.plugins.on_task_configs = fail
    await rig.create("a")
    await rig.until(lambda: len(rig.plugins.limits) > 6)
    assert (len(rig.plugins.starts), history(rig, CONNECTOR)) == (2, [(0, False), (1, True)])


async def test_a_connector_that_the_worker_refuses_to_start_is_not_restarted(make: Make) -> None:
    rig = await make(headrace_restart_attempts="-1")

    async def start(name: str) -> None:
        raise HostError(REFUSED, "quarantined", OUTAGE)

    rig.plugins.on_start = start
    await rig.create("a")
    await rig.until(lambda: rig.state("a") is State.FAILED)
    await asyncio.sleep(0.05)
    assert len(rig.plugins.starts) == 1


async def test_a_restart_by_hand_gives_all_attempts_again(make: Make) -> None:
    rig = await make(headrace_restart_attempts="1")
    await rig.create("a")
    for run in (1, 2):
        await runs(rig, times=run)
        fail(rig)
    await rig.until(lambda: rig.restarts.response("a")["units"][0]["ended"])
    await rig.herder.restart_task("a", 0)
    await runs(rig, times=3)
    fail(rig)
    await runs(rig, times=4)


async def test_a_restart_waits_while_the_connector_is_paused(make: Make) -> None:
    rig = await failed(make, headrace_restart_attempts="1", headrace_restart_delay_ms="50")
    await rig.herder.set_target("a", TargetState.PAUSED)
    await rig.until(lambda: rig.restarts.waiting == 1 and rig.state("a") is State.PAUSED)
    await asyncio.sleep(0.1)
    assert rig.tasks("a") == {0: State.FAILED}
    await rig.herder.set_target("a", TargetState.STARTED)
    await runs(rig, times=2)


async def test_the_next_owner_continues_the_count(make: Make) -> None:
    rig = await failed(make, headrace_restart_attempts="2")
    await runs(rig, times=2)
    await rig.until(lambda: history(rig) == [(1, True)])
    rig.restarts._owned.clear()  # as a worker that has just received the task
    fail(rig)
    await runs(rig, times=3)
    assert history(rig)[0][0] == 2


async def test_a_deleted_connector_leaves_no_history(make: Make) -> None:
    rig = await failed(make, headrace_restart_attempts="2")
    await rig.until(lambda: history(rig) != [])
    await rig.herder.delete("a")
    await rig.until(lambda: not rig.journal.documents.keys("restarts:"))


async def test_a_connector_that_is_deleted_while_its_first_failure_is_written_leaves_no_history(make: Make) -> None:
    rig = await running(make, headrace_restart_attempts="2", headrace_restart_delay_ms="60000")
    log = rig.logs.by_topic["j"]
    log.held = b"restarts:"
    fail(rig)
    await log.holding.wait()
    writing = rig.restarts._owned["a"][0].writing
    assert writing is not None
    await rig.herder.delete("a")
    await rig.until(lambda: rig.state("a") is None)
    log.may_go.set()
    await writing
    await rig.until(lambda: not rig.journal.documents.keys("restarts:"))


async def test_a_storm_is_limited_by_the_budget_of_the_worker(make: Make) -> None:
    """A hundred tasks that fail at once and for ever: at most ten seconds' budget at once, then its rate."""
    rig = await make(headrace_restart_attempts="-1", headrace_restart_budget="60")
    tasks = [TaskId(f"c{number}", 0) for number in range(100)]
    for task in tasks:
        await rig.create(task.connector)
    await rig.until(lambda: len(rig.engine.started) == 100)
    real_start = rig.engine.start_task

    def start_and_fail(spec: Any) -> None:
        real_start(spec)
        fail(rig, spec.id)

    rig.engine.start_task = start_and_fail
    begun = asyncio.get_running_loop().time()
    for task in tasks:
        fail(rig, task)
    await asyncio.sleep(1.5)
    seconds = asyncio.get_running_loop().time() - begun
    restarts = sum(units.total() for units in rig.restarts.counts.restarts.values())
    assert 10 <= restarts <= 10 + seconds
    assert rig.restarts.waiting == 100
    for task in tasks:
        await rig.herder.delete(task.connector)


async def test_a_restart_that_raises_does_not_end_those_of_others(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig, other = await make(), TaskId("b", 0)
    for task in (TASK, other):
        await rig.create(task.connector, headrace_restart_attempts="1")
        await runs(rig, task)
    restart = rig.restarts._restart

    def broken(name: str, unit: int) -> bool:
        if name == TASK.connector:
            raise RuntimeError("a bug")
        return bool(restart(name, unit))

    monkeypatch.setattr(rig.restarts, "_restart", broken)
    fail(rig)
    await rig.until(lambda: "The automatic restart of a-0 has failed" in caplog.text)
    fail(rig, other)
    await runs(rig, other, times=2)


async def test_a_task_that_fails_while_the_connector_is_paused_is_restarted_when_it_is_resumed(make: Make) -> None:
    rig = await running(make, headrace_restart_attempts="1")
    await rig.herder.set_target("a", TargetState.PAUSED)
    await rig.until(lambda: rig.state("a") is State.PAUSED)
    fail(rig)
    await rig.until(lambda: rig.restarts.waiting == 1)
    await asyncio.sleep(0.05)
    assert rig.tasks("a") == {0: State.FAILED}
    await rig.herder.set_target("a", TargetState.STARTED)
    await runs(rig, times=2)
    assert history(rig) == [(1, True)]


async def test_a_restart_that_waits_for_the_budget_while_the_connector_is_paused_takes_place_later(make: Make) -> None:
    rig = await running(make, headrace_restart_attempts="1", headrace_restart_budget="60")
    rig.restarts._budget.take(10.5)  # the next one is allowed in half a second
    fail(rig)
    await rig.until(lambda: rig.restarts.counts.delayed == 1)
    await rig.herder.set_target("a", TargetState.PAUSED)
    await asyncio.sleep(1.5)
    assert rig.tasks("a") == {0: State.FAILED}
    await rig.herder.set_target("a", TargetState.STARTED)
    await runs(rig, times=2)


async def test_a_restart_that_the_policy_no_longer_allows_is_not_recorded_as_carried_out(make: Make) -> None:
    rig = await make()
    await rig.create("a", headrace_restart_attempts="1", headrace_restart_delay_ms="200")
    await runs(rig)
    fail(rig)
    await rig.until(lambda: history(rig) == [(1, False)])
    await rig.create("a", headrace_restart_attempts="0", headrace_restart_delay_ms="200")  # another config
    await rig.until(lambda: rig.restarts.response("a")["units"][0]["due"] is None)
    assert (history(rig), rig.engine.started.count(TASK)) == ([(1, False)], 1)


async def test_a_task_that_fails_after_it_was_assigned_to_another_worker_is_left_to_that_worker(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = await running(make, headrace_restart_attempts="5")
    monkeypatch.setattr(rig.restarts, "_owns", lambda name, unit: unit == CONNECTOR)
    fail(rig)
    await asyncio.sleep(0.05)
    assert rig.restarts.response("a")["units"] == []
    assert rig.restarts.waiting == 0
