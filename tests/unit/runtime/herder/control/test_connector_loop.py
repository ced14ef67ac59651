"""A connector's control loop when its steps fail, hang or take long."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from runtime.herder.control.start_control import MAX_STARTING, StartTimes
from runtime.herder.control.tasks_max import TooManyTasks
from runtime.host.port import HOST_ABSENT, HostError, PluginTimeoutError
from runtime.kafka.errors import BrokerUnavailable, GroupError
from runtime.model.states import State, TargetState, TaskId
from tests.support.herder.herder_rig import HerderRig, died, nothing


async def test_task_configs_are_stored_again_after_a_failed_write(rig: HerderRig) -> None:
    log = rig.logs.by_topic["c"]

    async def lose_broker(name: str) -> None:
        log.away = not log.refused

    rig.plugins.on_task_configs = lose_broker
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: log.refused == 1)
    log.away = False
    await rig.until(lambda: rig.runs("a", 2))
    assert rig.plugins.starts == ["a"], "completed steps are not repeated"


async def test_a_reconfiguration_is_repeated_after_a_failed_write(rig: HerderRig) -> None:
    await rig.run("a")
    await rig.configs.put_tasks("a", [])  # so that new task configs are written
    await rig.until(lambda: rig.tasks("a") == {})
    log = rig.logs.by_topic["c"]
    log.away = True
    rig.connectors.reconfigure("a")
    await rig.until(lambda: log.refused > 0)
    log.away = False
    await rig.until(lambda: rig.runs("a"))


async def test_task_configs_are_generated_again_after_a_failure() -> None:
    """As in Connect: the database that a connector asks for its tables may be away for a while."""
    rig = HerderRig(StartTimes(task_configs_delay=0.01))
    failures = 3

    async def fail(name: str) -> None:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise HostError("connect", "no tables yet", "no tables yet")

    rig.plugins.on_task_configs = fail
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: rig.state("a") is State.FAILED)
    assert (rig.trace("a"), rig.tasks("a")) == ("no tables yet", {})
    await rig.until(lambda: rig.runs("a", 2))
    assert rig.plugins.starts == ["a"], "the instance keeps running"
    await rig.close()


async def test_a_connector_without_task_configs_can_be_restarted_paused_and_resumed(rig: HerderRig) -> None:
    async def fail(name: str) -> None:
        raise HostError("connect", "no tables", "no tables")

    rig.plugins.on_task_configs = fail
    await rig.create("a")
    await rig.until(lambda: rig.state("a") is State.FAILED)
    await rig.herder.restart("a", include_tasks=False, only_failed=False)
    assert rig.plugins.starts == ["a", "a"]
    await rig.herder.set_target("a", TargetState.PAUSED)
    await rig.until(lambda: rig.state("a") is State.PAUSED)
    rig.plugins.on_task_configs = nothing
    await rig.herder.set_target("a", TargetState.STARTED)
    await rig.until(lambda: rig.runs("a"))


async def test_the_restart_of_a_connector_with_too_many_tasks_succeeds(rig: HerderRig) -> None:
    """Its start() does; then it is FAILED again."""

    async def refuse(name: str) -> None:
        raise TooManyTasks("a", 2, 1)

    rig.plugins.on_task_configs = refuse
    await rig.create("a")
    await rig.until(lambda: rig.state("a") is State.FAILED)
    await rig.herder.restart("a", include_tasks=False, only_failed=False)
    await rig.until(lambda: rig.state("a") is State.FAILED and rig.plugins.starts == ["a", "a"])
    await rig.herder.set_target("a", TargetState.PAUSED)
    await rig.connectors.settled("a", 10)
    assert rig.state("a") is State.FAILED


async def test_a_worker_ends_although_a_step_does_not() -> None:
    """It may wait for a leader that is frozen."""
    rig = HerderRig(StartTimes(close_timeout=0.05))
    await rig.run("a")
    await rig.busy("a")
    await asyncio.wait_for(rig.close(), 10)
    assert (rig.state("a"), rig.tasks("a")) == (State.UNASSIGNED, {0: State.UNASSIGNED})


async def test_a_paused_connector_keeps_no_tasks_that_are_not_stored_any_more(rig: HerderRig) -> None:
    """A leader that loses its leadership during a stop has removed the task configs, but not written the target
    state."""
    await rig.run("a")
    await rig.configs.put_target_state("a", TargetState.PAUSED)
    await rig.configs.put_tasks("a", [])
    await rig.until(lambda: not rig.engine.running and rig.tasks("a") == {})


async def test_a_connector_whose_stop_was_interrupted_gets_its_tasks_back() -> None:
    """A leader that loses its leadership during a stop has removed the task configs, and refuses the request."""
    rig = HerderRig(StartTimes(retry_delay=0.01, step_timeout=0.01, missing_tasks=0.02))
    await rig.run("a", tasks_max="2")
    await rig.configs.put_tasks("a", [])
    await rig.until(lambda: not rig.engine.running)
    await rig.until(lambda: rig.runs("a", 2))
    assert rig.plugins.starts == ["a"], "the connector keeps running"
    await rig.close()


async def test_the_number_of_tasks_may_be_a_variable(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_TASKS", "3")
    await rig.create("a", tasks_max="${env:HEADRACE_TEST_TASKS}")
    await rig.until(lambda: rig.runs("a", 3))
    assert rig.plugins.limits == [3]


async def test_a_variable_that_is_not_a_number_of_tasks_fails_the_connector(rig: HerderRig) -> None:
    await rig.create("a", tasks_max="${env:HEADRACE_TEST_NOT_SET}")
    await rig.until(lambda: rig.state("a") is State.FAILED)
    assert "for configuration tasks.max: Not a number of type INT" in rig.trace("a")


async def test_topic_creation_may_be_a_variable(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_REPLICAS", "1")
    replicas = "${env:HEADRACE_TEST_REPLICAS}"
    await rig.run("a", topic_creation_default_partitions="1", topic_creation_default_replication_factor=replicas)
    await rig.herder.stop("a")
    await rig.until(lambda: rig.state("a") is State.STOPPED)


async def test_the_class_may_be_a_variable(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_CLASS", "Sink")
    await rig.run("a", connector_class="${env:HEADRACE_TEST_CLASS}", topics="t")
    assert (await rig.herder.info("a"))["type"] == "sink"
    assert rig.engine.running[TaskId("a", 0)].type == "sink"


async def test_a_slow_start_neither_fails_nor_delays_other_connectors() -> None:
    rig = HerderRig(StartTimes(retry_delay=0.01, step_timeout=0.01, slow_start=0.02))
    may_start = asyncio.Event()

    async def slow(name: str) -> None:
        if name == "slow":
            await may_start.wait()

    rig.plugins.on_start = slow
    await rig.create("slow")
    await rig.create("quick")
    await rig.until(lambda: rig.runs("quick") and rig.state("slow") is State.UNASSIGNED)
    assert not await rig.connectors.settled("slow", 0.01)
    may_start.set()
    await rig.until(lambda: rig.runs("slow"))
    assert await rig.connectors.settled("slow")
    assert rig.plugins.starts == ["slow", "quick"]
    await rig.close()


async def test_a_restart_whose_start_does_not_return_is_reported() -> None:
    """As in Connect, with Connect's sentence."""
    rig = HerderRig(StartTimes(retry_delay=0.01, step_timeout=0.01), headrace_request_timeout_ms="50")
    hangs, may_start = False, asyncio.Event()

    async def start(name: str) -> None:
        if hangs:
            await may_start.wait()

    rig.plugins.on_start = start
    await rig.run("a")
    await rig.herder.restart("a", include_tasks=False, only_failed=False)
    hangs = True
    for _ in range(2):
        with pytest.raises(PluginTimeoutError, match=r"^Request timed out. The worker is currently starting the conn"):
            await rig.herder.restart("a", include_tasks=False, only_failed=False)
    hangs = False
    await rig.herder.restart("a", include_tasks=False, only_failed=False)
    await rig.until(lambda: rig.runs("a"))
    await rig.close()


