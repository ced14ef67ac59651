"""A connector's control loop when its steps fail, hang or take long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence

import pytest

from runtime.herder.control.start_control import MAX_STARTING, StartTimes
from runtime.herder.group.group import SoleWorker
from runtime.host.port import HOST_ABSENT, HostError, PluginTimeoutError
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import State, TargetState, TaskId
from runtime.storage.statuses import StatusRecord
from tests.support.herder.herder_rig import HerderRig, died


@pytest.fixture
async def rig() -> AsyncIterator[HerderRig]:
    rig = HerderRig(StartTimes(retry_delay=0.01, step_timeout=0.01))
    yield rig
    await rig.close()


def _runs(rig: HerderRig, name: str, tasks: int = 1) -> bool:
    return rig.state(name) is State.RUNNING and rig.tasks(name) == dict.fromkeys(range(tasks), State.RUNNING)


async def test_task_configs_are_stored_again_after_a_failed_write(rig: HerderRig) -> None:
    log = rig.logs.by_topic["c"]

    async def lose_broker(name: str) -> None:
        log.away = not log.refused

    rig.plugins.on_task_configs = lose_broker
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: log.refused == 1)
    log.away = False
    await rig.until(lambda: _runs(rig, "a", 2))
    assert rig.plugins.starts == ["a"], "completed steps are not repeated"


async def test_a_reconfiguration_is_repeated_after_a_failed_write(rig: HerderRig) -> None:
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    await rig.configs.put_tasks("a", [])  # so that new task configs are written
    await rig.until(lambda: rig.tasks("a") == {})
    log = rig.logs.by_topic["c"]
    log.away = True
    rig.connectors.reconfigure("a")
    await rig.until(lambda: log.refused > 0)
    log.away = False
    await rig.until(lambda: _runs(rig, "a"))


async def test_a_stop_and_a_resume_during_one_step_leave_no_connector_without_tasks(rig: HerderRig) -> None:
    """The loop sees neither: it is busy with a task that ends slowly, as in an outage of Kafka's brokers."""
    stopping, may_stop = asyncio.Event(), asyncio.Event()

    async def stop_slowly(task: TaskId) -> None:
        stopping.set()
        await may_stop.wait()

    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    rig.engine.on_stop = stop_slowly
    rig.connectors.restart("a", connector=False, tasks={0})
    await stopping.wait()
    await rig.herder.stop("a")
    await rig.herder.set_target("a", TargetState.STARTED)
    rig.engine.started.clear()
    may_stop.set()
    await rig.until(lambda: rig.engine.started != [] and _runs(rig, "a"))
    assert len(rig.configs.connector("a").tasks) == 1  # type: ignore[union-attr]


async def test_a_worker_ends_although_a_step_does_not() -> None:
    """It may wait for a leader that is frozen."""
    rig, never, stopping = HerderRig(StartTimes(close_timeout=0.05)), asyncio.Event(), asyncio.Event()

    async def hang(task: TaskId) -> None:
        stopping.set()
        await never.wait()

    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    rig.engine.on_stop = hang
    rig.connectors.restart("a", connector=False, tasks={0})
    await stopping.wait()
    async with asyncio.timeout(10):
        await rig.close()
    assert (rig.state("a"), rig.tasks("a")) == (State.UNASSIGNED, {0: State.UNASSIGNED})


async def test_a_stop_writes_no_other_task_configs_than_none(rig: HerderRig) -> None:
    """The loop sees the removal of the task configs before the target state."""
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    log = rig.logs.by_topic["c"]
    log.written.clear()
    await rig.configs.put_tasks("a", [])
    await rig.until(lambda: rig.tasks("a") == {})
    await rig.configs.put_target_state("a", TargetState.STOPPED)
    await rig.until(lambda: rig.state("a") is State.STOPPED)
    assert [key for key, _ in log.written] == [b"commit-a", b"target-state-a"]


async def test_a_paused_connector_without_tasks_has_no_task_statuses(rig: HerderRig) -> None:
    """Such a status is of a connector of the same name that was deleted: its worker has reported late."""
    await rig.create("a", TargetState.PAUSED)
    await rig.until(lambda: rig.state("a") is State.PAUSED)
    rig.statuses.put_task(TaskId("a", 0), StatusRecord(State.UNASSIGNED, None, "gone:1", 1))
    rig.connectors.report_again("a")
    await rig.until(lambda: rig.tasks("a") == {})


async def test_the_number_of_tasks_may_be_a_variable(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_TASKS", "3")
    await rig.create("a", tasks_max="${env:HEADRACE_TEST_TASKS}")
    await rig.until(lambda: _runs(rig, "a", 3))
    assert rig.plugins.limits == [3]


async def test_a_variable_that_is_not_a_number_of_tasks_fails_the_connector(rig: HerderRig) -> None:
    await rig.create("a", tasks_max="${env:HEADRACE_TEST_NOT_SET}")
    await rig.until(lambda: rig.state("a") is State.FAILED)
    assert "for configuration tasks.max: Not a number of type INT" in rig.trace("a")


async def test_topic_creation_may_be_a_variable(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_REPLICAS", "1")
    replicas = "${env:HEADRACE_TEST_REPLICAS}"
    await rig.create("a", topic_creation_default_partitions="1", topic_creation_default_replication_factor=replicas)
    await rig.until(lambda: _runs(rig, "a"))
    await rig.herder.stop("a")
    await rig.until(lambda: rig.state("a") is State.STOPPED)


async def test_the_class_may_be_a_variable(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_CLASS", "Sink")
    await rig.create("a", connector_class="${env:HEADRACE_TEST_CLASS}", topics="t")
    await rig.until(lambda: _runs(rig, "a"))
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
    await rig.until(lambda: _runs(rig, "quick") and rig.state("slow") is State.UNASSIGNED)
    assert not await rig.connectors.settled("slow", 0.01)
    may_start.set()
    await rig.until(lambda: _runs(rig, "slow"))
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
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    await rig.herder.restart("a", include_tasks=False, only_failed=False)
    hangs = True
    for _ in range(2):
        with pytest.raises(PluginTimeoutError, match=r"^Request timed out. The worker is currently starting the conn"):
            await rig.herder.restart("a", include_tasks=False, only_failed=False)
    hangs = False
    await rig.herder.restart("a", include_tasks=False, only_failed=False)
    await rig.until(lambda: _runs(rig, "a"))
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

    await rig.create("a", tasks_max="2")
    await rig.until(lambda: _runs(rig, "a", 2))
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

    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
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
    await rig.until(lambda: all(_runs(rig, name) for name in "abc"))


@pytest.mark.parametrize("kind", ["died", "absent"])
async def test_the_hosts_death_during_task_configs_fails_no_connector(rig: HerderRig, kind: str) -> None:
    async def once(name: str) -> None:
        if len(rig.plugins.limits) == 1:
            raise died() if kind == "died" else HostError(HOST_ABSENT, "not there", "")

    rig.plugins.on_task_configs = once
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))


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
    await rig.until(lambda: rig.state("killer") is State.FAILED and _runs(rig, "a") and _runs(rig, "b"))
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
    await rig.until(lambda: rig.state("killer") is State.FAILED and _runs(rig, "a"))
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
        await rig.create("a")
        await rig.until(lambda: _runs(rig, "a"))
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
    await rig.until(lambda: _runs(rig, "a"))


async def test_connectors_lost_with_their_host_start_again(rig: HerderRig) -> None:
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    rig.connectors.connectors_lost(["a"], "signal 9")
    await rig.until(lambda: rig.plugins.starts == ["a", "a"])
    assert await rig.connectors.settled("a")
    assert _runs(rig, "a")
    assert rig.engine.started == [TaskId("a", 0)], "its task was not restarted"


async def test_deleted_connectors_are_forgotten(rig: HerderRig) -> None:
    for i in range(3):
        await rig.create(f"c{i}")
        await rig.until(lambda i=i: _runs(rig, f"c{i}"))  # type: ignore[misc]
        await rig.herder.delete(f"c{i}")
        await rig.until(lambda i=i: rig.state(f"c{i}") is None)  # type: ignore[misc]
    await rig.until(lambda: not rig.connectors._loops)
    assert not rig.configs._entries


async def test_a_deleted_connector_is_unassigned_before_its_status_is_removed(rig: HerderRig) -> None:
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    await rig.herder.delete("a")
    await rig.until(lambda: rig.state("a") is None)
    for key in (b"status-connector-a", b"status-task-a-0"):
        values = [value for k, value in rig.logs.by_topic["s"].written if k == key]
        assert values[-1] is None
        assert values[-2] is not None
        assert b'"UNASSIGNED"' in values[-2]


async def test_task_records_of_deleted_connectors_are_forgotten_after_the_topic_was_read(rig: HerderRig) -> None:
    await rig.configs.put_tasks("gone", [{"task.class": "T"}])  # the only record left after compaction
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    rig.configs.forget_deleted()
    assert list(rig.configs._entries) == ["a"]
    await rig.create("gone", TargetState.STOPPED)
    stored = rig.configs.connector("gone")
    assert stored is not None
    assert stored.tasks == ()


async def test_a_lease_regained_while_the_connector_stops_is_not_missed(rig: HerderRig) -> None:
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
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
    await rig.create("a")
    await rig.until(lambda: rig.tasks("a") == {0: State.RUNNING})
    await rig.connectors.close()
    rig.connectors.ownership_changed()
    rig.connectors.config_changed("a")
    await asyncio.sleep(0.05)  # nothing happens, so there is no event to wait for
    assert rig.plugins.starts == ["a"]
    assert rig.state("a") is State.UNASSIGNED
    assert rig.tasks("a") == {0: State.UNASSIGNED}


class Shrinking(SoleWorker):
    """Owns everything except the units in `revoked`, which must stop here."""

    def __init__(self, worker_id: str, connectors: Callable[[], Sequence[str]]) -> None:
        super().__init__(worker_id, connectors)
        self.revoked: set[int] = set()

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return task not in self.revoked

    def units(self, connector: str) -> frozenset[int]:
        return frozenset(self.revoked)

    def stopped(self, connector: str, tasks: Collection[int]) -> None:
        self.revoked -= set(tasks)


async def test_what_moves_to_another_worker_is_released_although_the_rest_cannot_be_started(rig: HerderRig) -> None:
    async def absent(cls: str) -> None:
        raise HostError(HOST_ABSENT, "The plugin host is absent", "trace")

    rig.connectors._group = group = Shrinking("w:1", rig.configs.names)
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: _runs(rig, "a", 2))
    rig.plugins.on_resolve = absent
    group.revoked = {1}
    rig.connectors.ownership_changed()
    await rig.until(lambda: not group.revoked)
    assert set(rig.engine.running) == {TaskId("a", 0)}