async def test_stored_tasks_run_while_their_connector_starts(rig: HerderRig) -> None:
    async def never(name: str) -> None:
        await asyncio.Event().wait()

    rig.plugins.on_start = never
    await rig.create("a")
    await rig.configs.put_tasks("a", [{"task.class": "T"}])
    await rig.until(lambda: rig.tasks("a") == {0: State.RUNNING})


@pytest.mark.parametrize("target", [TargetState.STOPPED, TargetState.PAUSED, None])
async def test_a_connector_that_is_starting_can_be_stopped_paused_and_deleted(
    rig: HerderRig, target: TargetState | None
) -> None:
    stopped: list[str] = []

    async def never(name: str) -> None:
        await asyncio.Event().wait()

    async def note(name: str) -> None:
        stopped.append(name)

    rig.plugins.on_start, rig.plugins.on_stop = never, note
    await rig.create("a")
    await rig.until(lambda: rig.plugins.starts == ["a"])
    if target is None:
        await rig.herder.delete("a")
        await rig.until(lambda: rig.state("a") is None)
    else:
        await rig.configs.put_target_state("a", target)
        await rig.until(lambda: rig.state("a") is State(target.value))
    assert await rig.connectors.settled("a")
    assert stopped == ["a"]


@pytest.mark.parametrize("what", ["stop", "delete", "pause"])
async def test_tasks_do_not_wait_for_a_connector_that_does_not_stop(rig: HerderRig, what: str) -> None:
    may_stop = asyncio.Event()

    async def hang(name: str) -> None:
        await may_stop.wait()

    await rig.run("a", tasks_max="2")
    rig.plugins.on_stop = hang
    if what == "pause":
        await rig.herder.set_target("a", TargetState.PAUSED)
        await rig.until(lambda: len(rig.engine.paused) == 2)
    else:
        await getattr(rig.herder, what)("a")
        await rig.until(lambda: not rig.engine.running)
    assert not await rig.connectors.settled("a", 0.01)
    may_stop.set()
    assert await rig.connectors.settled("a")