class Departing(SoleWorker):
    """Owns everything until it has `left`; then everything must stop here."""

    left = False

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return not self.left

    def owns_any(self, connector: str) -> bool:
        return not self.left


async def test_tasks_that_are_handed_over_after_their_connector_was_stopped_have_no_status(rig: HerderRig) -> None:
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: rig.tasks("a") == {0: State.RUNNING, 1: State.RUNNING})
    group.left = True
    await rig.configs.put_tasks("a", [])
    await rig.until(lambda: not rig.engine.running)
    await rig.until(lambda: rig.tasks("a") == {})


async def test_a_task_of_a_deleted_connector_is_not_started_again_after_its_restart(rig: HerderRig) -> None:
    await rig.create("a", version="1")
    await rig.until(lambda: TaskId("a", 0) in rig.engine.running)
    stopping, may_end = asyncio.Event(), asyncio.Event()

    async def stop_task(task: TaskId, graceful: float) -> bool:
        stopping.set()
        await may_end.wait()
        return rig.engine.running.pop(task, None) is not None or True

    rig.engine.stop_task = stop_task  # type: ignore[method-assign]
    rig.connectors.restart("a", connector=False, tasks={0})
    await stopping.wait()
    await rig.configs.remove_connector("a")
    rig.plugins.on_start = _never
    await rig.create("a", version="2")
    may_end.set()
    await rig.until(lambda: rig.plugins.starts == ["a", "a"])
    assert rig.engine.started == [TaskId("a", 0)], "only the first connector has started a task"


async def test_task_configs_of_a_deleted_connector_are_not_stored_for_the_next_one(rig: HerderRig) -> None:
    """The connector is deleted and created again while its task configs are being generated."""

    async def create_again(name: str) -> None:
        rig.plugins.on_task_configs = _never
        await rig.configs.remove_connector(name)
        await rig.create(name, version="2")

    rig.plugins.on_task_configs = create_again
    await rig.create("a", version="1", tasks_max="2")
    await rig.until(lambda: rig.plugins.starts == ["a", "a"])
    stored = rig.configs.connector("a")
    assert stored is not None
    assert stored.tasks == () and rig.engine.started == []


async def test_tasks_of_a_deleted_connector_end_although_the_next_one_is_paused(rig: HerderRig) -> None:
    """A worker that was frozen reads the deletion and the next creation at once."""
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: _runs(rig, "a", 2))
    paused = b'{"state":"PAUSED","state.v2":"PAUSED"}'
    created = b'{"properties":{"name":"a","connector.class":"Source"}}'
    await rig.logs.by_topic["c"].write_all(
        [(b"connector-a", None), (b"target-state-a", paused), (b"connector-a", created)]
    )
    await rig.until(lambda: rig.state("a") is State.PAUSED)
    assert await rig.connectors.settled("a")
    assert rig.engine.running == {}
    assert rig.tasks("a") == {}


class Sharing(SoleWorker):
    """Another worker has task 0."""

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return task != 0


async def test_the_status_of_the_next_connectors_task_remains_when_a_deleted_ones_tasks_end(rig: HerderRig) -> None:
    """The other worker runs the task before this one has read the deletion."""
    rig.connectors._group = Sharing("w:1", rig.configs.names)
    await rig.create("a", tasks_max="2")
    await rig.until(lambda: rig.tasks("a") == {1: State.RUNNING})
    rig.statuses.put_task(TaskId("a", 0), StatusRecord(State.RUNNING, None, "w:2", 1))
    created = b'{"properties":{"name":"a","connector.class":"Source","tasks.max":"1"}}'
    tasks = [(b"task-a-0", b'{"properties":{"task.class":"T"}}'), (b"commit-a", b'{"tasks":1}')]
    await rig.logs.by_topic["c"].write_all([(b"connector-a", None), (b"connector-a", created), *tasks])
    await rig.until(lambda: not rig.engine.running)
    assert await rig.connectors.settled("a")
    assert rig.tasks("a") == {0: State.RUNNING}


async def _never(_: str) -> None:
    await asyncio.Event().wait()


async def test_a_task_that_moves_during_its_restart_is_unassigned(rig: HerderRig) -> None:
    rig.connectors._group = group = Departing("w:1", rig.configs.names)
    await rig.create("a")
    await rig.until(lambda: rig.tasks("a") == {0: State.RUNNING})
    await rig.connectors._loops["a"].tasks.stop_all()  # the restart waits for fencing, say
    group.left = True
    rig.connectors.ownership_changed()
    await rig.until(lambda: rig.tasks("a") == {0: State.UNASSIGNED})


async def test_a_status_that_another_worker_writes_late_for_a_removed_task_is_removed(rig: HerderRig) -> None:
    await rig.create("a")
    await rig.until(lambda: _runs(rig, "a"))
    await rig.until(rig.connectors._loops["a"]._idle.is_set)
    rig.statuses.put_task(TaskId("a", 1), StatusRecord(State.UNASSIGNED, None, "w:2", 1))
    rig.connectors.report_again("a")
    await rig.until(lambda: set(rig.tasks("a")) == {0})