async def test_tasks_stop_while_the_class_cannot_be_looked_up(rig: HerderRig) -> None:
    async def silent(cls: str) -> None:
        raise TimeoutError("resolve was not answered")

    await rig.run("a")
    rig.plugins.on_resolve = silent
    await rig.herder.stop("a")
    await rig.until(lambda: rig.state("a") is State.STOPPED and rig.tasks("a") == {})
    assert await rig.connectors.settled("a")


async def test_the_hosts_death_does_not_fail_connectors_that_were_starting(rig: HerderRig) -> None:
    async def dies_once(name: str) -> None:
        if rig.plugins.starts.count(name) == 1:
            raise died()

    rig.plugins.on_start = dies_once
    for name in "abc":
        await rig.create(name)
    await rig.until(lambda: all(rig.runs(name) for name in "abc"))


@pytest.mark.parametrize("kind", ["died", "absent"])
async def test_the_hosts_death_during_task_configs_fails_no_connector(rig: HerderRig, kind: str) -> None:
    async def once(name: str) -> None:
        if len(rig.plugins.limits) == 1:
            raise died() if kind == "died" else HostError(HOST_ABSENT, "not there", "")

    rig.plugins.on_task_configs = once
    await rig.run("a")


async def test_a_connector_that_ends_the_host_fails_and_the_others_run(rig: HerderRig) -> None:
    alive, deaths = asyncio.Event(), 0

    async def one_kills(name: str) -> None:
        nonlocal alive, deaths
        if name == "killer":
            await asyncio.sleep(0.01)
            deaths += 1
            alive.set()
            alive = asyncio.Event()
            raise died()
        if deaths < 2:  # it is still starting when the host ends
            await alive.wait()
            raise died()

    rig.plugins.on_start = one_kills
    for name in ("a", "killer", "b"):
        await rig.create(name)
    await rig.until(lambda: rig.state("killer") is State.FAILED and rig.runs("a") and rig.runs("b"))
    assert "ended the plugin host 3 times" in rig.trace("killer")
    assert deaths <= 5
    rig.connectors.restart("killer", connector=True, tasks=set())
    assert await rig.connectors.has_failed("killer", 10)


async def test_a_connector_whose_class_ends_the_host_on_import_fails_and_the_others_run(rig: HerderRig) -> None:
    async def killer_dies(cls: str) -> None:
        if cls == "Killer":
            raise died()

    rig.plugins.on_resolve = killer_dies
    await rig.create("killer", connector_class="Killer")
    await rig.create("a")
    await rig.until(lambda: rig.state("killer") is State.FAILED and rig.runs("a"))
    assert "ended the plugin host 3 times" in rig.trace("killer")


async def test_an_error_reported_while_task_configs_are_generated_fails_the_connector(rig: HerderRig) -> None:
    making = asyncio.Event()

    async def never(name: str) -> None:
        making.set()
        await asyncio.Event().wait()

    rig.plugins.on_task_configs = never
    await rig.create("a")
    await making.wait()
    rig.connectors.connector_failed("a", "lost the system")
    assert await rig.connectors.settled("a")
    assert (rig.state("a"), rig.trace("a")) == (State.FAILED, "lost the system")


@pytest.mark.parametrize(
    ("cls", "client"), [("Source", "producer"), ("Sink", "consumer"), ("Sink", "admin")], ids=lambda text: str(text)
)
async def test_a_client_that_can_never_connect_fails_the_task(rig: HerderRig, cls: str, client: str) -> None:
    """As in Connect, also for the admin client of a sink, which the worker uses."""
    servers = {f"{client}.override.bootstrap.servers": "nobrokerrunningatthisaddress"}
    await rig.configs.put_connector("a", {"connector.class": cls, "name": "a", "topics": "t", **servers})
    await rig.until(lambda: rig.state("a") is State.RUNNING and rig.tasks("a") == {0: State.FAILED})
    trace = rig.statuses.task_statuses("a")[0].trace or ""
    assert "Invalid url in bootstrap.servers: nobrokerrunningatthisaddress" in trace


@pytest.mark.parametrize("reported", [False, True], ids=["start() raises", "reported later"])
async def test_a_failed_connector_stays_failed_when_paused_and_becomes_stopped(rig: HerderRig, reported: bool) -> None:
    """As in Connect. It starts again when it is resumed."""
    failing = True

    async def fail(name: str) -> None:
        if failing:
            raise HostError("plugin", "no such system", "no such system")

    if reported:
        await rig.run("a")
        rig.connectors.connector_failed("a", "no such system")
    else:
        rig.plugins.on_start = fail
        await rig.create("a")
    await rig.until(lambda: rig.state("a") is State.FAILED)
    await rig.configs.put_target_state("a", TargetState.PAUSED)
    assert await rig.connectors.settled("a")
    assert (rig.state("a"), rig.trace("a")) == (State.FAILED, "no such system")
    await rig.herder.stop("a")
    assert await rig.connectors.settled("a")
    assert (rig.state("a"), rig.tasks("a")) == (State.STOPPED, {})
    failing = False
    await rig.configs.put_target_state("a", TargetState.STARTED)
    await rig.until(lambda: rig.runs("a"))


async def test_connectors_lost_with_their_host_start_again(rig: HerderRig) -> None:
    await rig.run("a")
    rig.connectors.connectors_lost(["a"], "signal 9")
    await rig.until(lambda: rig.plugins.starts == ["a", "a"])
    assert await rig.connectors.settled("a")
    assert rig.runs("a")
    assert rig.engine.started == [TaskId("a", 0)], "its task was not restarted"


async def test_deleted_connectors_are_forgotten(rig: HerderRig) -> None:
    for name in ("c0", "c1", "c2"):
        await rig.create(name)
        await rig.until(partial(rig.runs, name))
        await rig.herder.delete(name)
        await rig.until(lambda: rig.statuses.connectors() == [])
    await rig.until(lambda: not rig.connectors._loops)
    assert not rig.configs._entries


async def test_a_lease_regained_while_the_connector_stops_is_not_missed(rig: HerderRig) -> None:
    await rig.run("a")
    stopping, stopped = asyncio.Event(), asyncio.Event()

    async def stop_slowly(name: str) -> None:
        stopping.set()
        await stopped.wait()

    rig.plugins.on_stop = stop_slowly
    rig.engine.leased = False
    epoch = rig.engine.running.pop(TaskId("a", 0)).epoch
    rig.connectors.task_lost(TaskId("a", 0), epoch, None, "its slot has died")
    await rig.configs.put_target_state("a", TargetState.PAUSED)
    await stopping.wait()
    rig.engine.leased = True
    rig.connectors.lease_changed(True)
    stopped.set()
    await rig.until(lambda: rig.tasks("a") == {0: State.PAUSED}, within=2.0)


@pytest.mark.parametrize(
    ("failure", "requests"),
    [
        (BrokerUnavailable("Kafka did not respond"), 2),
        (GroupError("members of group connect-a could not be removed"), 1),
    ],
)
async def test_dead_members_are_evicted_when_kafka_responds_again(
    rig: HerderRig, failure: Exception, requests: int
) -> None:
    """A task that is lost in an outage does not wait for the session of its dead member; a refusal delays no start."""
    await rig.run("a", connector_class="Sink", topics="t")
    rig.groups.failures.append(failure)
    epoch = rig.engine.running.pop(TaskId("a", 0)).epoch
    rig.connectors.task_lost(TaskId("a", 0), epoch, "member-1", "its slot has died")
    await rig.until(lambda: TaskId("a", 0) in rig.engine.running)
    assert rig.groups.evicted == [{"member-1"}] * requests
    await rig.herder.restart("a", include_tasks=True, only_failed=False)
    assert len(rig.groups.evicted) == requests


async def test_connectors_that_wait_for_admission_are_not_started_when_the_worker_ends() -> None:
    rig = HerderRig(StartTimes(step_timeout=0.2))
    never = asyncio.Event()

    async def hang(name: str) -> None:
        await never.wait()

    rig.plugins.on_start = hang
    for number in range(MAX_STARTING * 2):
        await rig.create(f"c{number}")
    await rig.until(lambda: len(rig.plugins.starts) >= MAX_STARTING)
    before = list(rig.plugins.starts)  # more than MAX_STARTING if this machine has been too busy for 0.2 s
    await rig.connectors.close()
    assert rig.plugins.starts == before


async def test_nothing_starts_after_the_worker_has_stopped_its_connectors() -> None:
    """The group may still assign units to a worker that has not left."""
    rig = HerderRig()
    await rig.run("a")
    await rig.connectors.close()
    rig.connectors.ownership_changed()
    rig.connectors.config_changed("a")
    await asyncio.sleep(0.05)  # nothing happens, so there is no event to wait for
    assert rig.plugins.starts == ["a"]
    assert rig.state("a") is State.UNASSIGNED
    assert rig.tasks("a") == {0: State.UNASSIGNED}


async def test_more_tasks_than_allowed_fail_with_the_connectors_limit(rig: HerderRig) -> None:
    """Task configs that an older worker has written without the limit."""
    await rig.run("a", tasks_max="1")
    await rig.configs.put_tasks("a", [{"task.class": "T", "n": str(n)} for n in range(2)])
    await rig.until(lambda: rig.tasks("a") == {0: State.FAILED, 1: State.FAILED})
    trace = rig.statuses.task_statuses("a")[1].trace
    assert trace is not None
    assert "TooManyTasksException: The connector a has generated 2 tasks, which is greater than 1, the" in trace


async def test_the_event_loop_serves_others_while_many_tasks_start_and_stop(rig: HerderRig) -> None:
    """The specification of each task takes a part of a millisecond."""
    turns: list[int] = []

    async def count() -> None:
        while True:
            turns.append(len(rig.tasks("a")))
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await rig.run("a", tasks_max="1000")
    counting.cancel()
    started = {number for number in turns if 0 < number < 1000}
    assert len(started) > 5, "others were served only before and after all starts"


async def test_metrics_that_a_deleted_connector_reports_late_are_dropped() -> None:
    rig = HerderRig()
    await rig.run("c")
    rig.connectors.connector_metrics("c", [("queue", {}, 1.0, "Records.")])
    await rig.herder.delete("c")
    await rig.until(lambda: rig.state("c") is None)
    rig.connectors.connector_metrics("c", [("queue", {}, 1.0, "Records.")])
    assert rig.board.meters.connector_metrics == {}
    await rig.close()
